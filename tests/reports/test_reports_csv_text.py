from __future__ import annotations

import csv
import io

import pytest

from engram.reports.csv_text import csv_text


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_no_text_is_a_formula(start):
    (row,) = csv.reader(io.StringIO(csv_text([[f"{start}HYPERLINK(1)", "plain"]]), newline=""))
    assert row == [f"'{start}HYPERLINK(1)", "plain"]


def test_numbers_stay_numbers_to_the_last_bit():
    (row,) = csv.reader([csv_text([[-0.1, 1 / 3, -7, 10**20]])])
    assert row == ["-0.1", "0.3333333333333333", "-7", "100000000000000000000"]
    assert float(row[1]) == 1 / 3


def test_what_breaks_a_line_or_a_cell_is_quoted():
    text = csv_text([['a,"b"\nc', None]])
    assert list(csv.reader(text.splitlines(keepends=True))) == [['a,"b"\nc', ""]]
