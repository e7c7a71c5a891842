"""Files of several sessions are read as the first one is."""

from __future__ import annotations

import pytest

from engram.advising import read_sessions


def test_the_first_file_decides_that_labels_are_text(tmp_path):
    paths = [str(tmp_path / name) for name in ("1.csv", "2.csv")]
    for path, label in zip(paths, ("A1", "7")):
        with open(path, "w") as file:
            file.write(f"size,kind\n1,7\n2,{label}\n")
    assert [sheet.known_labels().tolist() for sheet in read_sessions(paths, "kind")] == [["7", "A1"], ["7", "7"]]


def test_what_is_in_columns_that_are_left_out_does_not_matter(tmp_path):
    paths = [str(tmp_path / name) for name in ("1.csv", "2.csv")]
    for path in paths:
        with open(path, "w") as file:
            file.write("size;price;kind\n1;1,5;a\n2;2,5;b\n")
    assert [sheet.names for sheet in read_sessions(paths, "kind", ["price"])] == [("size",)] * 2


def test_sessions_with_rows_of_earlier_ones_are_named(tmp_path):
    paths = [str(tmp_path / name) for name in ("1.csv", "2.csv", "3.csv")]
    for path, rows in zip(paths, (range(20), range(20, 50), range(40))):
        with open(path, "w") as file:
            file.write("size,id,kind\n" + "".join(f"{n},{path}{n},{'ab'[n % 2]}\n" for n in rows))
    assert len(read_sessions(paths, "kind")) == 3
    with pytest.warns(UserWarning, match="20 of the 40 samples of .*3.csv are in .*1.csv too, so") as said:
        read_sessions(paths, "kind", ["id"])
    assert len(said) == 1
