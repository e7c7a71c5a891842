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


def test_numbers_among_text_stay_text(engram, tmp_path):
    (tmp_path / "codes.csv").write_text(WEEK.replace("A", "7"))
    (tmp_path / "sevens.csv").write_text("size,kind\n1,7\n2,7\n")
    engram("learn", "c.engram", "codes.csv", "--label", "kind")
    assert engram("test", "c.engram", "sevens.csv", "--json").json["accuracy"] == 1.0
    assert engram("learn", "c.engram", "sevens.csv", "--json").json["sessions"][0]["known_classes"] == 2
    assert engram("forget", "c.engram", "sevens.csv", "--json").json["known_rows"] == 8


def test_a_label_column_may_be_empty_where_labels_are_asked_for(engram, model, tmp_path):
    (tmp_path / "empty.csv").write_text("size,kind\n1,\n7,\n")
    rows = engram("predict", "m.engram", "empty.csv", "--json").json["rows"]
    assert [row["label"] for row in rows] == ["A", "B"]


def test_an_error_names_the_files_that_were_learned_before_it(engram, model, tmp_path):
    (tmp_path / "bad.csv").write_text("size,kind\nlong,A\n")
    said = engram("learn", "m.engram", "w2.csv", "bad.csv")
    assert said.code == 2
    assert "holds 'long' in line 2" in said.err
    assert "m.engram has learned w2.csv already: leave them out" in said.err
    assert "already" not in engram("learn", "m.engram", "bad.csv").err
    said = engram("learn", "m.engram", "w2.csv", "gone.csv")
    assert "there is no file gone.csv" in said.err
    assert "has learned w2.csv already" in said.err


def test_room_for_less_than_a_row_is_refused(engram, model):
    said = engram("learn", "new.engram", "w1.csv", "--label", "kind", "--learner", "icarl", "--memory", "1B")
    assert said.code == 2
    assert "memory=1 has no room for one row, which takes" in said.err
