"""Columns as numbers, in a way that the first sheet decides: streams of tables are made so.

A missing number is the first sheet's median. Text is a column of 0 and 1 for each text that the first sheet has; a text
that it has not is none of them. Dates are refused: what of them matters, nobody can know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from engram.errors import BadData
from engram.readers.sheet import DATE, NUMBER, Field, Sheet

MOST_TEXTS = 1000
LOST = 0.01  # share of a column's deviation, of which what float32 leaves out is seen
ROUNDED = 1e-12  # of a column's largest number: deviations below are those of float64's own rounding


@dataclass(frozen=True)
class Encoding:
    """For each column its median, or its texts in sorted order."""

    columns: Mapping[str, float | tuple[str, ...]]

    @staticmethod
    def of(sheet: Sheet) -> Encoding:
        return Encoding(
            {name: _decided(field, f"{sheet.where}: column '{name}'") for name, field in sheet.columns.items()}
        )

    def __call__(self, sheet: Sheet) -> np.ndarray:
        """The rows as float32, in the order of the first sheet's columns, which all have to be there."""
        return self.exact(sheet).astype(np.float32)

    def exact(self, sheet: Sheet) -> np.ndarray:
        """The rows before they are rounded to float32, in which they have room."""
        require_names(sheet, tuple(self.columns))
        parts = [_encoded(sheet.columns[name], decided) for name, decided in self.columns.items()]
        x = np.concatenate(parts, axis=1)
        with np.errstate(over="ignore"):
            wrong = ~np.isfinite(x.astype(np.float32)).all(axis=1)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise BadData(f"{sheet.where} holds a number beyond float32 in {sheet.place(row)}; scale its column")
        return x


def lossy(x: np.ndarray) -> np.ndarray:
    """Of which columns float32 loses a visible part of what varies. Constant ones are none of them, nor those that vary
    in the last digits of float64 alone, as sums do that are always 1."""
    found = np.zeros(x.shape[1], dtype=bool)
    if np.can_cast(x.dtype, np.float32):
        return found
    largest, deviation = np.abs(x).max(axis=0), x.std(axis=0, dtype=float)
    near = np.flatnonzero((deviation < 1e-4 * largest) & (deviation > ROUNDED * largest))  # none of all others
    if len(near):
        exact = x[:, near].astype(float)
        found[near] = (exact - exact.astype(np.float32)).std(axis=0) > LOST * deviation[near]
    return found


def require_names(sheet: Sheet, names: tuple[str, ...]) -> None:
    """Refuse columns that earlier files had not, and those that are not there any more."""
    missing = [name for name in names if name not in sheet.columns]
    more = [name for name in sheet.names if name not in names]
    if missing or more:
        words = [f"lacks {_listed(missing)}"] * bool(missing) + [f"has {_listed(more)} more"] * bool(more)
        raise BadData(f"{sheet.where} {' and '.join(words)}; give the columns of the first file: {_listed(names)}")


def _listed(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} others" if len(names) > 8 else "")


def _decided(field: Field, where: str) -> float | tuple[str, ...]:
    if field.kind == DATE:
        raise BadData(f"{where} holds dates; make numbers of them or leave the column out")
    there = field.values[~field.missing()]
    if field.kind == NUMBER:
        return float(np.median(there)) if len(there) else 0.0
    texts = tuple(sorted(set(there)))
    if len(texts) > MOST_TEXTS:
        raise BadData(f"{where} has {len(texts)} different texts, more than {MOST_TEXTS}; leave it out")
    return texts


def _encoded(field: Field, decided: float | tuple[str, ...]) -> np.ndarray:
    if isinstance(decided, float):
        return np.where(field.missing(), decided, field.values)[:, None]
    places = {text: number for number, text in enumerate(decided)}
    found = np.array([places.get(text, -1) for text in field.values])
    return (found[:, None] == np.arange(len(decided))).astype(np.float32)
