"""Names that would steer a terminal, on every road by which they can reach one."""

from __future__ import annotations

import numpy as np
import pytest

EVIL = "x\x1b[31m\x9b\n\u202ey"
SHOWN = r"x\x1b[31m\x9b\n\u202ey"
WORDS = [
    ("run", EVIL, "--learner", "ewc"),
    ("run", "split-digits", "--learner", EVIL),
    ("run", "split-digits", "--learner", "ewc", "--set", f"{EVIL}=1"),
    ("run", "split-digits", "--learner", "ewc", f"--{EVIL}"),
    ("run", "split", "--learner", "ewc", "--dataset", f"{EVIL}.npz"),
    ("run", "split-digits", "--learner", "ewc", "--figure", EVIL),
    ("runs", "--store", EVIL),
    ("list", EVIL),
    (EVIL,),
    ("check", f"{EVIL}.py:X"),
    ("data", "fetch", EVIL),
]


@pytest.mark.parametrize("words", WORDS, ids=[" ".join(words).encode("unicode_escape").decode() for words in WORDS])
def test_a_mistake_is_one_harmless_line(engram, words):
    said = engram(*words)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert "x\\x1b[31m" in said.err
    assert not set(said.err) & set("\x1b\x9b\u202e")


def test_a_file_with_such_a_name_can_be_used_and_its_name_is_shown_harmlessly(train, engram, tmp_path):
    y = np.arange(40) % 4
    x = np.random.default_rng(0).normal(size=(40, 3)).astype("float32") + 3 * y[:, None]
    np.savez(tmp_path / f"{EVIL}.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    words = ("--dataset", f"{EVIL}.npz", "--tasks", "2", "--store", EVIL, "--figure", f"{EVIL}.png")
    said = train("split", "finetune", *words)
    assert said.code == 0, said.err
    for text in (said.out, engram("runs", "--store", EVIL).out):
        assert SHOWN in text.replace("\n", "")
        assert not set(text) & set("\x1b\x9b\u202e")
    found = engram("runs", "--store", EVIL, "--json")
    assert found.out.count("\n") == 1
    assert EVIL in found.json["runs"][0]["stream"]
    assert not set(found.out) & set("\x1b\x9b\u202e")
