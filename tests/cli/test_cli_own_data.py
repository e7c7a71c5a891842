"""A model in a file, from the command line: learn, predict, test, inspect, undo, forget."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from PIL import Image

HEADER = "length,width,colour,species\n"
FINCH = "".join(f"{1 + n / 10},{n % 3},red,finch\n" for n in range(8))
TIT = "".join(f"{5 + n / 10},{n % 3},blue,tit\n" for n in range(8))
ROBIN = "".join(f"{9 + n / 10},{n % 3},,robin\n" for n in range(8))


@pytest.fixture
def birds(engram, tmp_path):
    """A model of two weeks, and a file with rows of all its classes."""
    (tmp_path / "week1.csv").write_text(HEADER + FINCH + TIT)
    (tmp_path / "week2.csv").write_text(HEADER + ROBIN + FINCH)
    (tmp_path / "all.csv").write_text(HEADER + FINCH + TIT + ROBIN)
    assert engram("learn", "birds.engram", "week1.csv", "--label", "species").code == 0
    return tmp_path / "birds.engram"


def test_a_model_begins_and_goes_on_with_a_new_class(engram, birds):
    said = engram("learn", "birds.engram", "week2.csv")
    assert said.out == "birds.engram: learned 16 rows of week2.csv, new: robin; now 3 classes of 32 rows\n"
    answers = engram("predict", "birds.engram", "all.csv", "--json").json["rows"]
    assert [row["label"] for row in answers] == ["finch"] * 8 + ["tit"] * 8 + ["robin"] * 8
    assert answers[0]["row"] == 1
    assert answers[0]["probability"] == answers[0]["p(finch)"] > 0.5


def test_several_files_are_a_session_each(engram, birds):
    found = engram("learn", "more.engram", "week1.csv", "week2.csv", "--label", "species", "--json").json
    assert [session["new"] for session in found["sessions"]] == [["finch", "tit"], ["robin"]]
    assert found["sessions"][-1]["known_rows"] == 32
    assert found["learner"]["learner"] in ("slda", "ridge")


def test_answers_are_written_as_csv_that_runs_nothing(engram, birds, tmp_path):
    week = (tmp_path / "week1.csv").read_text().replace("finch", "=1+1")
    (tmp_path / "odd.csv").write_text(week)
    engram("learn", "odd.engram", "odd.csv", "--label", "species")
    said = engram("predict", "odd.engram", "all.csv", "--out", "a.csv", "--unknown-below", "0.99", "--keep", "length")
    assert said.out.startswith("wrote a.csv: 24 answers, ")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "a.csv").read_text())))
    assert rows[0]["label"] == "'=1+1"
    assert rows[0]["length"] == "1.0"
    assert {row["label"] for row in rows} <= {"'=1+1", "tit", "unknown"}
    assert engram("predict", "odd.engram", "all.csv").out.splitlines()[0] == "row,label,probability,p(=1+1),p(tit)"


WRITTEN = {
    "id": ["007", " 012345678901234567", "9007199254740993", "-1.50", ""],
    "flag": ["TRUE", "1.0", "NA", "=1+1", "2024-01-31"],
    "label": ["a", "b", "1.5", "", "a"],
    "row": ["x1", "x2", "x3", "x4", "x5"],
    "p(a)": ["0", "1e2", "inf", "?", "x"],
    "x": ["0.10", "0", "1", "8", "9"],
}


@pytest.fixture
def letters(engram, tmp_path):
    """A model of letters by a number, which does without all other columns of `WRITTEN`."""
    names = ["id", "flag", "row", "p(a)"]
    rows = "".join(f"{n},1,x,1,1,{'ab'[n > 4]}\n" for n in range(10))
    (tmp_path / "letters.csv").write_text("x,id,flag,row,p(a),label\n" + rows)
    said = engram("learn", "l.engram", "letters.csv", "--label", "label", "--without", ",".join(names))
    assert said.code == 0


def test_kept_columns_are_what_the_file_has_beside_all_answers(engram, letters, tmp_path):
    with (tmp_path / "new.csv").open("w", newline="") as file:
        csv.writer(file).writerows([list(WRITTEN), *zip(*WRITTEN.values())])
    called = {name: f"kept {name}" if name in ("label", "row", "p(a)") else name for name in WRITTEN}
    rows = engram("predict", "l.engram", "new.csv", "--keep", ",".join(WRITTEN), "--json", "--out", "a.csv").json[
        "rows"
    ]
    assert list(rows[0]) == ["row", *called.values(), "label", "probability", "p(a)", "p(b)"]
    for name, written in WRITTEN.items():
        assert [row[called[name]] for row in rows] == written
    assert [row["row"] for row in rows] == [1, 2, 3, 4, 5]
    assert [row["label"] for row in rows] == ["a", "a", "a", "b", "b"]
    assert rows[0]["p(a)"] == rows[0]["probability"] > 0.5
    with (tmp_path / "a.csv").open(newline="") as file:
        answers = list(csv.DictReader(file))
    for name, written in WRITTEN.items():
        assert [row[called[name]] for row in answers] == ["'=1+1" if cell == "=1+1" else cell for cell in written]
    (tmp_path / "one.csv").write_text("x,label,kept label\n0,b,c\n")
    row = engram("predict", "l.engram", "one.csv", "--keep", "label,kept label", "--json").json["rows"][0]
    assert (row["label"], row["kept label"], row["kept kept label"]) == ("a", "b", "c")


def test_kept_columns_of_parquet_are_its_values(engram, letters, tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    moment = pa.array([1_000_000_001, None], pa.timestamp("ns"))
    columns = {"x": [0, 9], "id": [2**53 + 1, None], "flag": [True, False], "row": [" 007", "NA"], "p(a)": moment}
    parquet.write_table(pa.table(columns), tmp_path / "new.parquet")
    said = engram("predict", "l.engram", "new.parquet", "--keep", "id,flag,row,p(a)", "--json")
    one, other = said.json["rows"]
    kept = ("id", "flag", "kept row", "kept p(a)")
    assert [one[name] for name in kept] == [2**53 + 1, True, " 007", "1970-01-01 00:00:01.000000001"]
    assert [other[name] for name in kept] == [None, False, "NA", None]
    assert (one["label"], other["label"]) == ("a", "b")


def test_columns_are_matched_by_name_and_labels_may_be_absent(engram, birds, tmp_path):
    rows = list(csv.DictReader(io.StringIO((tmp_path / "all.csv").read_text())))
    turned = "colour,width,length\n" + "".join(f"{r['colour']},{r['width']},{r['length']}\n" for r in rows)
    (tmp_path / "turned.csv").write_text(turned)
    one, other = (engram("predict", "birds.engram", name, "--json").json["rows"] for name in ("all.csv", "turned.csv"))
    assert one == other


def test_a_test_says_what_was_forgotten_and_what_flipped(engram, birds):
    first = engram("test", "birds.engram", "all.csv", "--json").json
    assert first["never_learned"] == ["robin"]
    assert first["accuracy"] == pytest.approx(16 / 24)
    assert first["negative_flips"] is None
    engram("learn", "birds.engram", "week2.csv")
    second = engram("test", "birds.engram", "all.csv", "--json").json
    assert second["accuracy"] == 1.0
    assert second["negative_flips"] == []
    assert second["positive_flips"] == [f"line {n}" for n in range(18, 26)]
    assert second["sessions"][0]["then"] == second["sessions"][0]["now"] == 1.0
    assert second["sessions"][1]["then"] is None
    text = engram("test", "birds.engram", "all.csv").out
    assert "birds.engram on all.csv: 1.000 of 24 rows are right" in text
    assert "since the last session 0 of 24 rows that were right are wrong, and 8 that were wrong are right" in " ".join(
        text.split()
    )


def test_a_row_that_was_right_and_is_wrong_is_named(engram, birds, tmp_path):
    (tmp_path / "swapped.csv").write_text(HEADER + FINCH.replace("finch", "tit") * 5)
    engram("learn", "birds.engram", "swapped.csv")
    found = engram("test", "birds.engram", "week1.csv", "--json").json
    assert "line 2" in found["negative_flips"]


def test_inspecting(engram, birds):
    about = engram("inspect", "birds.engram", "--json").json
    assert [one["file"] for one in about["sessions"]] == ["week1.csv"]
    assert about["classes"] == [{"label": "finch", "rows": 8}, {"label": "tit", "rows": 8}]
    assert about["columns"][2] == {"name": "colour", "kind": "text", "categories": 2}
    assert about["bytes"] == birds.stat().st_size
    text = engram("inspect", "birds.engram").out
    assert "birds.engram: 2 classes of 16 rows" in text
    assert "no session can be taken back" in text


def test_undoing_and_forgetting(engram, birds):
    before = engram("predict", "birds.engram", "all.csv").out
    engram("learn", "birds.engram", "week2.csv")
    assert engram("predict", "birds.engram", "all.csv").out != before
    assert engram("undo", "birds.engram").out.startswith("birds.engram: took back 'learn' of 16 rows; now 2 classes")
    assert engram("predict", "birds.engram", "all.csv").out == before
    engram("learn", "birds.engram", "week2.csv")
    said = engram("forget", "birds.engram", "week2.csv")
    assert said.out == "birds.engram: forgot 16 rows of week2.csv, gone: robin; now 2 classes of 16 rows\n"
    assert engram("predict", "birds.engram", "all.csv").out == before


def test_images(engram, tmp_path):
    for label, grey in (("dark", 30), ("light", 200)):
        (tmp_path / "photos" / label).mkdir(parents=True)
        for number in range(6):
            Image.new("L", (9, 9), grey + number).save(tmp_path / "photos" / label / f"{number}.png")
    assert engram("learn", "p.engram", "photos", "--image-size", "4", "--learner", "ridge").code == 0
    answers = engram("predict", "p.engram", "photos/dark", "--json").json["rows"]
    assert [row["label"] for row in answers] == ["dark"] * 6
    assert answers[0]["row"] == "0.png"
    assert engram("inspect", "p.engram", "--json").json["shape"] == [1, 4, 4]


def test_arrays(engram, tmp_path):
    x = np.vstack([np.eye(4), 5 + np.eye(4)])
    np.savez(tmp_path / "a.npz", x=x, y=[7] * 4 + [9] * 4)
    engram("learn", "a.engram", "a.npz")
    assert [row["label"] for row in engram("predict", "a.engram", "a.npz", "--json").json["rows"]] == [7] * 4 + [9] * 4
    np.savez(tmp_path / "wider.npz", x=np.zeros((2, 5)), y=[7, 9])
    said = engram("learn", "a.engram", "wider.npz")
    assert said.code == 2
    assert "wider.npz" in said.err


LEARNING = [
    ("", "new.csv is empty"),
    (HEADER, "has a header and no rows"),
    ("length,width,colour\n1,2,red\n", "no column in new.csv called 'species'"),
    ("length,width,colour,specis\n1,2,red,finch\n", "did you mean 'specis'?"),
    ("length,width,colour,age,species\n1,2,red,3,finch\n", "has 'age' as well"),
    ("length,colour,species\n1,red,finch\n", "lacks 'width'"),
    (
        "length,width,colour,species\nlong,2,red,finch\n",
        "held numbers before and holds 'long' in line 2",
    ),
    ("length,width,colour,species\ninf,2,red,finch\n", "column 'length' holds inf in line 2"),
    ("length,width,colour,species\n1e39,2,red,finch\n", "column 'length' has inf or too large a number"),
    ("length,width,colour,species\n1,2,red,1.5\n", "label 'species' holds 1.5 in line 2"),
    ("length,width,colour,species\n1,2,red,7\n", "labels were text"),
    ("length,width,colour,species\n1,2,red,\n", "label 'species' is empty in line 2"),
    (HEADER + "".join(f"1,2,red,bird {n}\n" for n in range(60_000)), "60,002 different labels"),
]


@pytest.mark.parametrize("content, sentence", LEARNING, ids=[sentence for _, sentence in LEARNING])
def test_what_cannot_be_learned_leaves_the_model_as_it_was(engram, birds, tmp_path, content, sentence):
    before = birds.read_bytes()
    (tmp_path / "new.csv").write_text(content)
    said = engram("learn", "birds.engram", "new.csv")
    assert said.code == 2
    assert said.err.count("\n") == 1
    assert sentence in said.err
    assert "new.csv" in said.err
    assert birds.read_bytes() == before


def test_dates_and_names_are_to_be_left_out(engram, tmp_path):
    rows = "".join(f"bird {n},2024-01-{n:02},{n},{'finch' if n < 15 else 'tit'}\n" for n in range(1, 29))
    (tmp_path / "d.csv").write_text("name,day,length,species\n" + rows)
    assert "column 'day' holds dates" in engram("learn", "d.engram", "d.csv", "--label", "species").err
    said = engram("learn", "d.engram", "d.csv", "--label", "species", "--without", "day")
    assert "column 'name' has 28 texts in 28 rows" in said.err
    assert "leave it out (--without)" in said.err
    assert engram("learn", "d.engram", "d.csv", "--label", "species", "--without", "day,name").code == 0
    rows = engram("predict", "d.engram", "d.csv", "--keep", "name,day", "--json").json["rows"]
    assert (rows[0]["name"], rows[0]["day"][:10], rows[0]["label"]) == ("bird 1", "2024-01-01", "finch")


def test_what_is_in_columns_that_are_left_out_does_not_matter(engram, tmp_path):
    (tmp_path / "week1.csv").write_text("x;price;size;y\n" + "".join(f"{n};1,5;inf;{'ab'[n > 4]}\n" for n in range(10)))
    without = ("--label", "y", "--without", "price,size")
    assert "decimal comma" in engram("learn", "m.engram", "week1.csv", "--label", "y", "--without", "size").err
    assert engram("learn", "m.engram", "week1.csv", "week1.csv", *without).code == 0
    row = engram("predict", "m.engram", "week1.csv", "--keep", "price", "--json").json["rows"][0]
    assert (row["price"], row["label"]) == ("1,5", "a")
    (tmp_path / "new.csv").write_text("x;price;size;note\n9;;1;2,5\n")
    row = engram("predict", "m.engram", "new.csv", "--keep", "note", "--json").json["rows"][0]
    assert (row["note"], row["label"]) == ("2,5", "b")


def test_nor_does_it_in_parquet(engram, tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({"x": range(10), "l": [[n] for n in range(10)], "y": ["a"] * 5 + ["b"] * 5})
    parquet.write_table(table, tmp_path / "week1.parquet")
    assert "leave the column out" in engram("learn", "m.engram", "week1.parquet", "--label", "y").err
    said = engram("learn", "m.engram", "week1.parquet", "week1.parquet", "--label", "y", "--without", "l")
    assert said.code == 0
    assert engram("test", "m.engram", "week1.parquet", "--json").json["accuracy"] == 1.0


MISTAKES = [
    (("learn", "no.engram", "week1.csv"), "week1.csv has no labels; name their column (--label)"),
    (("learn", "no.engram", "week1.csv", "--label", "specie"), "did you mean 'species'?"),
    (("learn", "no.engram", "nothing.csv", "--label", "y"), "there is no file nothing.csv"),
    (("learn", "no.engram", "week1.csv", "--label", "species", "--learner", "rigde"), "did you mean 'ridge'?"),
    (("learn", "no.engram", "week1.csv", "--label", "species", "--set", "strength=1,2"), "has several values"),
    (("learn", "no.engram", "week1.csv", "--label", "species", "--image-size", "big"), "is no size of images"),
    (("learn", "no.engram", "week1.csv", "--label", "species", "--without", "lenth"), "did you mean 'length'?"),
    (("learn", "no.engram", "week1.csv", "--label", "species", "--memory", "much"), "is not a number of bytes"),
    (("learn", "birds.engram", "week2.csv", "--learner", "ridge"), "has begun already and keeps its learner"),
    (("learn", "birds.engram", "week2.csv", "--label", "colour"), "is the column 'species'"),
    (("predict", "no.engram", "week1.csv"), "there is no model no.engram; 'engram learn no.engram"),
    (("predict", "birds.engram", "week1.csv", "--keep", "legth"), "did you mean 'length'?"),
    (("predict", "birds.engram", "week1.csv", "--unknown-below", "2"), "invalid value for '--unknown-below'"),
    (("predict", "birds.engram", "week1.csv", "--out", "week1.csv/a.csv"), "--out 'week1.csv/a.csv' cannot be written"),
    (("undo", "birds.engram"), "there is no session to undo"),
    (("forget", "birds.engram", "week2.csv"), "no row with the label 'robin' was learned"),
    (("inspect", "week1.csv"), "it was not used; give a file that 'engram learn' made"),
    (("test", "birds.engram", "birds.engram"), "birds.engram is nothing that can be read as samples"),
]


@pytest.mark.parametrize("words, sentence", MISTAKES, ids=[" ".join(words) for words, _ in MISTAKES])
def test_a_mistake_is_one_sentence(engram, birds, words, sentence):
    before = birds.read_bytes()
    said = engram(*words)
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert sentence in said.err
    assert birds.read_bytes() == before


def test_a_damaged_model_and_one_of_a_newer_version(engram, birds, monkeypatch):
    whole = birds.read_bytes()
    for content in (whole[:-5], whole[:100], b"", whole[:200] + bytes([whole[200] ^ 1]) + whole[201:]):
        birds.write_bytes(content)
        said = engram("learn", "birds.engram", "week2.csv")
        assert (said.code, said.err.count("\n")) == (2, 1)
        made = "" if content else "give a file that 'engram learn' made; if it was one, "
        assert f"it was not used; {made}restore birds.engram from a copy" in said.err
        assert birds.read_bytes() == content
    birds.write_bytes(whole)
    monkeypatch.setattr("engram.estimator.model_file.FORMAT", 0)
    said = engram("predict", "birds.engram", "week1.csv")
    assert said.code == 2
    assert "of a newer Engram; update Engram" in said.err


def test_one_row_and_one_class(engram, birds, tmp_path):
    (tmp_path / "one.csv").write_text("x,kind\n1,ash\n")
    said = engram("learn", "one.engram", "one.csv", "--label", "kind")
    assert said.code == 0
    assert engram("predict", "one.engram", "one.csv", "--json").json["rows"][0]["label"] == "ash"
    (tmp_path / "many.csv").write_text("x,kind\n" + "".join(f"{n},tree {n}\n" for n in range(100_000)))
    said = engram("learn", "many.engram", "many.csv", "--label", "kind")
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "100,000 different labels" in said.err
    assert not (tmp_path / "many.engram").exists()
