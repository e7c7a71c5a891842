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
