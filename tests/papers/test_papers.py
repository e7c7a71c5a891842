from __future__ import annotations

import csv
import dataclasses

import pytest

from engram.core import Cost, Row
from engram.errors import UnknownName
from engram.papers import PAPERS, paper
from engram.papers.page import render, write_page
from engram.papers.paper import Claim, Column, Entry, Experiment, Line, at_least
from engram.record import Record

MNIST = paper("permuted-mnist")
ACCURACY, MINUTES = Column("average_accuracy", "accuracy", 4), Column("minutes", "minutes", 1)


def record(accuracy: float, seed: int = 0) -> Record:
    row = Row((accuracy,), (accuracy,), {}, {}, {}, Cost({"total": 8}, 2, 30.0), "0" * 64)
    how = ("permuted-mnist@1", "si", "mlp", {"widths": (10, 10)}, "sequential", "single")
    return Record(*how, seed, "key", "done", None, (row,), ())


def line(*accuracies: float) -> Line:
    entry = Entry("SI", {"learner": "si"}, {"average_accuracy": 0.95}, "Zenke et al. 2017")
    return Line(entry, tuple(record(value, seed) for seed, value in enumerate(accuracies)))


def experiment(lines, *claims: Claim) -> Experiment:
    return Experiment("table", "A table", (ACCURACY, MINUTES), tuple(one.entry for one in lines), claims)


@pytest.mark.parametrize("accuracies, verdict", [((0.89, 0.91), "held"), ((0.89, 0.90), "NOT held")])
def test_a_claim_is_held_from_its_floor_on(accuracies, verdict):
    lines = [line(*accuracies)]
    assert experiment(lines, at_least("SI", 0.9)).verdicts(lines) == [
        {"claim": "SI: average accuracy ≥ 0.9", "verdict": verdict}
    ]


def test_ours_beside_the_published_value():
    lines = [line(0.96, 0.98)]
    table = experiment(lines)
    assert table.header() == ["method", "accuracy published", "ours", "Δ", "minutes"]
    assert table.table(lines) == [["SI", "0.9500", "0.9700 ± 0.0141", "+0.0200", "0.5"]]
    assert lines[0].to_json(table.columns)["difference"]["average_accuracy"] == pytest.approx(0.02)


def test_percent_scales_the_deviation_too():
    assert Column("average_accuracy", "A %", 1, 100).cells(line(0.96, 0.98)) == ["95.0", "97.0 ± 1.4", "+2.0"]


def test_a_line_of_failed_runs_is_not_held_and_says_failed():
    broken = dataclasses.replace(record(0.9), status="failed", error="nan", rows=())
    failed = [dataclasses.replace(line(0.9), records=(broken,))]
    table = experiment(failed, at_least("SI", 0.1))
    assert table.table(failed)[0][2] == "failed"
    assert table.verdicts(failed)[0]["verdict"] == "NOT held"


def test_what_is_written(tmp_path):
    lines = [line(0.96, 0.98)]
    table = experiment(lines, at_least("SI", 0.9))
    page, rows, figure = write_page(MNIST, [(table, lines)], "paper", "engram paper …", tmp_path / "new", "name")
    text = page.read_text()
    assert text == render(MNIST, [(table, lines)], "paper", "engram paper …", "name")
    assert text.startswith(f"# {MNIST.title}\n")
    assert "Written by `engram paper …` (tier `paper`, seeds 0, 1;" in text
    assert "- SI: average accuracy ≥ 0.9: **held**" in text
    assert "`widths=10-10`" in text
    assert f"({figure.name})" in text
    assert list(csv.reader(rows.read_text().splitlines())) == [table.header(), *table.table(lines)]
    assert figure.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", PAPERS)
def test_only_the_published_setting_claims_anything(name):
    assert not any(e.claims for e in PAPERS[name].find(None, "quick", None))
    assert any(e.claims for e in PAPERS[name].find(None, "paper", None))


@pytest.mark.parametrize("name", PAPERS)
def test_every_row_of_the_quick_tier_can_be_prepared(name):
    for found in PAPERS[name].find(None, "quick", None):
        for entry in found.entries:
            assert [run.seed for run in entry.runs([0, 1])] == [0, 1]


def test_unknown_names():
    with pytest.raises(UnknownName, match="did you mean 'quick'"):
        MNIST.find(None, "quik", None)
    with pytest.raises(UnknownName, match="did you mean 'table'"):
        MNIST.find("tabel", "quick", None)
    with pytest.raises(UnknownName, match="did you mean 'permuted-mnist'"):
        paper("permuted-mnits")
