"""What every reader gives: rows with named columns, or samples of one shape, and perhaps a label each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from engram.errors import BadData, UnknownName

NUMBER, TEXT, DATE = "number", "text", "date"  # the kinds of columns
LABEL = "label"  # what a reader may be told of a column: it becomes numbers or text here
IDLE = "idle"  # and this of one that will be left out: nobody looks at what is in it
FOLDER = "folder"  # where the labels of images are
RowPlace = Callable[[int], str]  # where a row is, for people


class Field(NamedTuple):
    """Values of one kind: numbers as float64 (missing: nan), text as str (missing: None), dates as datetime64[us]
    (missing: NaT)."""

    kind: str
    values: np.ndarray

    def missing(self) -> np.ndarray:
        """Which values are not there."""
        if self.kind == TEXT:
            return np.array([value is None for value in self.values], bool)
        return np.asarray(np.isnan(self.values) if self.kind == NUMBER else np.isnat(self.values))


@dataclass(frozen=True)
class Sheet:
    """Rows of a file. Either there are `columns`, or `x`: (rows, features) or images (rows, channels, height, width).
    `labels` are int64 or text, None where the file has none, and `label` the name of their column."""

    where: str
    columns: Mapping[str, Field] = field(default_factory=dict)
    x: np.ndarray | None = None
    labels: np.ndarray | None = None
    label: str | None = None
    place: RowPlace = lambda row: f"row {row + 1}"

    def __len__(self) -> int:
        return len(self.x) if self.x is not None else len(next(iter(self.columns.values())).values)

    def key(self, row: int) -> int | str:
        """A row's number from 1, or an image's name."""
        return row + 1 if self.columns or self.label != FOLDER else self.place(row).removeprefix("the image ")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.columns)

    @property
    def kinds(self) -> dict[str, str]:
        return {name: column.kind for name, column in self.columns.items()}

    def rows(self) -> np.ndarray | dict[str, np.ndarray]:
        """The samples, or the values of each column by its name."""
        return self.x if self.x is not None else {name: column.values for name, column in self.columns.items()}

    def known_labels(self) -> np.ndarray:
        """The labels, where there have to be some."""
        if self.labels is None:
            way_out = "name their column (--label)" if self.columns else "give them as y, or one folder a class"
            raise BadData(f"{self.where} has no labels; {way_out}")
        return self.labels

    def without(self, names: Sequence[str]) -> Sheet:
        """Less these columns."""
        for name in names:
            one_of(name, self.names, self.where)
        kept = {name: column for name, column in self.columns.items() if name not in names}
        if names and not kept:
            raise BadData(f"{self.where} has no column left to learn from; leave fewer out")
        return replace(self, columns=kept)

    def take(self, rows: np.ndarray) -> Sheet:
        """Only these rows, in this order."""
        return replace(
            self,
            columns={name: Field(c.kind, c.values[rows]) for name, c in self.columns.items()},
            x=None if self.x is None else self.x[rows],
            labels=None if self.labels is None else self.labels[rows],
            place=lambda row: self.place(int(np.arange(len(self))[rows][row])),
        )


def one_of(name: str, names: tuple[str, ...], where: str) -> str:
    """The name of a column, which has to be there."""
    if name not in names:
        raise UnknownName(f"column in {where} called", name, names)
    return name


def split_label(sheet: Sheet, label: str | None, needed: bool, as_text: bool = False) -> Sheet:
    """The sheet with one of its columns as labels, `as_text` even if all are numbers. Where they are not `needed` the
    column may be absent, or hold what cannot be labels."""
    if label is None or (label not in sheet.columns and not needed):
        return sheet
    one_of(label, sheet.names, sheet.where)
    rest = {name: column for name, column in sheet.columns.items() if name != label}
    if not rest:
        raise BadData(f"{sheet.where} has the label '{label}' and no other column; give columns to learn from")
    labels = None
    try:
        labels = labels_of(sheet.columns[label], f"{sheet.where}: label '{label}'", sheet.place, as_text)
    except BadData:
        if needed:
            raise
    return replace(sheet, columns=rest, labels=labels, label=label)


def has_numbers_as_text(labels: np.ndarray | None) -> bool:
    """Whether some labels are numbers and yet text, as 7 beside A1: then other files' numbers are text too."""
    return labels is not None and labels.dtype.kind == "U" and any(map(_is_number, labels.tolist()))


def _is_number(text: str) -> bool:
    try:
        return float(text) is not None
    except ValueError:
        return False


def labels_of(column: Field, where: str, place: RowPlace, as_text: bool = False) -> np.ndarray:
    """Labels as whole numbers where all of them are, else or where that is asked for as text."""
    gaps = column.missing()
    if gaps.any():
        raise BadData(f"{where} is empty in {place(int(np.argmax(gaps)))}; give every row a label or leave it out")
    if column.kind == DATE:
        raise BadData(f"{where} holds dates such as {column.values[0]}; labels must be whole numbers or text")
    if column.kind == NUMBER:
        whole = _whole(column.values, where, place)
        return whole.astype(str) if as_text else whole
    if as_text or not all(map(_is_number, column.values)):
        return column.values.astype(str)
    numbers = np.array([float(value) for value in column.values])
    if any(str(int(n)) != v for n, v in zip(numbers, column.values) if float(n).is_integer() and "." not in v):
        return column.values.astype(str)  # as "007", which is a name
    return _whole(numbers, where, place)


def _whole(values: np.ndarray, where: str, place: RowPlace) -> np.ndarray:
    wrong = ~(np.abs(values) < 2**53) | (values != np.floor(values))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise BadData(f"{where} holds {values[row]:g} in {place(row)}; labels must be whole numbers or text")
    return values.astype(np.int64)


def refuse_infinite(values: np.ndarray, where: str, place: RowPlace) -> None:
    wrong = np.isinf(values)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise BadData(f"{where} holds {values[row]} in {place(row)}; give a finite number or leave it empty")
