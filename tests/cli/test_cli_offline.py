"""Ω from the command line: which models are trained for it, and what is said of them."""

from __future__ import annotations

import pytest

FAIR = {"omega_base_fair", "omega_all_fair", "omega_all_fair_lowest"}
PAPER = {"omega_base", "omega_new", "omega_new_share", "omega_all"}


def flat(text):
    return " ".join(text.split())


def omegas(said):
    return {name for name in said.json["metrics"] if name.startswith("omega")}


@pytest.mark.parametrize(
    "words, expected",
    [(("base",), PAPER), (("seen",), PAPER | FAIR), (("no",), set()), (("no", "--references"), set())],
)
def test_offline_decides_which_omegas_there_are(train, brief_offline, words, expected):
    said = train("split-digits", "ridge", "--tasks", "2", "--json", "--offline", *words)
    assert said.code == 0, said.err
    assert omegas(said) == expected
    assert (said.json["runs"][0]["offline"] is None) == (not expected)
    assert len(said.json["runs"][0]["alphas"]["all"]) == 2


def test_run_and_show_say_them_and_how_the_models_were_chosen(train, engram, brief_offline):
    said = train("split-digits", "finetune", "--tasks", "2", "--offline", "seen")
    key = said.out.split()[-1]
    for text in (flat(said.out), flat(engram("show", key).out)):
        for words in ("omega all fair lowest", "chosen for the offline model: dropout=", "offline model: 0."):
            assert words in text


def test_one_session_has_no_omega_and_says_so(train, brief_offline):
    text = flat(train("split-digits", "ridge", "--tasks", "1", "--offline", "base").out)
    assert "omega all not defined" in text


def test_a_first_session_of_one_class_is_said(train, brief_offline):
    said = train("incremental-digits", "ridge", "--set", "base=1", "--offline", "base")
    assert said.code == 0
    assert "the first session has one class, which no offline model gets wrong" in flat(said.err)


def test_another_ideal_is_a_mistake(train):
    said = train("split-digits", "ridge", "--offline", "all")
    assert (said.code, said.out) == (2, "")
    assert "no offline model 'all'" in said.err


def test_stopping_by_test_data_is_marked_wherever_the_run_is_shown(train, engram):
    words = ("--tasks", "2", "--set", "stop=patience", "--set", "stop_on=test", "--set", "patience=1")
    said = train("split-digits", "finetune", *words)
    for text in (flat(said.out), flat(engram("show", said.out.split()[-1]).out), flat(engram("runs").out)):
        assert "sequential*" in text
        assert "* sequential: every task ended by a look at its own test data (stop_on=test)" in text
    assert "stop_on=test" in train("split-digits", "finetune", *words, "--json").json["runs"][0]["warning"]
