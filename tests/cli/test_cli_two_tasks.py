"""The two-task protocols on the command line: their mistakes, and the mark of what was chosen by test data."""

from __future__ import annotations

import os

import pytest

PLAIN = ("run", "d5-5a-digits", "--learner", "finetune", "--jobs", "1", "--set", "iterations=4")
RUN = (*PLAIN, "--set", "every=2")
REALISTIC = (*RUN, "--protocol", "realistic")
GRID = ("--set", "widths=6,5", "--set", "rate=0.1,0.01", "--set", "second_rate=0.1,0.01")
BOUND = (
    "* prescient: chosen by the test data that it reports: a bound that nobody reaches who has yet to see the second "
    "task"
)
PAPER = "* realistic: chosen by test data of the first task, then of the second, as in the paper"
MISTAKES = [
    (("run", "split-digits", "--learner", "ewc", "--protocol", "realistic"), "streams of two tasks, this one has 5"),
    ((*PLAIN, "--set", "widths=10,12"), "'sequential' takes one network, and widths has several values"),
    ((*REALISTIC, "--set", "stop_fraction=0"), "stop_fraction=0.0 is out of range"),
    ((*REALISTIC, "--set", "stop_fraction=1.5"), "stop_fraction=1.5 is out of range"),
    ((*REALISTIC, "--set", "stop_fraction=nan"), "stop_fraction='nan' is not a number"),
    ((*REALISTIC, "--set", "second_rate=0"), "second_rate=0.0 is out of range"),
    ((*REALISTIC, "--set", "second_rate="), "second_rate='' is not a number"),
    ((*REALISTIC, "--set", "second_rate=0.1,fast"), "second_rate='fast' is not a number"),
    ((*PLAIN, "--protocol", "realistic", "--set", "every=0"), "every=0 is out of range"),
    ((*REALISTIC, "--set", "start=middle"), "start='middle' is not possible; choose one of: last, best"),
    ((*REALISTIC, "--set", "strict=true", "--set", "validation=0"), "validation must be above 0"),
    ((*REALISTIC, "--set", "second_rates=0.1"), "did you mean 'second_rate'?"),
    ((*RUN, "--protocol", "realistc"), "there is no protocol 'realistc'; did you mean 'realistic'?"),
]  # fmt: skip


@pytest.mark.parametrize("words, says", MISTAKES, ids=[says for _, says in MISTAKES])
def test_one_line_and_exit_code_two(engram, words, says):
    said = engram(*words)
    assert (said.code, said.out) == (2, "")
    assert said.err.count("\n") == 1
    assert said.err.startswith("engram: ")
    assert says in said.err
    assert os.listdir() == []


def words(text):
    """Text without its line ends: sentences are broken where the screen ends."""
    return " ".join(text.split())


def selected(engram, protocol, *more):
    said = engram(*RUN, "--protocol", protocol, *GRID, *more)
    assert said.code == 0, said.err
    return said


def test_prescient_is_marked_wherever_it_is_shown(engram):
    said = selected(engram, "prescient")
    key = engram("runs", "--json").json["runs"][0]["key"]
    for text in (said.out, engram("show", key).out):
        assert "protocol prescient* " in words(text)
        assert BOUND in words(text)
    listed = engram("runs").out
    assert "prescient* " in listed
    assert BOUND in words(listed)
    assert max(map(len, (said.out + listed).splitlines())) <= 80


def test_the_warning_is_in_every_json(engram):
    run = selected(engram, "prescient", "--json").json
    assert run["protocol"] == "prescient"
    assert f"* prescient: {run['runs'][0]['warning']}" == BOUND
    (row,) = engram("runs", "--json").json["runs"]
    assert (row["protocol"], f"* prescient: {row['warning']}") == ("prescient", BOUND)
    assert engram("show", row["key"], "--json").json == run


def test_the_realistic_choice_of_the_paper_is_marked_and_a_strict_one_is_not(engram):
    assert PAPER in words(selected(engram, "realistic").out)
    said = selected(engram, "realistic", "--set", "strict=true")
    assert "protocol realistic ·" in words(said.out)
    assert "*" not in said.out
    rows = engram("runs", "--json").json["runs"]
    assert [bool(row["warning"]) for row in rows] == [True, False]
    listed = engram("runs").out
    assert [line.split()[1] for line in listed.splitlines()[2:4]] == ["realistic*", "realistic"]
    assert words(listed).count("* realistic:") == 1


def test_a_run_says_what_was_chosen_and_where_it_stops(engram):
    run = selected(engram, "realistic", "--json").json
    (found,) = run["runs"]
    assert found["stop"] in (0, 2, 4)
    assert found["ties"] >= 0
    assert [settings["rate"] in (0.1, 0.01) for settings in found["chosen"]] == [True, True]
    curve = found["curves"][1]
    assert curve["steps"] == [0, 2, 4]
    assert run["metrics"]["union_accuracy"]["mean"] == curve["union"][curve["steps"].index(found["stop"])]


def test_the_protocols_are_listed_with_their_settings(engram):
    rows = {row["name"]: row for row in engram("list", "protocols", "--json").json}
    assert set(rows["realistic"]["settings"]) == {"second_rate", "every", "start", "stop_fraction", "strict"}
    assert set(rows["prescient"]["settings"]) == {"second_rate", "every", "start"}
    assert "a bound, not a result" in rows["prescient"]["help"]
    assert "stop_fraction" in engram("list", "protocols", "realistic").out


def test_the_default_of_several_values_can_be_typed(engram):
    text = engram("list", "protocols", "prescient").out
    assert "0.001,0.0001,1e-05" in text


def test_resumed_runs_name_their_protocol(engram):
    engram(*RUN, "--protocol", "prescient", "--set", "second_rate=0.1", "--rate", "1e30", "--set", "optimizer=sgd")
    (run,) = engram("resume", "--jobs", "1", "--json").json["runs"]
    assert run["protocol"] == "prescient"
