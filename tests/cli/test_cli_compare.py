"""Several learners in one command."""

from __future__ import annotations

import pytest

import engram as library

QUICK = ("--tasks", "2", "--seeds", "0-2", "--epochs", "1")


def test_one_command_one_table_with_floors_and_differences(train):
    said = train("split-digits", "ewc,si", *QUICK, "--set", "ewc.strength=10,100", "--floors", "--head", "multi")
    assert (said.code, said.err) == (0, "")
    lines = [line for line in said.out.splitlines() if "±" in line]
    names = ("ewc strength=10 ", "ewc strength=100", "si", "finetune", "joint", "ridge")
    assert all(name in line for name, line in zip(names, lines, strict=True))
    assert sum(line.startswith("best") for line in lines) == 1
    assert [line.startswith("floor") for line in lines] == [False] * 3 + [True] * 3
    assert "not told apart" in said.out


def test_json_has_every_run_and_the_same_bits_as_a_run_alone(train):
    found = train("split-digits", "ewc,finetune", *QUICK, "--json").json
    (comparison,) = found["comparisons"]
    alone = train("split-digits", "finetune", *QUICK, "--json").json
    row = comparison["rows"][1]
    assert row["metrics"] == alone["metrics"]
    assert [run["key"] for run in row["runs"]] == [run["key"] for run in alone["runs"]]
    assert {each["verdict"] for each in comparison["differences"]} <= {"different", "not told apart"}


def test_python_and_the_command_line_agree(train):
    said = train("split-digits", "ewc,finetune", *QUICK, "--json").json["comparisons"][0]
    found = library.compare("split-digits", ["ewc", "finetune"], seeds=3, tasks=2, epochs=1, widths="12")
    assert [each.p for each in found.all_differences] == [each["p"] for each in said["differences"]]
    assert found.best.label == said["best"]


def test_several_streams_have_a_table_each(train):
    said = train("split-digits,permuted-digits", "finetune", *QUICK)
    assert said.code == 0
    assert "split-digits@1 · 2 tasks" in said.out
    assert "permuted-digits@1 · 2 tasks" in said.out


def test_settings_that_some_do_not_know_are_said(train):
    said = train("split-digits", "ridge,finetune", *QUICK)
    assert said.err == "engram: epochs is no setting of ridge, which goes without it\n"


def test_one_learner_is_shown_as_before(train):
    plain = train("split-digits", "finetune", "--tasks", "2")
    assert "kept in engram-store as" in plain.out
    assert train("split-digits", "finetune", "--tasks", "2", "--set", "finetune.epochs=1").out == plain.out
    grid = train("split-digits", "ewc", "--set", "strength=1,2")
    assert grid.code == 2
    assert "takes one value of each setting" in grid.err


def test_a_plan_counts_everybody(train):
    said = train("split-digits", "ewc,si", *QUICK, "--plan", "--json")
    assert said.json["runs"] == 6


@pytest.mark.parametrize(
    "words, sentence",
    [
        (("ewc,ewc",), "the learner 'ewc' is named twice"),
        (("ewc,sii",), "there is no learner 'sii'; did you mean 'si'?"),
        ((",",), "there is no learner to compare"),
        (("ewc,si", "--set", "rwalk.strength=1"), "there is no learner in this comparison called 'rwalk'"),
        (("ewc,si", "--set", "ewc.strenght=1"), "called 'strenght'; did you mean 'strength'?"),
        (("ewc,si", "--by", "forgeting"), "there is no metric 'forgeting'; did you mean"),
        (("ewc,si", "--by", "transfer"), "add --references"),
        (("ewc,new-head",), "give --head multi"),
    ],
)
def test_mistakes_are_one_sentence(train, words, sentence):
    said = train("split-digits", *words)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert sentence in said.err
