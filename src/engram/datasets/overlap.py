"""Samples that are in two places, byte for byte: in the training set and in the test set, or in two files."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from engram.readers import Field, Sheet
from engram.readers.sheet import NUMBER, TEXT

LEAST = 5  # rows: fewer are chance, as the two equal flowers among the 150 of Iris
MANY = 0.01  # share of a file's rows that matters
REPEATED = 0.1  # where files repeat so many of their own rows, there are few different ones to have


class Shared(NamedTuple):
    """How many samples of a file are in an earlier one too."""

    number: int
    later: Sheet
    earlier: Sheet


def in_both(x_train: np.ndarray, x_test: np.ndarray) -> list[int]:
    """The rows of the test set whose samples are in the training set too."""
    return np.flatnonzero(np.isin(_digests(x_test), _digests(x_train))).tolist()


def in_earlier(sheets: Sequence[Sheet]) -> list[Shared]:
    """For each file that has many samples of earlier ones: of which it has the most, counting each where it came first.
    Labels do not matter, nor does the order of columns."""
    names = sheets[0].names
    if any(set(sheet.names) != set(names) for sheet in sheets):
        return []
    kind = np.result_type(*(sheet.x.dtype for sheet in sheets if sheet.x is not None), np.uint8)
    each = [
        _mixed([sheet.columns[name] for name in names])
        if sheet.x is None
        else _digests(sheet.x.astype(kind, copy=False))
        for sheet in sheets
    ]
    _, first, place = np.unique(np.concatenate(each), return_index=True, return_inverse=True)
    ends = np.cumsum([len(sheet) for sheet in sheets])
    came = np.split(np.searchsorted(ends, first[place], side="right"), ends[:-1])  # the file where a sample came first
    repeated = [1 - len(np.unique(own)) / len(own) for own in each]
    found = []
    for number, sheet in enumerate(sheets[1:], 1):
        counts = np.bincount(came[number], minlength=number)[:number]
        most = int(counts.argmax())
        if _is_no_chance(int(counts[most]), len(sheet), max(repeated[most], repeated[number])):
            found.append(Shared(int(counts[most]), sheet, sheets[most]))
    return found


def _is_no_chance(count: int, size: int, repeated: float) -> bool:
    """By chance files share about twice the share that they repeat of their own; this is twice as much again."""
    return count >= LEAST and repeated < REPEATED and count / size > max(MANY, 4 * repeated)


def _mixed(columns: Sequence[Field]) -> np.ndarray:
    """Eight bytes a row, in a tenth of the time that a digest of each takes: for every column a step of SplitMix64."""
    found = np.zeros(len(columns[0].values), np.uint64)
    for column in columns:
        found ^= _whole(column).view(np.uint64)
        for factor, shift in ((0x9E3779B97F4A7C15, 30), (0xBF58476D1CE4E5B9, 27), (0x94D049BB133111EB, 31)):
            found *= np.uint64(factor)
            found ^= found >> np.uint64(shift)
    return found


def _whole(column: Field) -> np.ndarray:
    """Eight bytes a value, which are the same in this process where the values are."""
    if column.kind == TEXT:
        return np.fromiter(map(hash, column.values), np.int64, len(column.values))
    if column.kind == NUMBER:  # one zero, and one missing value
        return np.where(np.isnan(column.values), np.nan, column.values + 0.0).view(np.int64)
    return column.values.view(np.int64)


def _digests(x: np.ndarray) -> np.ndarray:
    """Eight bytes a sample: two different ones that agree in them are rarer than a damaged disk."""
    small = (hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in x)
    return np.frombuffer(b"".join(small), np.uint64)
