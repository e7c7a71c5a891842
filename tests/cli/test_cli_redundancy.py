"""`engram redundancy`: a sentence, an object, a figure."""

from __future__ import annotations

import numpy as np
import pytest


def test_a_sentence_and_a_figure(engram, tmp_path):
    said = engram("redundancy", "digits", "--figure", "matrix.png")
    assert said.code == 0
    assert "of 64 features" in said.out
    assert "10 bins of equal frequency, delta 0" in said.out
    assert (tmp_path / "matrix.png").read_bytes().startswith(b"\x89PNG")


def test_an_object_of_ones_own_features(engram, tmp_path):
    y = np.arange(60) % 3
    np.savez(tmp_path / "mine.npz", x=np.stack([y, y, np.arange(60)], axis=1).astype(np.float32), y=y)
    found = engram("redundancy", "mine.npz", "--bins", "3", "--json").json
    assert found["kept"] == [0]
    assert found["features"] == 3
    assert found["non_redundant"] == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("digit",), "there is no dataset 'digit'; did you mean 'digits'?"),
        (("digits", "--bins", "1"), "bins=1 is out of range"),
        (("digits", "--delta", "2"), "delta=2 is out of range"),
        (("digits", "--cut", "size"), "there is no cut called 'size'; choose one of: frequency, width"),
        (("digits", "--figure", "matrix.txt"), "end it in .png, .svg or .pdf"),
    ],
)
def test_mistakes(engram, words, sentence):
    said = engram("redundancy", *words)
    assert said.code == 2
    assert sentence in said.err


def test_a_table_without_runs_is_in_the_json_too(engram):
    (table,) = engram("paper", "kemker2018", "s9", "--tier", "quick", "--json").json["experiments"]
    assert table["lines"] == []
    assert [(row["data"], row["features"]) for row in table["data"]] == [("digits", "64")]
    assert table["data"][0]["non_redundant"]["mean"] > 5
