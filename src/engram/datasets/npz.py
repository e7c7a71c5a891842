"""Datasets in one .npz file: a user's own, and those of the catalogue that were made that way.

The file holds x_train, y_train, x_test, y_test and perhaps classes; or only x and y, and then a fifth of every class
is drawn, always the same, to be the test set.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from engram.datasets import local
from engram.datasets.arrays import Arrays
from engram.datasets.catalogue import Entry
from engram.errors import BadData
from engram.readers import labels
from engram.readers.blocks import blocks
from engram.readers.npz import arrays

_WANTED = (("x_train", "y_train", "x_test", "y_test"), ("x", "y"))
_TEST_SHARE = 0.2
_SPLIT_SEED = 0


def load(entry: Entry) -> Arrays:
    """The single file of a catalogue entry."""
    return read(local.path(entry, entry.files[0]), f"{entry.name}.npz")


def read(path: Path, where: str) -> Arrays:
    """Checked arrays from a file; `where` is what errors call it."""
    found = arrays(path, where, _WANTED)
    names = found.pop("classes", None)
    x_train, y_train, x_test, y_test = split(**found) if "x" in found else found.values()
    if x_train.shape[1:] != x_test.shape[1:] or x_train.dtype != x_test.dtype:
        raise BadData(
            f"{where}: samples of x_train are {x_train.shape[1:]} {x_train.dtype} and those of x_test "
            f"{x_test.shape[1:]} {x_test.dtype}; save both alike"
        )
    return numbered(x_train, y_train, x_test, y_test, names, where)


def numbered(
    x_train: np.ndarray,
    y_train: np.ndarray,
    x_test: np.ndarray,
    y_test: np.ndarray,
    names: list[str] | None,
    where: str,
) -> Arrays:
    """Samples and their labels, with the labels as class numbers."""
    y_train, y_test, classes = labels.number(y_train, y_test, names, where)
    return Arrays(x_train, y_train, x_test, y_test, classes, 1 / 255 if x_train.dtype == np.uint8 else 1.0)


def split(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A fifth of every class becomes the test set. Moves rows in place."""
    test = tested_rows(y)
    x_test = x[test]
    kept = np.flatnonzero(~test)
    for block in blocks(x):
        # Row k comes from row kept[k] >= k, so a block never overwrites what a later one needs.
        x[: len(kept)][block] = x[kept[block]]
    return x[: len(kept)], y[~test], x_test, y[test]


def tested_rows(y: np.ndarray) -> np.ndarray:
    """Which rows: of every class a fifth, at least one where there are two, always the same."""
    rng = np.random.RandomState(_SPLIT_SEED)
    test = np.zeros(len(y), bool)
    order = np.argsort(y, kind="stable")
    for own in np.split(order, np.flatnonzero(y[order][1:] != y[order][:-1]) + 1):
        rows = rng.permutation(own)
        count = max(round(_TEST_SHARE * len(rows)), min(1, len(rows) - 1))
        test[rows[:count]] = True
    return test
