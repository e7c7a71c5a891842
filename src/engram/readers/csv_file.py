"""Tables from CSV files: which columns hold numbers, dates or text is found out, or told by `kinds`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from engram import memory
from engram.errors import BadData
from engram.readers import cells, delimited
from engram.readers.sheet import DATE, IDLE, LABEL, NUMBER, TEXT, Field, RowPlace, Sheet, one_of, refuse_infinite

_NEARLY = 0.9  # of the texts of a column are numbers: then the others may be mistakes


class _Filling:
    """A column while its blocks come in. From the first cell on that is no number it is text; what came before then
    has to be read again, and it is `incomplete`."""

    def __init__(self, name: str, kind: str | None):
        self.name, self.kind, self.is_text = name, kind, kind in (TEXT, DATE, LABEL, IDLE)
        self.parts: list[np.ndarray] = []
        self.seen: dict[str, str | None] = {}
        self.incomplete = False

    def add(self, given: Sequence[str]) -> None:
        values = None if self.is_text else cells.numbers(given)
        if values is None:
            self.incomplete |= bool(self.parts) and not self.is_text
            self.is_text = True
            values = np.empty(len(given), object)
            values[:] = None if self.kind == IDLE else cells.texts(given, self.seen, self.kind == LABEL)
        self.parts.append(values)


def read(path: Path, where: str, kinds: Mapping[str, str]) -> Sheet:
    """A table of all columns; those in `kinds` are of that kind, or it is an error."""
    shape = delimited.layout(path, where)
    if shape.skipped:
        warnings.warn(
            f"the first column of {where} has no name: it is taken for row numbers and left out", stacklevel=2
        )
    filled, lines = _fill(path, where, shape, kinds)
    late = {column.name: TEXT for column in filled if column.incomplete}
    if late:
        filled, lines = _fill(path, where, shape, {**kinds, **late})

    def place(row: int) -> str:
        return f"line {lines[row]}"

    columns = {
        column.name: _finished(
            np.concatenate(column.parts), kinds.get(column.name), f"{where}: column '{column.name}'", place
        )
        for column in filled
    }
    return Sheet(where, columns, place=place)


def as_written(path: Path, where: str, names: Sequence[str]) -> dict[str, list[str]]:
    """The text of every cell of some columns."""
    shape = delimited.layout(path, where)
    places = {name: place + shape.skipped for place, name in enumerate(shape.names)}
    found: dict[str, list[str]] = {one_of(name, shape.names, where): [] for name in names}
    for block in delimited.blocks(path, where, shape):
        for name, written in found.items():
            written += [row[places[name]] for row in block.rows]
    return found


def _fill(
    path: Path, where: str, shape: delimited.Layout, kinds: Mapping[str, str]
) -> tuple[list[_Filling], np.ndarray]:
    """Every column, and the line of every row."""
    columns = [_Filling(name, kinds.get(name)) for name in shape.names]
    lines: list[np.ndarray] = []
    for block in delimited.blocks(path, where, shape):
        if not lines:
            _check_room(path, where, block.rows)
        lines.append(np.array(block.lines, np.int64))
        for column, given in zip(columns, list(zip(*block.rows))[shape.skipped :], strict=True):
            column.add(given)
    if not lines:
        raise BadData(f"{where} has a header and no rows; give at least one")
    return columns, np.concatenate(lines)


def _check_room(path: Path, where: str, rows: Sequence[Sequence[str]]) -> None:
    """What the whole file will take at least, by its first rows."""
    size, letters = path.stat().st_size, sum(len(cell) + 1 for row in rows for cell in row)
    needed = 8 * len(rows[0]) * len(rows) * max(1, size // letters)
    way_out = "split it into several files and learn one after another"
    memory.require(needed, f"{where}, a file of {memory.shown(size)},", way_out, memory.machine_bytes() // 2)


def _finished(values: np.ndarray, kind: str | None, where: str, place: RowPlace) -> Field:
    """The column of these values, of the kind that was told or that they are."""
    if values.dtype != object:
        refuse_infinite(values, where, place)
        return Field(NUMBER, values)
    if kind in (TEXT, LABEL, IDLE):
        return Field(TEXT, values)
    if kind == NUMBER:
        raise _changed(values, where, place, "numbers", lambda text: cells.number(text) is not None)
    moments = cells.dates(values)
    if moments is not None:
        return Field(DATE, moments)
    if kind == DATE:
        raise _changed(values, where, place, "dates as 2024-01-31", lambda text: cells.dates([text]) is not None)
    _say_doubts(values, where, place)
    return Field(TEXT, values)


def _changed(values: np.ndarray, where: str, place: RowPlace, expected: str, fits: Callable[[str], bool]) -> BadData:
    row = next(number for number, text in enumerate(values) if text is not None and not fits(text))
    return BadData(
        f"{where} held {expected} before and holds '{values[row]}' in {place(row)}; mend it or leave it empty"
    )


def _say_doubts(values: np.ndarray, where: str, place: RowPlace) -> None:
    """A word about text that was hardly meant as such."""
    different = {value for value in values if value is not None}
    if cells.has_decimal_comma(different):
        example = next(value for value in different if "," in value)
        raise BadData(f"{where} holds numbers with a decimal comma such as '{example}'; write them with a point")
    if cells.are_other_dates(different):
        warnings.warn(f"{where} is read as text; dates are understood as 2024-01-31", stacklevel=2)
    strange = {value for value in different if cells.number(value) is None}
    if 0 < len(strange) <= (1 - _NEARLY) * len(different):
        row = next(number for number, value in enumerate(values) if value in strange)
        warnings.warn(
            f"{where} is read as text because of '{values[row]}' in {place(row)}; most others are numbers", stacklevel=2
        )
