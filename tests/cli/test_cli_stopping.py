"""Ctrl-C while training: the advice is a command that goes on with what was stopped."""

from __future__ import annotations

import os
import shlex
import signal

import pytest

from engram.learners.finetune import Finetune


@pytest.fixture
def interrupted(monkeypatch):
    """The first lesson that anybody learns is interrupted."""
    learn = Finetune.learn

    def interrupt(self, lesson):
        monkeypatch.setattr(Finetune, "learn", learn)
        os.kill(os.getpid(), signal.SIGINT)
        return learn(self, lesson)

    monkeypatch.setattr(Finetune, "learn", interrupt)


@pytest.mark.parametrize(
    "words, advice",
    [
        ((), "engram resume"),
        (("--store", "engram-store"), "engram resume"),
        (("--store", "else where"), "engram resume --store 'else where'"),
    ],
)
def test_the_advice_names_the_store(interrupted, train, engram, words, advice):
    said = train("split-digits", "finetune", "--tasks", "2", *words)
    assert (said.code, said.out) == (130, "")
    assert said.err == f"engram: stopped; everything so far is saved, '{advice}' goes on\n"
    assert [run["status"] for run in engram(*shlex.split(advice)[1:], "--jobs", "1", "--json").json["runs"]] == ["done"]


def test_a_store_named_by_the_environment_needs_no_advice(interrupted, train, monkeypatch):
    monkeypatch.setenv("ENGRAM_STORE", "elsewhere")
    said = train("split-digits", "finetune", "--tasks", "2")
    assert said.err == "engram: stopped; everything so far is saved, 'engram resume' goes on\n"
