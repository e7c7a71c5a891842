"""Parquet and .npz files, and names in natural order."""

from __future__ import annotations

import datetime
import sys

import numpy as np
import pytest

from engram.errors import BadData, DataUnavailable
from engram.readers import natural, read

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def of(tmp_path):
    def of(columns, **options):
        path = tmp_path / "week1.parquet"
        parquet.write_table(pa.table(columns), path)
        return read(path, **{"labelled": False, **options})

    return of


def test_kinds_of_parquet(of):
    table = of(
        {
            "n": [1, None, 3],
            "f": [0.5, 1.5, None],
            "b": [True, False, None],
            "t": ["x", None, "z"],
            "c": pa.array(["u", "v", "u"]).dictionary_encode(),
            "d": [datetime.date(2024, 1, 31), None, datetime.date(2024, 2, 1)],
            "nothing": pa.nulls(3),
            "__index_level_0__": [0, 1, 2],
            "y": ["tit", "finch", "tit"],
        },
        label="y",
        labelled=True,
    )
    assert table.kinds == {
        "n": "number", "f": "number", "b": "number", "t": "text", "c": "text", "d": "date", "nothing": "number"
    }  # fmt: skip
    np.testing.assert_array_equal(table.columns["n"].values, [1, np.nan, 3])
    np.testing.assert_array_equal(table.columns["b"].values, [1, 0, np.nan])
    assert table.columns["t"].values.tolist() == ["x", None, "z"]
    assert str(table.columns["d"].values[0])[:10] == "2024-01-31"
    assert table.labels.tolist() == ["tit", "finch", "tit"]


def test_text_in_parquet_means_what_it_means_in_csv(of, tmp_path):
    words = [" red ", "NA", "?", "", "blue", "null"]
    columns = {"t": words, "c": pa.array(words).dictionary_encode(), "empty": ["", "NA", None, "?", " ", "null"]}
    labels = [" tit", "NA", "None", "?", "finch ", "null"]
    (tmp_path / "week1.csv").write_text(
        "t,c,empty,y\n" + "".join(f"{word},{word},{word and '?'},{label}\n" for word, label in zip(words, labels))
    )
    table = of({**columns, "y": labels}, label="y", labelled=True)
    same = read(tmp_path / "week1.csv", label="y")
    assert same.kinds == {"t": "text", "c": "text", "empty": "number"}
    assert table.kinds == {**same.kinds, "empty": "text"}  # which a parquet file says of a column without any
    for name in ("t", "c"):
        assert table.columns[name].values.tolist() == same.columns[name].values.tolist()
        assert table.columns[name].values.tolist() == ["red", None, None, None, "blue", None]
    assert table.columns["empty"].missing().all()
    assert table.labels.tolist() == same.labels.tolist() == ["tit", "NA", "None", "?", "finch", "null"]
    with pytest.raises(BadData, match="label 'y' is empty in row 1"):
        of({**columns, "y": [" ", *labels[1:]]}, label="y", labelled=True)


@pytest.mark.parametrize("kind", ["number", "text", "date"])
def test_text_in_parquet_of_which_all_is_missing_is_of_the_kind_it_was(of, kind):
    for values in (["", None], pa.array(["NA", "NA"]).dictionary_encode()):
        column = of({"t": values}, kinds={"t": kind}).columns["t"]
        assert column.kind == kind
        assert column.missing().all()


def test_what_parquet_may_not_hold(of, tmp_path):
    with pytest.raises(BadData, match="column 'l' holds list"):
        of({"l": [[1], [2]]})
    with pytest.raises(BadData, match="column 'f' holds inf in row 2"):
        of({"f": [1.0, float("inf")]})
    with pytest.raises(BadData, match="has 0 rows"):
        of({"f": pa.array([], pa.float64())})
    with pytest.raises(BadData, match="held values of kind number before and now text"):
        of({"f": ["a"]}, kinds={"f": "number"})
    with pytest.raises(BadData, match="label 'y' holds 0.5 in row 1"):
        of({"f": [1.0], "y": [0.5]}, label="y", labelled=True)


def test_a_damaged_parquet_file_is_named(of, tmp_path):
    of({"f": list(range(1000))})
    path = tmp_path / "week1.parquet"
    whole = path.read_bytes()
    for content in (b"", b"PAR1", whole[:-10], whole[: len(whole) // 2], b"\0" * len(whole)):
        path.write_bytes(content)
        with pytest.raises(BadData, match="week1.parquet is not a whole parquet file"):
            read(path, labelled=False)


def test_without_pyarrow_the_command_to_install_it_is_said(of, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setattr("pathlib.Path.is_file", lambda path: True)
    monkeypatch.setattr("os.path.exists", lambda path: True)
    with pytest.raises(DataUnavailable, match=r"pip install 'engram\[dataframes\]'"):
        read("week1.parquet")


def test_arrays(tmp_path):
    path = tmp_path / "week1.npz"
    np.savez(path, x=np.zeros((3, 4)), y=np.array(["a", "b", "a"]))
    table = read(path)
    assert table.x.shape == (3, 4)
    assert table.labels.tolist() == ["a", "b", "a"]
    np.savez(path, x=np.zeros((3, 8, 8), np.uint8))
    assert read(path, labelled=False).x.shape == (3, 1, 8, 8)
    with pytest.raises(BadData, match="has no labels; give them as y"):
        read(path)
    np.savez(path, x=np.zeros((3, 4)), y=np.array([0, 1]))
    with pytest.raises(BadData, match="x has 3 samples and y has 2 labels"):
        read(path)
    np.savez(path, z=np.zeros(3))
    with pytest.raises(BadData, match="holds z; it needs x and y, or x, each as .npy"):
        read(path)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(BadData, match="week1.npz is not a readable .npz file"):
        read(path)


def test_natural_order():
    names = ["s10.csv", "s2.csv", "S1.csv", "s02.csv", "x", "9"]
    assert sorted(names, key=natural) == ["9", "S1.csv", "s02.csv", "s2.csv", "s10.csv", "x"]


def test_what_parquet_holds_beyond_float_and_microseconds(of):
    table = of({"id": [2**60 + 1, 3], "t": pa.array([1_000_000_001, None], pa.timestamp("ns"))})
    assert table.columns["id"].values.tolist() == [2.0**60, 3.0]
    assert str(table.columns["t"].values[0]) == "1970-01-01T00:00:01.000000"
    with pytest.raises(BadData, match="label 'y' holds 1.15292e.18 in row 1; labels must be whole numbers"):
        of({"x": [1, 2], "y": [2**60, 3]}, label="y", labelled=True)


def test_text_in_parquet_that_is_none_is_said_with_its_column(of):
    broken = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.array([0, 2], np.int32)), pa.py_buffer(b"\xff\xfe")]
    )
    with pytest.raises(BadData, match="week1.parquet: column 't' cannot be read"):
        of({"t": broken})
