"""--plan: what would be trained, said and not done."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from engram.cli.planning import duration, lines
from engram.plan import Forecast

GRID = (
    "run", "d5-5a", "--dataset", "digits", "--learner", "finetune", "--protocol", "prescient", "--set",
    "widths=12-12,8-8", "--set", "rate=0.01,0.001", "--set", "iterations=30", "--set", "every=10", "--plan",
)  # fmt: skip
TIME = re.compile(r"about \d+ (s|min) with (\d+) workers? \(from a few steps of (\d+) kinds of nodes\)")


def test_text(engram):
    said = engram(*GRID, "--jobs", "2")
    assert (said.code, said.err) == (0, "")
    first, second = said.out.splitlines()
    assert first == "16 nodes wanted by 1 run: 0 shared, 0 in engram-store, 16 to train"
    assert TIME.fullmatch(second).group(2, 3) == ("2", "4")


def test_json_is_one_object(engram):
    said = engram(*GRID, "--jobs", "1", "--json")
    assert (said.code, said.err, said.out.count("\n")) == (0, "", 1)
    found = said.json
    expected = {"runs": 1, "nodes": 16, "distinct": 16, "shared": 0, "known": 0, "to_train": 16, "jobs": 1, "kinds": 4}
    assert expected.items() <= found.items()
    assert found["wall_seconds"] == found["seconds"] > 0


def test_nothing_is_written(engram, train):
    engram(*GRID)
    engram("paper", "permuted-mnist", "--plan", "--write", "pages")
    train("split-digits", "finetune", "--plan", "--figure", "figure.png", "--store", "elsewhere")
    assert os.listdir() == []


def test_an_empty_folder_stays_empty(train, tmp_path):
    (tmp_path / "empty").mkdir()
    said = train("split-digits", "finetune", "--tasks", "2", "--plan", "--store", "empty")
    assert said.out.startswith("2 nodes wanted by 1 run: 0 shared, 0 in empty, 2 to train\n")
    assert os.listdir("empty") == []


def test_a_store_is_looked_into_and_left_alone(train, engram):
    words = ("split-digits", "finetune", "--tasks", "2")
    train(*words)
    before = {path: path.read_bytes() for path in Path("engram-store").rglob("*") if path.is_file()}
    said = train(*words, "--seeds", "0,1", "--plan")
    assert said.out.splitlines()[0] == "4 nodes wanted by 2 runs: 0 shared, 2 in engram-store, 2 to train"
    assert train(*words, "--plan").out.splitlines()[-1] == "nothing is left to train"
    assert {path: path.read_bytes() for path in Path("engram-store").rglob("*") if path.is_file()} == before
    assert len(engram("runs", "--json").json["runs"]) == 1


def test_a_paper(engram):
    found = engram("paper", "permuted-mnist", "--seeds", "0", "--plan", "--json").json
    assert found["runs"] == 2
    assert found["to_train"] == found["distinct"] > 2


def test_what_fails_in_the_first_steps_has_no_time(train):
    said = train("split-digits", "finetune", "--rate", "1e30", "--batch", "16", "--plan")
    assert said.code == 0
    assert said.out.splitlines()[-1] == "how long it takes cannot be told: a few steps of it failed"
    assert (
        train("split-digits", "finetune", "--rate", "1e30", "--batch", "16", "--plan", "--json").json["seconds"] is None
    )


def test_a_mistake_is_still_one(train):
    said = train("split-digits", "finetune", "--set", "rate=1,2", "--plan")
    assert (said.code, said.out) == (2, "")


def test_what_took_its_time_with_another_seed_is_said(train):
    words = ("split-digits", "finetune", "--tasks", "2")
    train(*words, "--seeds", "0")
    said = train(*words, "--seeds", "0-2", "--plan").out
    assert "6 nodes wanted by 3 runs: 0 shared, 2 in" in said
    assert said.endswith("4 nodes of them as long as with other seeds\n")


def test_what_may_stop_early_is_counted_with_all_its_steps_and_said(train):
    words = ("split-digits", "finetune", "--tasks", "2", "--set", "stop=patience")
    said = train(*words, "--plan").out.splitlines()
    assert said[1].startswith("at most about ")
    assert said[2] == "2 nodes of them with all their steps, which may stop long before"
    train(*words, "--seeds", "1")
    assert "at most" not in train(*words, "--plan").out


def test_text_of_a_large_plan_fits_eighty_columns():
    plan = Forecast(
        runs=72, nodes=1432, distinct=1216, known=12, seconds=12000, longest_seconds=600, jobs=2, kinds=20,
        measured_kinds=14,
    )  # fmt: skip
    assert lines(plan, "engram-store") == [
        "1432 nodes wanted by 72 runs: 216 shared, 12 in engram-store, 1204 to train",
        "about 1 h 40 min with 2 workers (from a few steps of 14 of 20 kinds of nodes)",
    ]
    assert max(map(len, lines(plan, "engram-store"))) <= 80


@pytest.mark.parametrize(
    "seconds, text",
    [
        (0.01, "1 s"), (40, "40 s"), (59.4, "59 s"), (59.6, "1 min"), (710, "12 min"), (3599, "1 h 0 min"),
        (6000, "1 h 40 min"), (86_400, "1 d 0 h"), (200_000, "2 d 7 h"),
    ],
)  # fmt: skip
def test_durations(seconds, text):
    assert duration(seconds) == text
