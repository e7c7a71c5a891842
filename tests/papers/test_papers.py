from __future__ import annotations

import csv
import dataclasses

import pytest

from engram.core import Cost, Row
from engram.errors import UnknownName
from engram.papers import PAPERS, paper
from engram.papers.paper import Entry, Line
from engram.record import Record

MNIST = paper("permuted-mnist")


def record(accuracy: float, seed: int = 0) -> Record:
    row = Row((accuracy,), (accuracy,), {}, {}, None, Cost({"total": 8}, 2, 30.0), "0" * 64)
    how = ("permuted-mnist@1", "si", "mlp", {"widths": [10, 10]}, "sequential", "single")
    return Record(*how, seed, "key", "done", None, (row,), ())


def line(*accuracies: float, at_least: float | None = 0.9) -> Line:
    entry = Entry("SI", "si", {}, 0.95, "Zenke et al. 2017", at_least)
    return Line(entry, tuple(record(value, seed) for seed, value in enumerate(accuracies)))


def test_a_claim_is_held_from_its_floor_on():
    assert line(0.89, 0.91).held() is True
    assert line(0.89, 0.90).held() is False
    assert line(0.89).claim() == "≥ 0.9: NOT held"
    assert line(0.1, at_least=None).held() is None


def test_ours_beside_the_published_value():
    found = line(0.96, 0.98).to_json()
    assert found["ours"]["mean"] == pytest.approx(0.97)
    assert found["difference"] == pytest.approx(0.02)
    (row,) = MNIST.table([line(0.96, 0.98)])
    assert row["ours"] == "0.9700 ± 0.0141"
    assert row["difference"] == "+0.0200"
    assert row["minutes a run"] == "0.5"


def test_a_line_of_failed_runs_is_not_held_and_says_failed():
    broken = dataclasses.replace(record(0.9), status="failed", error="nan", rows=())
    failed = dataclasses.replace(line(0.9), records=(broken,))
    assert failed.held() is False
    assert MNIST.table([failed])[0]["ours"] == "failed"


def test_what_is_written(tmp_path):
    lines = [line(0.96, 0.98)]
    page, table, figure = MNIST.write(lines, "paper", "engram paper …", tmp_path / "new")
    text = page.read_text()
    assert text.startswith(f"# {MNIST.title}\n")
    assert "Written by `engram paper …` (tier `paper`, seeds 0, 1" in text
    assert "`widths=10-10`" in text
    assert f"({figure.name})" in text
    header, row = csv.reader(table.read_text().splitlines())
    assert dict(zip(header, row, strict=True)) == MNIST.table(lines)[0]
    assert figure.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", PAPERS)
def test_the_quick_tier_claims_nothing(name):
    assert all(entry.at_least is None for entry in PAPERS[name].entries("quick"))
    assert all(entry.at_least is not None for entry in PAPERS[name].entries("paper"))


def test_runs_of_a_tier():
    asked = MNIST.runs("quick", [0, 1])
    assert [[run.seed for run in wanted] for _, wanted in asked] == [[0, 1], [0, 1]]
    with pytest.raises(UnknownName, match="did you mean 'quick'"):
        MNIST.runs("quik", [0])
