"""CSV files as people have them: what is read, and one sentence that names the line for everything else."""

from __future__ import annotations

import time

import numpy as np
import pytest

from engram.errors import BadData, DataUnavailable, TooLarge, UnknownName
from engram.readers import read

WEEK = "length,colour,day,species\n3.5,red,2024-01-31,finch\n,green,,tit\n1e2,NA,2024-02-01 10:30,finch\n"


@pytest.fixture
def of(tmp_path):
    def of(content, *, name="week1.csv", **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read(path, **{"labelled": False, **options})

    return of


def test_kinds_values_and_what_is_missing(of):
    table = of(WEEK, label="species", labelled=True)
    assert table.kinds == {"length": "number", "colour": "text", "day": "date"}
    np.testing.assert_array_equal(table.columns["length"].values, [3.5, np.nan, 100])
    assert table.columns["colour"].values.tolist() == ["red", "green", None]
    assert table.columns["day"].values.astype(str).tolist() == [
        "2024-01-31T00:00:00.000000", "NaT", "2024-02-01T10:30:00.000000"]  # fmt: skip
    assert [c.missing().tolist() for c in table.columns.values()] == [
        [False, True, False], [False, False, True], [False, True, False]]  # fmt: skip
    assert table.labels.tolist() == ["finch", "tit", "finch"]
    assert len(table) == 3


@pytest.mark.parametrize(
    "text",
    [
        "a;b\r\n1;x\r\n2;y\r\n",
        "\ufeffa,b\n1,x\n2,y\n",
        "a\tb\n1\tx\n2\ty",
        '"a","b"\n"1","x"\n\n"2","y"\n',
        " a , b \n1, x\n2,y \n",
        "a|b\n1|x\n2|y\n",
    ],
    ids=["semicolons and CRLF", "BOM", "tabs", "quotes and a blank line", "spaces", "bars"],
)
def test_ways_to_write_the_same_table(of, text):
    table = of(text)
    assert table.columns["a"].values.tolist() == [1, 2]
    assert table.columns["b"].values.tolist() == ["x", "y"]


def test_a_blank_line_among_rows_of_one_cell_is_a_missing_value(of):
    table = of("\n\na\n\n1\n\n\n2\n\n\n")
    np.testing.assert_array_equal(table.columns["a"].values, [np.nan, 1, np.nan, np.nan, 2])
    assert [table.place(row) for row in range(5)] == ["line 4", "line 5", "line 6", "line 7", "line 8"]
    with pytest.raises(BadData, match="column 'a' holds inf in line 4"):
        of("a\n1\n\ninf\n")
    with pytest.raises(BadData, match="has 2 cells in line 4 and 1 in its header"):
        of("a\n1\n\n1,2\n")
    with pytest.raises(BadData, match="has a header and no rows"):
        of("a\n\n\n")
    blocks = of("a\n" + "1\n" * 511 + "\r\n" * 600 + "2\n").columns["a"].values
    assert (len(blocks), np.isnan(blocks).sum()) == (1112, 600)
    with pytest.warns(UserWarning, match="first column of .* has no name"):
        assert len(of(",a\n0,1\n\n1,2\n")) == 2  # whose rows have two cells


def test_a_quoted_cell_may_hold_separators_and_lines(of):
    table = of('a,b\n1,"x, ""y""\nz"\n2,w\n')
    assert table.columns["b"].values.tolist() == ['x, "y"\nz', "w"]
    assert table.place(1) == "line 4"


def test_text_after_many_numbers_makes_the_whole_column_text(of):
    numbers = "\n".join(str(n % 7) for n in range(3000))
    table = of(f"a\n{numbers}\nx\ny\nz\n")
    assert table.columns["a"].values[:3].tolist() == ["0", "1", "2"]
    assert table.columns["a"].values[-1] == "z"


def test_a_stray_word_among_numbers_is_said(of):
    rows = "\n".join(map(str, range(1000)))
    with pytest.warns(UserWarning, match="column 'a' is read as text because of 'oops' in line 1002"):
        assert of(f"a\n{rows}\noops\n").kinds == {"a": "text"}


def test_truth_is_a_number_and_digits_with_underscores_are_text(of):
    table = of("a,b\ntrue,1_000\nFalse,2\n,3\n")
    np.testing.assert_array_equal(table.columns["a"].values, [1, 0, np.nan])
    assert table.columns["b"].values.tolist() == ["1_000", "2", "3"]


def test_kinds_of_an_earlier_file_hold(of):
    assert of("a\n7\n8\n", kinds={"a": "text"}).columns["a"].values.tolist() == ["7", "8"]
    assert of("a\n2024-01-01\n", kinds={"a": "date"}).kinds == {"a": "date"}
    assert of("a,b\n,1\n", kinds={"a": "date"}).columns["a"].missing().all()
    with pytest.raises(BadData, match=r"column 'a' held numbers before and holds 'x' in line 3"):
        of("a\n1\nx\n", kinds={"a": "number"})
    with pytest.raises(BadData, match="held dates as 2024-01-31 before and holds 'soon' in line 2"):
        of("a\nsoon\n", kinds={"a": "date"})


@pytest.mark.parametrize(
    "cells, labels",
    [
        (["1", "2", "10"], [1, 2, 10]),
        (["1.0", "2.0"], [1, 2]),
        (["007", "7"], ["007", "7"]),
        (["a", "1"], ["a", "1"]),
        (["None", "NA"], ["None", "NA"]),
        (["a", ""], None),
        (["-3", "4"], [-3, 4]),
    ],
)
def test_labels_are_whole_numbers_or_text(of, cells, labels):
    text = "x,y\n" + "".join(f"1,{cell}\n" for cell in cells)
    if labels is None:
        with pytest.raises(BadData, match="label 'y' is empty in line 3"):
            of(text, label="y", labelled=True)
    else:
        assert of(text, label="y", labelled=True).labels.tolist() == labels


def test_row_numbers_of_pandas_are_left_out(of):
    with pytest.warns(UserWarning, match="first column of .* has no name"):
        table = of(",a\n0,5\n1,6\n")
    assert table.names == ("a",)


def test_columns_that_are_called_by_numbers(of):
    assert of("0,1,2\n5,6,7\n").names == ("0", "1", "2")


def test_dates_in_an_order_of_their_own_are_said(of):
    with pytest.warns(UserWarning, match="dates are understood as 2024-01-31"):
        assert of("d\n31.01.2024\n1.2.2024\n").kinds == {"d": "text"}


MISTAKES = [
    (b"", "is empty; give a line with the columns' names"),
    (b"\n\n", "is empty"),
    (b"a,b\n", "has a header and no rows"),
    (b"a,b\n1,2\n1,2,3\n", "has 3 cells in line 3 and 2 in its header"),
    (b"a,b\n1,2\n\n1\n", "has 1 cells in line 4 and 2 in its header"),
    (b"a,a\n1,2\n", "has two columns called 'a'"),
    (b"a,,b\n1,2,3\n", "column 2 has no name"),
    (b"5.1,3.5,setosa\n4.9,3.0,setosa\n", "holds '5.1', which is no name"),
    (b"0,0,7\n0,1,2\n", "holds '0', which is no name"),
    (b"a\n1\ninf\n", "column 'a' holds inf in line 3"),
    (b"a\n1\n-1e999\n", "column 'a' holds -inf in line 3"),
    (b"a;b\n1,5;2\n", "numbers with a decimal comma such as '1,5'"),
    ("a,b\n1,x\n2,ä\n".encode("latin1"), "is not UTF-8 \\(line 3\\)"),
    ("a,b\n1,2\n".encode("utf-16"), "is UTF-16 and not CSV"),
    (b"PK\x03\x04...", "is a zip archive or spreadsheet and not CSV"),
    (b'a,b\n1,"x\n', "cannot be read as CSV in line 2"),
    (b'a,b\n1,"x"y\n', "cannot be read as CSV in line 2"),
    (b"a\n" + b"x" * 200_000 + b"\n", "field larger than field limit"),
]


@pytest.mark.parametrize("content, sentence", MISTAKES, ids=[sentence for _, sentence in MISTAKES])
def test_mistakes_name_the_file_and_the_line(of, content, sentence):
    with pytest.raises(BadData, match=sentence) as said:
        of(content)
    assert "week1.csv" in str(said.value)


def test_labels_that_cannot_be_used(of):
    with pytest.raises(UnknownName, match=r"no column in .*week1.csv called 'specie'; did you mean 'species'?"):
        of(WEEK, label="specie", labelled=True)
    with pytest.raises(BadData, match=r"label 'y' holds 1.5 in line 3; labels must be whole numbers or text"):
        of("x,y\n1,1\n1,1.5\n", label="y", labelled=True)
    with pytest.raises(BadData, match="no other column"):
        of("y\n1\n", label="y", labelled=True)
    with pytest.raises(BadData, match="has no labels; name their column"):
        of(WEEK, labelled=True)
    assert of("x\n1\n", label="y", labelled=False).labels is None


def test_files_that_are_not_there_or_nothing_to_read(of, tmp_path):
    with pytest.raises(DataUnavailable, match="there is no file no.csv"):
        read("no.csv")
    with pytest.raises(DataUnavailable, match="week1.xlsx is nothing that can be read"):
        of("a\n1\n", name="week1.xlsx")


def test_what_does_not_fit_is_refused_before_it_is_read(of, monkeypatch):
    monkeypatch.setenv("ENGRAM_MAX_BYTES", "1000")
    with pytest.raises(TooLarge, match="split it into several files"):
        of("a,b\n" + "1.25,2.25\n" * 5000)


def test_numbers_are_read_in_a_small_multiple_of_the_time_that_splitting_takes(of):
    """About 2.5 million numbers a second where this was written: 100,000 rows of 100 columns in four seconds."""
    text = ",".join(f"c{n}" for n in range(100)) + "\n" + (",".join(["0.123456"] * 100) + "\n") * 2000
    began = time.process_time()
    assert len(of(text)) == 2000
    middle = time.process_time()
    for line in text.splitlines()[1:]:
        [float(cell) for cell in line.split(",")]
    assert middle - began < 10 * (time.process_time() - middle)


def test_odd_space_around_numbers_is_taken_off(of):
    assert of("a,b\n\x1c0012,1\n3,2\n").columns["a"].values.tolist() == [12, 3]


def test_lines_that_all_end_twice_have_no_missing_values_between_them(tmp_path):
    """As Python's csv writes them on Windows into a file that was opened without newline=''."""
    (tmp_path / "one.csv").write_bytes(b"v\r\r\n1\r\r\n2\r\r\n3\r\r\n")
    assert read(tmp_path / "one.csv", labelled=False).columns["v"].values.tolist() == [1, 2, 3]
