"""Which row is best, what is said about the differences, and how it looks: on made-up records."""

from __future__ import annotations

import json
import math

import pytest

from engram.reports.comparison import ComparedRow, Comparison
from engram.reports.comparison_text import as_text
from engram.reports.summary import plain

SEEDS = range(5)
NOISE = (0.000, 0.004, -0.003, 0.002, -0.001)


@pytest.fixture
def row(record):
    """A method with five seeds whose mean accuracy is about `level`; `turn` shifts the noise from seed to seed."""

    def row(label, level, turn=0, floor=False, seeds=SEEDS, **changes):
        finals = [level + NOISE[(seed + turn) % 5] for seed in seeds]
        learner = changes.pop("learner", label.split()[0])
        records = [record((x, x), seed=s, learner=learner, **changes) for s, x in zip(seeds, finals)]
        return ComparedRow(label, tuple(records), floor)

    return row


def best(comparison):
    return comparison.best.label if comparison.best else None


def test_the_best_row_is_the_one_with_the_highest_mean_and_floors_do_not_count(row):
    found = Comparison((row("ewc", 0.7), row("si", 0.8, 1), row("joint", 0.9, 2, floor=True)))
    assert best(found) == "si"
    assert [found.kind(each) for each in found.rows] == ["", "best", "floor"]
    assert [(each.first, each.second) for each in found.differences] == [("si", "ewc"), ("si", "joint")]


def test_of_a_metric_that_is_bad_the_lowest_is_best(row):
    rows = (row("ewc", 0.7), row("si", 0.8, 1))  # the first task began at 1: less is forgotten of 0.8
    found = Comparison(rows, by="forgetting_rwalk")
    assert best(found) == "si"
    assert found.differences[0].mean == pytest.approx(-0.1)
    assert "better" in as_text(found)


def test_p_values_are_corrected_over_every_pair_that_was_looked_at(row):
    rows = [row("ewc", 0.70), row("si", 0.71, 1), row("mas", 0.72, 2), row("joint", 0.9, 3, floor=True)]
    rows.append(row("finetune", 0.5, 4, floor=True))
    found = Comparison(tuple(rows))
    assert len(found.pairs) == len(found.all_differences) == 3 + 3 * 2  # of floors among themselves none
    smallest = min(found.all_differences, key=lambda each: each.p)
    assert smallest.corrected == pytest.approx(9 * smallest.p)
    assert "corrected (Holm) over all 9 pairs" in as_text(found).replace("\n", " ")


def test_a_row_chosen_by_test_data_is_never_best_beside_one_that_was_not(row):
    peeked = row("si", 0.99, 1, warning="chose by test data")
    found = Comparison((row("ewc", 0.7), peeked))
    assert best(found) == "ewc"
    text = as_text(found)
    assert "si*" in text
    assert "si cannot be the best beside the others: chosen by test data (*)" in text
    assert "has the best mean" not in text


def test_where_all_were_chosen_by_test_data_the_best_is_said_to_be_so(row):
    found = Comparison((row("ewc", 0.7, warning="w"), row("si", 0.8, 1, warning="w")))
    assert best(found) == "si"
    assert "every row was chosen by test data (*), and so was the best of them" in as_text(found)


def test_a_row_with_a_failed_seed_is_not_best(row, failed):
    broken = row("si", 0.99, 1)
    broken = ComparedRow("si", (*broken.records[:4], failed(learner="si", seed=4)))
    found = Comparison((row("ewc", 0.7), broken))
    assert best(found) == "ewc"
    assert found.differences[0].n == 4
    assert "si cannot be the best: 1 of its 5 seeds are not done" in found.notes


def test_a_row_without_any_finished_seed_is_no_pair(row, failed):
    broken = ComparedRow("si", tuple(failed(learner="si", seed=seed) for seed in SEEDS))
    text = as_text(Comparison((row("ewc", 0.7), row("mas", 0.9, 1), broken)))
    assert "than si" not in text
    assert not any(line.startswith("si ") for line in text.splitlines())
    assert "over all 3 pairs" in text.replace("\n", " ")  # it was to be one


def test_nothing_finished_is_still_a_table(failed):
    rows = tuple(ComparedRow(name, tuple(failed(learner=name, seed=s) for s in (0, 1))) for name in ("ewc", "si"))
    found = Comparison(rows)
    assert found.best is None
    assert found.differences == []
    assert "failed" in as_text(found)
    json.dumps(plain(found.to_dict()), allow_nan=False)


def test_a_metric_that_is_not_defined_has_no_best(row):
    found = Comparison((row("ewc", 0.7), row("si", 0.8)), by="transfer")
    assert found.best is None
    assert "transfer is not defined there" in found.notes[0]
    assert "not defined" in as_text(found)


def test_rows_that_are_not_told_apart_are_said_to_be_so(row):
    found = Comparison((row("ewc", 0.7), row("si", 0.7001, 1)))
    assert "si has the best mean, but is not shown to be better than ewc" in found.notes
    assert "not told apart" in as_text(found)
    assert "not shown" not in as_text(Comparison((row("ewc", 0.7), row("si", 0.8, 1))))


def test_to_choose_among_settings_by_the_table_is_said_to_be_choosing_by_test_data(row):
    found = Comparison((row("ewc strength=1", 0.7), row("ewc strength=2", 0.8, 1)))
    assert "rows of ewc differ in settings only" in as_text(found)


@pytest.mark.parametrize("seeds, words", [(1, "1 seed is too few"), (2, "2 seeds are too few")])
def test_too_few_seeds_tell_nothing(row, seeds, words):
    found = Comparison((row("ewc", 0.7, seeds=range(seeds)), row("si", 0.8, 1, seeds=range(seeds))))
    text = as_text(found)
    assert "n too small to tell" in text
    assert words in text
    assert "interval" not in text


def test_the_settings_that_a_protocol_chose_are_shown_row_by_row(row):
    made = {
        "by": "validation accuracy",
        "candidates": [{"rate": 0.1}, {"rate": 0.2}],
        "scores": [0.5, 0.6],
        "chosen": 1,
    }
    rows = (row("ewc", 0.7, decisions=(made,)), row("si", 0.8, 1))
    text = as_text(Comparison(rows))
    assert "ewc: chosen rate, seed by seed: 0.2, 0.2, 0.2, 0.2, 0.2" in text
    assert "si: chosen" not in text


def test_one_row_beside_floors_is_compared_and_not_called_best(row):
    found = Comparison((row("ewc", 0.7), row("joint", 0.9, 1, floor=True)))
    assert found.kind(found.rows[0]) == ""
    assert "worse" in as_text(found)


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_it_fits_the_screen_and_numbers_stay_whole(row, width):
    rows = (row("ewc strength=1000 rate=0.001", 0.7), row("si", 0.8, 1), row("exemplars-only", 0.9, 2, floor=True))
    text = as_text(Comparison(rows), width)
    assert max(map(len, text.splitlines())) <= width
    for number in ("0.700 ± 0.003", "0.800 ± 0.003", "0.900 ± 0.003"):
        assert number in text
    assert ("time" in text.splitlines()[1]) == (width > 80)


def test_the_metric_that_was_asked_for_is_the_first_column(row):
    text = as_text(Comparison((row("ewc", 0.7), row("si", 0.8, 1)), by="first_task_accuracy"), 60)
    assert "first task accuracy" in text.splitlines()[1]
    assert "first task accuracy of si minus that of the others" in text


def test_hostile_names_steer_nothing(row):
    text = as_text(Comparison((row("[red]\x1b[31mewc", 0.7, learner="ewc"), row("si", 0.8, 1))))
    assert "\x1b" not in text
    assert "[red]" in text


def test_values_for_others(row):
    found = Comparison((row("ewc", 0.7), row("si", 0.8, 1), row("joint", 0.9, 2, floor=True)))
    names = [column.metric for column in found.table.columns]
    assert [each.names for each in found.table.rows] == [("ewc", ""), ("si", "best"), ("joint", "floor")]
    assert found.table.rows[1].numbers[names.index("average_accuracy")].mean == pytest.approx(0.8004)
    told = found.to_dict()
    assert (told["best"], told["by"], len(told["rows"]), len(told["differences"])) == ("si", "average_accuracy", 3, 3)
    assert {len(each["runs"]) for each in told["rows"]} == {5}
    assert math.isclose(told["rows"][1]["metrics"]["average_accuracy"]["mean"], 0.8004)
    assert repr(found) == as_text(found)
