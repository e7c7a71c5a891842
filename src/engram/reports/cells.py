"""Tables of content as rows of text: in full for a page, brief for a terminal, a column a number for a CSV file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from engram.reports.content import Column, Number, Table, TableRow
from engram.reports.csv_text import csv_text
from engram.reports.tables import plus_minus

Texts = list[list[str]]
GAP = 2  # characters between two columns of a terminal


def full(table: Table) -> Texts:
    """The header and every row. In full a metric has three columns, but one where nothing was published for it."""
    return _rows(table, ["full" if table.shown == "full" else "one"] * len(table.columns))


def brief(table: Table) -> Texts:
    """For a terminal: the first metric in full, the others as published / ours."""
    if table.shown != "full":
        return full(table)
    return _rows(table, ["full", *["one"] * (len(table.columns) - 1)])


def fitting(texts: Texts, names: int, width: int) -> list[Texts]:
    """A table that is wider than so many characters as several, each with the first columns, which have names.

    >>> fitting([["", "A", "B", "C"], ["x", "0.71", "0.82", "0.93"]], 1, 14)
    [[['', 'A', 'B'], ['x', '0.71', '0.82']], [['', 'C'], ['x', '0.93']]]
    """
    sizes = [max(map(len, column)) + GAP for column in zip(*texts, strict=True)]
    parts: list[list[int]] = [[]]
    room = width - sum(sizes[:names])
    for place in range(names, len(sizes)):
        if parts[-1] and sum(sizes[k] for k in parts[-1]) + sizes[place] > room + GAP:
            parts.append([])
        parts[-1].append(place)
    return [[[row[k] for k in (*range(names), *part)] for row in texts] for part in parts]


def _rows(table: Table, ways: Sequence[str]) -> Texts:
    places = range(len(table.columns))
    header = [*table.names, *(title for place in places for title in _titles(table, place, ways[place]))]
    return [
        header,
        *(
            [*row.names, *(text for place in places for text in _texts(table, place, row.numbers[place], ways[place]))]
            for row in table.rows
        ),
    ]


def _titles(table: Table, place: int, way: str) -> list[str]:
    title = table.columns[place].title
    return [f"{title} published", "ours", "Δ"] if way == "full" and table.published(place) else [title]


def _texts(table: Table, place: int, number: Number | None, way: str) -> list[str]:
    column, published = table.columns[place], table.published(place)
    if way == "full":
        texts = cells(column, number)
        return texts if published else texts[1:2]
    paired = table.shown == "pairs" or (table.shown == "full" and published)
    return [_pair(column, number) if paired else _ours(column, number, deviation=False)]


def cells(column: Column, number: Number | None) -> list[str]:
    """Published, ours, and the difference; a metric that nobody published is only ours."""
    ours = _ours(column, number)
    if number is None or number.published is None:
        return ["", ours, ""]
    difference = number.mean - number.published
    return [
        _text(column, number.published),
        ours,
        "" if math.isnan(difference) else _text(replace(column, signed=True), difference),
    ]


def _pair(column: Column, number: Number | None) -> str:
    if number is None:
        return ""
    published = "–" if number.published is None else _text(column, number.published)
    return f"{published} / {_ours(column, number, deviation=False)}"


def _ours(column: Column, number: Number | None, deviation: bool = True) -> str:
    if number is None:
        return ""
    if not number.n:
        return "failed"
    if math.isnan(number.mean):
        return "not defined"
    if column.signed or not deviation:
        return _text(column, number.mean)
    return plus_minus({"mean": column.scale * number.mean, "std": column.scale * number.std}, column.digits)


def _text(column: Column, value: float) -> str:
    return f"{column.scale * value:{'+' if column.signed else ''}.{column.digits}f}"


def csv_bytes(table: Table) -> bytes:
    """One column a number: for each metric what was published, mean and standard deviation; n is how many runs are in
    them, the others failed."""
    places = range(len(table.columns))
    kinds = [["published", "mean", "std"] if table.published(place) else ["mean", "std"] for place in places]
    header = [*table.names, *(f"{table.columns[place].metric}_{kind}" for place in places for kind in kinds[place])]
    return csv_text([[*header, "n"], *(_values(row, kinds) for row in table.rows)]).encode()


def _values(row: TableRow, kinds: Sequence[Sequence[str]]) -> list[str | float | None]:
    numbers = list(zip(row.numbers, kinds, strict=True))
    n = max((number.n for number in row.numbers if number is not None), default=0)
    return [*row.names, *(_rounded(getattr(number, kind, None)) for number, some in numbers for kind in some), n]


def _rounded(value: float | None) -> float | None:
    """Six digits say what there is to say, and of a whole number those before the point."""
    if value is None or not math.isfinite(value):
        return value
    short = float(f"{value:.6g}")
    return int(short) if short.is_integer() else short
