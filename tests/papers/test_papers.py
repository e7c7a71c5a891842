from __future__ import annotations

import dataclasses

import pytest

from engram.core import Cost, Machine, Row
from engram.errors import UnknownName
from engram.papers import PAPERS, paper
from engram.papers.paper import Answer, Claim, Experiment, Question, at_least, at_most
from engram.record import Record
from engram.reports.cells import cells, full
from engram.reports.content import Column, Verdict

MNIST = paper("permuted-mnist")
ACCURACY, MINUTES = Column("average_accuracy", "accuracy", 4), Column("minutes", "minutes", 1)


def record(accuracy: float, seed: int = 0) -> Record:
    row = Row((accuracy,), (accuracy,), {}, {}, {}, Cost({"total": 8}, 2, 30.0), "0" * 64)
    how = ("permuted-mnist@1", "si", "mlp", {"widths": (10, 10)}, "sequential", "single")
    return Record(*how, seed, "key", "done", None, (row,), ())


def answer(*accuracies: float) -> Answer:
    question = Question("SI", {"learner": "si"}, {"average_accuracy": 0.95}, "Zenke et al. 2017")
    return Answer(question, tuple(record(value, seed) for seed, value in enumerate(accuracies)))


def experiment(answers, *claims: Claim) -> Experiment:
    return Experiment("table", "A table", (ACCURACY, MINUTES), tuple(one.question for one in answers), claims)


def test_rows_with_other_seeds_than_most_are_named():
    usual, more = answer(0.9), answer(0.8, 0.9, 0.7)
    named = [dataclasses.replace(usual, question=dataclasses.replace(usual.question, label=name)) for name in "AB"]
    assert experiment(named).section(named).notes == ()
    uneven = [*named, more]
    assert experiment(uneven).section(uneven).notes == ("Means are over seeds 0, but of SI (0, 1, 2).",)


def test_a_life_on_several_kinds_of_machines_is_named():
    one, other = (Machine("AVX512", "2.13.0", "x86_64", f"Maker 1 {model}") for model in (1, 2))
    (made,) = answer(0.9).records
    notes = []
    for machines in ((one, one), (one, other)):
        after = [dict.fromkeys(("single", "multi"), (0.9,) * tasks) for tasks in (1, 2)]
        rows = tuple(dataclasses.replace(made.rows[0], machine=m, **own) for m, own in zip(machines, after))
        trained = dataclasses.replace(answer(0.9), records=(dataclasses.replace(made, rows=rows),))
        notes.append(experiment([trained]).section([trained]).notes)
    none, (note,) = notes
    assert none == ()
    assert note.startswith("Tasks of one life were trained on several kinds of machines in SI: ")


@pytest.mark.parametrize("accuracies, verdict", [((0.89, 0.91), "held"), ((0.89, 0.90), "NOT held")])
def test_a_claim_is_held_from_its_floor_on(accuracies, verdict):
    answers = [answer(*accuracies)]
    assert experiment(answers, at_least("SI", 0.9)).verdicts(answers) == (
        Verdict(claim="SI: average accuracy ≥ 0.9", verdict=verdict),
    )


def test_ours_beside_the_published_value():
    answers = [answer(0.96, 0.98)]
    table = experiment(answers)
    header, *rows = full(table.data(answers))
    assert header == ["method", "accuracy published", "ours", "Δ", "minutes"]
    assert rows == [["SI", "0.9500", "0.9700 ± 0.0141", "+0.0200", "0.5"]]
    assert answers[0].to_json(table.columns)["difference"]["average_accuracy"] == pytest.approx(0.02)


def test_percent_scales_the_deviation_too():
    number = answer(0.96, 0.98).number("average_accuracy")
    assert cells(Column("average_accuracy", "A %", 1, 100), number) == ["95.0", "97.0 ± 1.4", "+2.0"]


def test_of_a_line_of_failed_runs_nothing_is_claimed_and_it_says_failed():
    broken = dataclasses.replace(record(0.9), status="failed", error="nan", rows=())
    failed = [dataclasses.replace(answer(0.9), records=(broken,))]
    table = experiment(failed, at_least("SI", 0.1))
    assert full(table.data(failed))[1][2] == "failed"
    (found,) = table.verdicts(failed)
    assert (found.verdict, found.why) == ("unknown", "a finished run of SI is not there")


@pytest.mark.parametrize("metric", ["minutes", "kilobytes", "stopped_after_steps", "lca"])
def test_of_a_number_that_is_not_there_nothing_is_claimed(metric):
    """Not a number is on no side of a threshold, whichever way a claim is put."""
    broken = dataclasses.replace(answer(0.9), records=(dataclasses.replace(record(0.9), status="failed", rows=()),))
    made = [broken if metric in ("minutes", "kilobytes") else answer(0.9)]
    claims = [at_most("SI", 1e9, metric), Claim("not above", lambda rows: not rows["SI"].mean(metric) > 1e9)]
    found = experiment(made, *claims).verdicts(made)
    assert [v.verdict for v in found] == ["unknown", "unknown"]
    assert all(v.why.endswith(" of SI is not there") for v in found)


PUBLISHED = [(n, e.name, t) for n in PAPERS for t in PAPERS[n].tiers for e in PAPERS[n].find(None, t, None) if e.claims]


@pytest.mark.parametrize("name, table, tier", PUBLISHED)
def test_of_runs_that_all_failed_nothing_is_claimed(name, table, tier):
    (found,) = PAPERS[name].find(table, tier, None)
    broken = dataclasses.replace(record(0.9), status="failed", error="nan", rows=())
    made = [Answer(question, (broken,)) for question in found.questions]
    if made:  # what has no runs is known of the data
        assert {v.verdict for v in found.verdicts(made)} == {"unknown"}
        assert {v.verdict for v in found.verdicts([])} == {"unknown"}
        assert all(v.why for v in found.verdicts(made))


@pytest.mark.parametrize("name", PAPERS)
def test_only_the_published_setting_claims_anything(name):
    assert not any(e.claims for e in PAPERS[name].find(None, "quick", None))
    assert any(e.claims for e in PAPERS[name].find(None, "paper", None))


@pytest.mark.parametrize("name", PAPERS)
def test_every_row_of_the_quick_tier_can_be_prepared(name):
    for found in PAPERS[name].find(None, "quick", None):
        for question in found.questions:
            assert [run.seed for run in question.runs([0, 1])] == [0, 1]


def test_unknown_names():
    with pytest.raises(UnknownName, match="did you mean 'quick'"):
        MNIST.find(None, "quik", None)
    with pytest.raises(UnknownName, match="did you mean 'table'"):
        MNIST.find("tabel", "quick", None)
    with pytest.raises(UnknownName, match="did you mean 'permuted-mnist'"):
        paper("permuted-mnits")


def test_a_page_says_what_its_tier_is():
    answers = [answer(0.96, 0.98)]
    page = MNIST.page([(experiment(answers), answers)], "quick", None, "engram paper …")
    assert (page.title, page.tier, page.seeds) == (MNIST.title, "quick", (0, 1))
    assert page.about.startswith("3 tasks, each a fixed random permutation of the pixels of digits")
    assert MNIST.about("paper", None).startswith("10 tasks, each a fixed random permutation of the pixels of mnist")
    assert "three epochs" not in page.caveats


def test_where_no_run_finished_there_is_no_figure():
    broken = dataclasses.replace(record(0.9), status="failed", error="nan", rows=())
    failed = [dataclasses.replace(answer(0.9), records=(broken,))]
    assert experiment(failed).section(failed).figure is None
