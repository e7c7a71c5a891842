"""Runs that stay: runs, show, resume, clean; and runs that fail."""

from __future__ import annotations

import pytest

from engram.errors import Diverged
from engram.learners.finetune import Finetune

DIVERGES = ("--set", "optimizer=sgd", "--rate", "1e30")


def test_runs_lists_what_was_run(train, engram):
    key = train("split-digits", "ewc", "--tasks", "2", "--json").json["runs"][0]["key"]
    (row,) = engram("runs", "--json").json["runs"]
    assert (row["key"], row["status"], row["error"]) == (key, "done", None)
    text = engram("runs").out
    assert key[:10] in text
    assert max(map(len, text.splitlines())) <= 80


def test_show_is_the_run_again_and_more(train, engram):
    run = train("split-digits", "ewc", "--tasks", "2", "--json").json
    key = run["runs"][0]["key"]
    assert engram("show", key, "--json").json == run
    said = engram("show", key[:6])
    assert said.code == 0
    assert "strength=100.0" in said.out
    assert "widths=12" in said.out
    assert max(map(len, said.out.splitlines())) <= 80


def test_resume_with_nothing_to_do(train, engram):
    train("split-digits", "finetune", "--tasks", "2")
    said = engram("resume")
    assert (said.code, said.out, said.err) == (0, "every run in engram-store is done\n", "")
    assert engram("resume", "--json").json == {"runs": [], "waiting": 0}


def test_clean_frees_and_keeps_the_records(train, engram):
    before = train("split-digits", "finetune", "--tasks", "2", "--json").json
    report = engram("clean", "--json").json
    assert report["freed_bytes"] >= 0
    assert report["store_bytes"] > 0
    assert engram("clean").out.startswith("freed ")
    assert engram("show", before["runs"][0]["key"], "--json").json == before


def test_the_store_can_be_named_by_the_environment(train, engram, monkeypatch, tmp_path):
    monkeypatch.setenv("ENGRAM_STORE", "elsewhere")
    train("split-digits", "finetune", "--tasks", "2")
    assert (tmp_path / "elsewhere" / "store.db").exists()
    assert len(engram("runs", "--json").json["runs"]) == 1


def test_a_run_that_fails_says_so_everywhere(train, engram):
    said = train("split-digits", "finetune", "--tasks", "2", *DIVERGES, "--json")
    assert said.code == 1
    (run,) = said.json["runs"]
    assert run["status"] == "failed"
    assert "the loss became" in run["error"]
    assert said.json["metrics"] == {}
    assert "seed 0, failed: the loss became" in said.err
    assert "Traceback" not in said.err
    (row,) = engram("runs", "--json").json["runs"]
    assert (row["status"], row["error"]) == ("failed", run["error"])
    shown = engram("show", run["key"]).out
    assert "failed: the loss became" in shown


@pytest.mark.parametrize("more", [(), ("--protocol", "task-level", "--rate", "0.001,0.01")])
def test_a_run_that_fails_shows_the_tasks_that_it_reached(more, train, engram, monkeypatch):
    learn = Finetune.learn

    def failing(self, lesson):
        if lesson.index == 2:
            raise Diverged("the loss became nan at task 3")
        yield from learn(self, lesson)

    (whole,) = train("split-digits", "finetune", *more, "--json", "--store", "whole").json["runs"]
    monkeypatch.setattr(Finetune, "learn", failing)
    said = train("split-digits", "finetune", *more, "--json").json
    (run,) = said["runs"]
    assert (run["status"], run["accuracy"], said["metrics"]) == ("failed", whole["accuracy"][:2], {})
    assert engram("show", run["key"], "--json").json["runs"] == [run]
    shown = engram("show", run["key"]).out
    assert "failed after task 2" in shown
    assert f"{run['accuracy'][1][0]:.3f}" in shown


def test_the_other_seeds_go_on_when_one_fails(train, monkeypatch):
    learn = Finetune.learn

    def fail_for_seed_one(self, lesson):
        if self.seed == 1:
            raise Diverged("the loss became nan")
        return learn(self, lesson)

    monkeypatch.setattr(Finetune, "learn", fail_for_seed_one)
    said = train("split-digits", "finetune", "--tasks", "2", "--seeds", "0,1,2", "--json")
    assert said.code == 1
    assert [run["status"] for run in said.json["runs"]] == ["done", "failed", "done"]
    assert said.json["metrics"]["average_accuracy"]["n"] == 2


def test_a_failed_run_in_tables(train, engram):
    said = train("split-digits", "finetune", "--tasks", "2", *DIVERGES)
    assert said.code == 1
    assert "failed" in said.out
    listed = engram("runs").out
    assert "failed: the loss became" in listed
    assert max(map(len, (said.out + listed).splitlines())) <= 80


def test_a_rate_that_diverges_costs_only_itself(engram):
    words = ("--tasks", "2", "--set", "widths=12", "--set", "optimizer=sgd", "--rate", "1e30,0.1", "--jobs", "1")
    said = engram("run", "split-digits", "--learner", "finetune", "--protocol", "stream-level", *words, "--json")
    assert said.code == 0, said.err
    assert said.json["runs"][0]["chosen"][0]["rate"] == 0.1


def test_resume_tries_failed_runs_again_beside_the_done_ones(train, engram):
    train("split-digits", "finetune", "--tasks", "2")
    train("split-digits", "finetune", "--tasks", "2", *DIVERGES)
    said = engram("resume", "--jobs", "1")
    assert said.code == 1
    assert "failed" in said.out
    assert max(map(len, said.out.splitlines())) <= 80
    assert [row["status"] for row in engram("runs", "--json").json["runs"]] == ["done", "failed"]


def test_clean_forgets_failed_runs_when_asked(train, engram):
    train("split-digits", "finetune", "--tasks", "2", *DIVERGES)
    engram("clean")
    assert len(engram("runs", "--json").json["runs"]) == 1
    engram("clean", "--failed")
    assert engram("runs", "--json").json["runs"] == []
    assert "no runs yet" in engram("runs").out


def test_a_run_that_is_done_is_not_done_again(train):
    """Its seconds are those of the first time."""
    first, second = (train("split-digits", "finetune", "--tasks", "2", "--seeds", "0,1", "--json") for _ in range(2))
    assert first.json == second.json
