"""Experiment files on the command line: run, saved, and shown again from the store alone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from engram import tree

FILE = """
streams = ["split-digits"]
learners = ["ewc", "finetune"]
seeds = "0-2"
tasks = 2

[settings]
widths = "12"
epochs = 1
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "x.toml").write_text(FILE)
    return tmp_path / "x.toml"


def test_a_file_is_run_and_its_table_made_again_from_the_store_alone(engram, file, monkeypatch):
    ran = engram("run", "x.toml", "--jobs", "1")
    assert (ran.code, ran.err) == (0, "")
    table, kept = ran.out.rsplit("\n", 2)[0], ran.out.splitlines()[-1]
    assert "makes this table again" in kept
    digest = kept.split("experiment ")[1].split(":")[0]
    monkeypatch.setattr(tree, "grow", None)  # nothing is trained
    assert engram("show", "x.toml").out.rstrip("\n") == table
    assert engram("show", digest).out.rstrip("\n") == table
    file.write_text("# a word\n" + FILE)
    assert engram("show", "x.toml").out.rstrip("\n") == table
    found = engram("show", digest, "--json").json
    assert found == engram("run", "x.toml", "--jobs", "1", "--json").json


def test_neither_the_file_nor_its_code_is_needed_to_show_it(engram, tmp_path):
    code = tmp_path / "mine.py"
    code.write_text("from engram.learners.finetune import Finetune\nclass Mine(Finetune):\n    name = 'mine'\n")
    (tmp_path / "x.toml").write_text(FILE.replace('"finetune"', '"mine.py:Mine"'))
    ran = engram("run", "x.toml", "--jobs", "1")
    assert ran.code == 0, ran.err
    code.unlink()
    assert engram("show", "x.toml").out.splitlines() == ran.out.splitlines()[:-1]


def test_what_is_saved_asks_for_the_same(engram, tmp_path):
    settings = ("--set", "widths=12", "--set", "ewc.strength=10,100", "--epochs", "1", "--tasks", "1", "--seeds", "4")
    words = ("--learner", "ewc,finetune", "--head", "multi", "--floors", "--jobs", "1", "--json")
    first = engram("run", "split-digits", *settings, *words, "--save", "sub/saved.toml")
    assert first.code == 0, first.err
    again = engram("run", "sub/saved.toml", "--json", "--jobs", "1", "--store", "other")
    assert [row["label"] for row in again.json["comparisons"][0]["rows"]] == [
        "ewc strength=10", "ewc strength=100", "finetune", "joint", "ridge",
    ]  # fmt: skip
    runs = [[run["key"] for run in row["runs"]] for row in first.json["comparisons"][0]["rows"]]
    assert [[run["key"] for run in row["runs"]] for row in again.json["comparisons"][0]["rows"]] == runs
    assert again.json["experiment"] == first.json["experiment"]


def test_one_learner_can_be_saved_too_and_looks_as_before(engram, train):
    plain = train("split-digits", "finetune", "--tasks", "2")
    saved = train("split-digits", "finetune", "--tasks", "2", "--save", "one.toml")
    assert saved.out.startswith(plain.out)
    assert engram("show", "one.toml").out in saved.out


def test_a_file_of_something_else_is_not_overwritten(train, file):
    said = train("split-digits", "finetune", "--save", "x.toml")
    assert said.code == 2
    assert "--save 'x.toml' is there already and asks for something else" in said.err
    assert file.read_text() == FILE
    assert not Path("engram-store").exists()


def test_an_interrupted_experiment_is_shown_as_far_as_it_came_and_resumed(engram, file, monkeypatch):
    grow = tree.grow
    grown = []

    def interrupted(node, *rest, **more):
        if len(grown) == 6:
            raise KeyboardInterrupt
        grown.append(node)
        return grow(node, *rest, **more)

    from engram.execute import here

    monkeypatch.setattr(here, "grow", interrupted)
    stopped = engram("run", "x.toml", "--jobs", "1")
    assert stopped.code == 130
    monkeypatch.undo()
    monkeypatch.chdir(file.parent)
    partly = engram("show", "x.toml")
    assert partly.code == 0
    assert "pending" in partly.out
    resumed = engram("resume", "--jobs", "1")
    assert resumed.code == 0
    assert "makes the table of the experiment that they are part of" in resumed.out
    table = engram("show", "x.toml").out
    assert "pending" not in table
    assert table.splitlines() == engram("run", "x.toml", "--jobs", "1").out.splitlines()[:-1]


def test_runs_that_were_deleted_are_said(engram, file):
    assert engram("run", "x.toml", "--jobs", "1").code == 0
    from engram.store import Store

    store = Store("engram-store")
    store.delete_runs([store.runs()[0]["key"]])
    store.close()
    said = engram("show", "x.toml")
    assert (said.code, said.out) == (2, "")
    assert "1 of the runs of experiment" in said.err
    assert engram("run", "x.toml", "--jobs", "1").code == 0
    assert engram("show", "x.toml").code == 0


def test_the_file_alone_says_what_is_asked_for(engram, file):
    for words in (("--seeds", "0"), ("--learner", "si"), ("--set", "rate=1"), ("--floors",), ("--stream-seed", "1")):
        said = engram("run", "x.toml", *words)
        assert (said.code, said.out) == (2, "")
        assert f"x.toml says what is asked for, and {words[0]} says it too" in said.err
    assert engram("run", "x.toml", "--plan", "--json").json["runs"] == 6


@pytest.mark.parametrize(
    "words, sentence",
    [
        (("run", "none.toml"), "none.toml cannot be read (No such file or directory)"),
        (("run", "bad.toml"), "bad.toml: there is no learner 'ewcc'; did you mean 'ewc'?"),
        (("run", "late.toml"), "late.toml: there is no dataset"),
        (("show", "x.toml"), "x.toml has not been run with the store engram-store; 'engram run x.toml' does that"),
        (("show", "none.toml"), "none.toml cannot be read"),
        (("run", "split-digits"), "missing option '--learner'"),
    ],
)
def test_mistakes_are_one_sentence(engram, file, words, sentence):
    shutil.copy(file, "bad.toml")
    Path("bad.toml").write_text(FILE.replace('"ewc"', '"ewcc"'))
    Path("late.toml").write_text(FILE.replace("split-digits", "split-digitss"))
    assert engram("run", "split-digits", "--learner", "ridge", "--tasks", "1", "--jobs", "1").code == 0
    said = engram(*words)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert sentence in said.err


def test_a_report_an_export_and_the_list_know_experiments(engram, file):
    assert engram("run", "split-digits", "--learner", "ridge", "--tasks", "1", "--jobs", "1").code == 0
    digest = engram("run", "x.toml", "--jobs", "1", "--json").json["experiment"]
    (listed,) = engram("runs", "--json").json["experiments"]
    assert (listed["digest"], listed["rows"], listed["runs"], listed["done"]) == (digest, 2, 6, 6)
    assert listed["text"] == FILE
    assert f"experiment {digest[:10]}: 2 rows, 6 of 6 runs done" in engram("runs").out
    assert len(engram("export", "x.toml", "--json").json["runs"]) == 6
    assert len(engram("export", digest[:10], "--json").json["runs"]) == 6
    assert engram("report", "x.toml", "--out", "page.html", "--json").json["runs"] == 6


def test_a_damaged_experiment_is_said_and_brought_back(engram, file):
    import sqlite3

    first = engram("run", "x.toml", "--jobs", "1").out
    with sqlite3.connect("engram-store/store.db") as connection:
        connection.execute("UPDATE experiments SET text = text || ' '")
    connection.close()
    said = engram("show", "x.toml")
    assert said.code == 2
    assert "is damaged and was not used; the command of that experiment brings it back" in said.err
    assert engram("run", "x.toml", "--jobs", "1").out == first
    assert engram("show", "x.toml").code == 0
