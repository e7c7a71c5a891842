from __future__ import annotations

from dataclasses import replace

import pytest

from engram import offline
from engram.record import Ideals
from engram.reports.choices import choice_lines, offline_lines

BY = "validation accuracy on the current task"


def decision(scores, chosen, names=("strength",), by=BY):
    candidates = [dict.fromkeys(names, float(10**place)) for place in range(len(scores))]
    return {"by": by, "candidates": candidates, "scores": scores, "chosen": chosen}


def test_a_choice_and_what_the_others_reached(record):
    assert choice_lines([record(decisions=(decision([0.5, 0.75], 1),))]) == [
        "chosen strength: 10",
        f"{BY}: 1: 0.500 · 10: 0.750",
    ]


def test_choices_of_every_task_and_seed(record):
    one = (decision([0.5, 0.7], 1), decision([0.5, 0.4], 0))
    assert choice_lines([record(decisions=one)]) == [
        "chosen strength, task by task: 10, 1",
        f"{BY}, mean: 1: 0.500 · 10: 0.550",
    ]
    several = [record(decisions=one), record(seed=1, decisions=one[:1] * 2)]
    assert choice_lines(several)[0] == "chosen strength, task by task: 10, 1 (seed 0) · 10, 10 (seed 1)"
    once = [record(seed=seed, decisions=one[:1]) for seed in (0, 1, 2)]
    assert choice_lines(once)[0] == "chosen strength, seed by seed: 10, 10, 10"


def test_offline_models_say_how_they_were_chosen_and_what_they_reached(record):
    def row(per_class):
        return replace(record().rows[0], single=(0.5,) * len(per_class), per_class={"single": per_class})

    rows = (row({"0": 0.75}), row({"0": 0.25, "1": 0.75}))
    made = decision([0.5, 0.7], 1, by=offline.BY)
    ideals = Ideals(rows[:1], rows, (made,))
    shown = record(rows=rows, ideals=ideals)
    assert choice_lines([shown])[0] == "chosen strength for the offline model: 10"
    assert offline_lines([shown]) == [
        "offline model: 0.750 on the first session, trained on it alone · "
        "0.500 on everything seen, trained on all of it"
    ]
    assert offline_lines([record(rows=rows, ideals=replace(ideals, seen=()))] * 2) == [
        "offline model: 0.750 on the first session, trained on it alone"
    ]
    assert offline_lines([record()]) == []


def test_several_settings_are_named(record):
    found = choice_lines([record(decisions=(decision([0.5, 0.7], 0, ("rate", "strength")),))])
    assert found == ["chosen: rate=1 strength=1", f"{BY}: rate=1 strength=1: 0.500 · rate=10 strength=10: 0.700"]


def test_what_failed_is_said(record):
    found = choice_lines([record(decisions=(decision([None, 0.7, None], 1), decision([None, 0.5, 0.5], 1)))])
    assert found[1] == f"{BY}, mean: 1: failed · 10: 0.600 · 100: 0.500 (1 failed)"


def test_each_kind_of_decision_has_its_lines(record):
    found = choice_lines(
        [record(decisions=(decision([0.1, 0.2], 1, by="first"), decision([0.2, 0.1], 0, by="second")))]
    )
    assert [line.split(":")[0] for line in found] == ["chosen strength", "first", "chosen strength", "second"]


def test_many_candidates_and_many_tasks_are_cut_short_and_the_best_stay(record):
    long = decision([place / 100 for place in range(40)], 39)
    chosen, reached = choice_lines([record(decisions=(long,) * 30)])
    assert chosen == "chosen strength, task by task: 1e+39 (30×)"
    assert "28 more in --json" in reached
    assert "1e+39: 0.390" in reached
    assert "0.050" not in reached


@pytest.mark.parametrize("made", ["record", "failed"])
def test_nothing_is_said_where_nothing_was_chosen(made, request):
    assert choice_lines([request.getfixturevalue(made)()]) == []
