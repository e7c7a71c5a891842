"""Pages made of content alone: what is in them, and what is said only once."""

from __future__ import annotations

import csv
from dataclasses import replace
from math import nan

import pytest

from engram.reports.cells import brief, csv_bytes, full
from engram.reports.content import Column, Number, Page, Section, Series, Table, TableRow, Verdict
from engram.reports.page import page_files, write_page

ACCURACY, FORGETTING = Column("average_accuracy", "A %", 1, 100), Column("forgetting", "F", 2)
TABLE = Table(
    ("method",),
    (ACCURACY, FORGETTING),
    (
        TableRow(("EWC",), (Number(0.97, 0.0141, 2, published=0.95), Number(0.25, 0.01, 2))),
        TableRow(("exemplars",), (Number(0.5, nan, 1), Number(nan, nan, 1))),
        TableRow(("SI",), (Number(nan, nan, 0, published=0.9), Number(nan, nan, 0))),
    ),
)
FIGURE = Series("strength", ACCURACY, {"EWC": {"1": Number(0.5), "10": Number(0.75)}})
SETTINGS = {
    "EWC": {"learner": "ewc", "widths": (10, 10), "strength": 5.0},
    "SI": {"learner": "si", "widths": (10, 10), "damping": 0.1},
}


def section(name: str = "table", **changes) -> Section:
    plain = Section(
        name=name,
        title=f"The {name}",
        about="",
        tables=(TABLE,),
        data=TABLE,
        verdicts=(Verdict("EWC: average accuracy ≥ 0.9", "held"),),
        notes=("SI failed.",),
        sources=("Zenke et al. 2017",),
        figure=FIGURE,
        settings=SETTINGS,
    )
    return replace(plain, **changes)


def page(*sections: Section, seeds=(0, 1)) -> Page:
    return Page("A title", "What it is.", "engram paper …", "paper", seeds, sections, "Take care.")


def text_of(*sections: Section, **more) -> str:
    return page_files(page(*sections, **more), "name")["name.md"].decode()


def test_what_is_written(tmp_path):
    whole, rows, figure = write_page(page(section()), tmp_path / "new", "name")
    text = whole.read_text()
    assert text == text_of(section())
    assert text.startswith("# A title\n")
    assert "Written by `engram paper …` (tier `paper`, seeds 0, 1;" in text
    assert "- EWC: average accuracy ≥ 0.9: **held**" in text
    assert "- SI failed." in text
    assert "`widths=10-10`" in text
    assert f"({figure.name})" in text
    assert [whole.name, rows.name, figure.name] == ["name.md", "name-table.csv", "name-table.png"]
    assert rows.read_bytes() == csv_bytes(TABLE)
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_a_part_has_a_page_of_another_name():
    assert list(page_files(page(section()), "name", "name-table")) == [
        "name-table.md",
        "name-table.csv",
        "name-table.png",
    ]


def test_a_page_says_where_deviations_are():
    pairs = section("other", tables=(replace(TABLE, shown="pairs"),))
    assert "seeds 0, 1; mean ± standard deviation)" in text_of(section())
    assert "seeds 0, 1; means; standard deviations are in the CSV files)" in text_of(pairs)
    assert "seeds 0, 1; means; standard deviations are beside them or in the CSV files)" in text_of(section(), pairs)


def test_one_seed_has_no_deviation():
    assert "seed 3, so there are no deviations)" in text_of(section(), seeds=(3,))


def test_the_table_of_a_page_and_of_a_terminal():
    assert full(TABLE) == [
        ["method", "A % published", "ours", "Δ", "F"],
        ["EWC", "95.0", "97.0 ± 1.4", "+2.0", "0.25 ± 0.01"],
        ["exemplars", "", "50.0", "", "not defined"],
        ["SI", "90.0", "failed", "", "failed"],
    ]
    swapped = replace(
        TABLE, columns=TABLE.columns[::-1], rows=tuple(replace(row, numbers=row.numbers[::-1]) for row in TABLE.rows)
    )
    assert brief(swapped) == [
        ["method", "F", "A %"],
        ["EWC", "0.25 ± 0.01", "95.0 / 97.0"],
        ["exemplars", "not defined", "– / 50.0"],
        ["SI", "failed", "90.0 / failed"],
    ]


@pytest.mark.parametrize(
    "shown, signed, cells",
    [("pairs", False, ["0.95 / 0.97", "– / 0.50", ""]), ("ours", True, ["+0.97", "+0.50", ""])],
)
def test_a_table_with_one_cell_a_number(shown, signed, cells):
    columns = tuple(Column(name, name, 2, signed=signed) for name in ("fc", "conv", "lwta"))
    row = TableRow(("d5-5a",), (Number(0.97, 0.1, 2, published=0.95), Number(0.5), None))
    table = Table(("",), columns, (row,), "a title", shown)
    assert full(table) == brief(table) == [["", "fc", "conv", "lwta"], ["d5-5a", *cells]]


def test_a_csv_file_has_one_column_a_number():
    rows = list(csv.DictReader(csv_bytes(TABLE).decode().splitlines()))
    assert rows[0] == {
        "method": "EWC",
        "average_accuracy_published": "0.95",
        "average_accuracy_mean": "0.97",
        "average_accuracy_std": "0.0141",
        "forgetting_mean": "0.25",
        "forgetting_std": "0.01",
        "n": "2",
    }
    numbers = [value for row in rows for name, value in row.items() if name != "method" and value]
    assert [float(value) for value in numbers]
    assert (rows[2]["average_accuracy_mean"], rows[2]["n"]) == ("", "0")


def test_settings_that_all_rows_share_are_listed_once_and_others_for_each_row():
    text = text_of(section(), section("other", figure=None, settings={"GEM": {"learner": "gem", "widths": (10, 10)}}))
    assert text.count("`widths=10-10`") == 1
    assert (
        "A row has those that its learner and its network know: `widths=10-10`, `strength=5.0`, `damping=0.1`." in text
    )
    assert "- **EWC**: `learner=ewc`\n- **SI**: `learner=si`\n" in text
    assert "- **GEM**: `learner=gem`\n" in text


def test_a_row_that_is_there_again_is_not_listed_again():
    text = text_of(section(), section("figure"))
    assert text.count("- **EWC**: ") == 1
    assert text.count("<details>") == 1
    other = {"EWC": {**SETTINGS["EWC"], "strength": 7.0}}
    assert text_of(section(), section("figure", settings=other)).count("- **EWC**: ") == 2


def test_a_picture_is_on_a_page_once():
    more = Series("strength", ACCURACY, {"EWC": {"1": Number(0.5), "10": Number(0.7)}})
    files = page_files(page(section(), section("again"), section("else", figure=more)), "name")
    assert [name for name in files if name.endswith(".png")] == ["name-table.png", "name-else.png"]
    text = files["name.md"].decode()
    assert text.count("](name-") == 2
    assert "Its figure is the one of “The table”." in text


def test_a_section_without_a_figure_has_no_picture():
    files = page_files(page(section(figure=None)), "name")
    assert list(files) == ["name.md", "name-table.csv"]
    assert "![" not in files["name.md"].decode()
