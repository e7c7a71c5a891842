"""Mistakes with files of one's own: a sentence each, exit code 2, and nothing is lost."""

from __future__ import annotations

import os

import pytest

WEEK = "size,kind\n" + "".join(f"{n},{'AB'[n > 3]}\n" for n in range(8))


@pytest.fixture
def model(engram, tmp_path):
    for name in ("w1.csv", "w2.csv"):
        (tmp_path / name).write_text(WEEK)
    os.link(tmp_path / "w1.csv", tmp_path / "linked.csv")
    assert engram("learn", "m.engram", "w1.csv", "--label", "kind").code == 0
    return tmp_path / "m.engram"


@pytest.mark.parametrize(
    "words",
    [
        "predict m.engram w1.csv --out m.engram",
        "predict m.engram w1.csv --out ./w1.csv",
        "predict m.engram w1.csv --out linked.csv",
        "advise w1.csv w2.csv --label kind --out w2.csv",
        "export m.engram --onnx m.engram",
    ],
)
def test_what_is_read_is_not_overwritten(engram, model, tmp_path, words):
    if words.startswith("export"):
        pytest.importorskip("onnxruntime")
        pytest.importorskip("onnx")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    said = engram(*words.split())
    assert said.code == 2
    assert "is what is read, and would be overwritten; choose another place" in said.err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


@pytest.mark.parametrize(
    "words, said",
    [
        (("--memory", "²MB"), "memory='²MB' is not a number of bytes"),
        (("--image-size", "8x00"), "--image-size '8x00' is no size of images"),
        (("--seed", "-1", "--learner", "slda", "--set", "features=10"), "seed=-1 is below 0"),
        (("--set", "self=3"), "there is no setting 'self'"),
    ],
)
def test_options_that_are_wrong_are_sentences(engram, model, tmp_path, words, said):
    found = engram("learn", "new.engram", "w1.csv", "--label", "kind", *words)
    assert found.code == 2
    assert said in found.err
    assert not (tmp_path / "new.engram").exists()


def test_a_model_has_a_name(engram, model):
    assert "the model's file has no name" in engram("learn", "", "w1.csv", "--label", "kind").err


def test_memory_may_be_bare_bytes(engram, model):
    assert engram("learn", "new.engram", "w1.csv", "--label", "kind", "--memory", "5000").code == 0
