"""Datasets in one .npz file: a user's own, and those of the catalogue that were made that way.

The file holds x_train, y_train, x_test, y_test and perhaps classes; or only x and y, and then a fifth of every class
is drawn, always the same, to be the test set.
"""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

import numpy as np

from engram.datasets import labels, local, npy
from engram.datasets.arrays import Arrays, blocks, reorder_axes
from engram.datasets.catalogue import Entry
from engram.errors import BadData, DataUnavailable

_TEST_SHARE = 0.2
_SPLIT_SEED = 0
# What `zipfile` raises on damaged, encrypted or unusual archives.
_UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError)


def load(entry: Entry) -> Arrays:
    """The single file of a catalogue entry."""
    return read(local.path(entry, entry.files[0]), f"{entry.name}.npz")


def read(path: Path, where: str) -> Arrays:
    """Checked arrays from a file; `where` is what errors call it. No code in the file is ever run."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise DataUnavailable(f"{where} cannot be read: {error.strerror or error}") from error
    try:
        with file, zipfile.ZipFile(file) as archive:
            return _arrays(archive, where)
    except _UNREADABLE as error:
        raise BadData(f"{where} is not a readable .npz file ({error}); write it with numpy.savez_compressed") from error


def _arrays(archive: zipfile.ZipFile, where: str) -> Arrays:
    present = {name.removesuffix(".npy") for name in archive.namelist()}
    names = labels.class_list(archive, where) if "classes" in present else None
    if {"x_train", "y_train", "x_test", "y_test"} <= present:
        x_train, y_train = _pair(archive, "x_train", "y_train", where)
        x_test, y_test = _pair(archive, "x_test", "y_test", where)
    elif {"x", "y"} <= present:
        x_train, y_train, x_test, y_test = _split(*_pair(archive, "x", "y", where))
    else:
        raise BadData(
            f"{where} holds {', '.join(sorted(present)) or 'nothing'}; "
            "it needs x_train, y_train, x_test and y_test, or x and y"
        )
    if x_train.shape[1:] != x_test.shape[1:] or x_train.dtype != x_test.dtype:
        raise BadData(
            f"{where}: samples of x_train are {x_train.shape[1:]} {x_train.dtype} and those of x_test "
            f"{x_test.shape[1:]} {x_test.dtype}; save both alike"
        )
    y_train, y_test, classes = labels.number(y_train, y_test, names, where)
    return Arrays(x_train, y_train, x_test, y_test, classes, 1 / 255 if x_train.dtype == np.uint8 else 1.0)


def _pair(archive: zipfile.ZipFile, x_name: str, y_name: str, where: str) -> tuple[np.ndarray, np.ndarray]:
    y = labels.column(npy.read(archive, y_name, where), f"{where}: {y_name}")
    x = _as_images(npy.read_samples(archive, x_name, where), f"{where}: {x_name}")
    if len(x) != len(y):
        raise BadData(
            f"{where}: {x_name} has {len(x)} samples and {y_name} has {len(y)} labels; give one label a sample"
        )
    return x, y


def _as_images(x: np.ndarray, where: str) -> np.ndarray:
    """Vectors stay as they are; images become (channels, height, width)."""
    if x.ndim == 2:
        return x
    if x.ndim == 3:
        return x[:, None]
    if x.ndim == 4:
        channels_last = x.shape[3] in (1, 3) and x.shape[1] not in (1, 3)
        return reorder_axes(x, 3, 1, 2) if channels_last else x
    raise BadData(f"{where} has shape {x.shape}; give (samples, features), or images with two or three axes")


def _split(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A fifth of every class, at least one sample where there are two, becomes the test set. Moves rows in place."""
    rng = np.random.RandomState(_SPLIT_SEED)
    test = np.zeros(len(y), bool)
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))
        count = max(round(_TEST_SHARE * len(rows)), min(1, len(rows) - 1))
        test[rows[:count]] = True
    x_test = x[test]
    kept = np.flatnonzero(~test)
    for block in blocks(x):
        # Row k comes from row kept[k] >= k, so a block never overwrites what a later one needs.
        x[: len(kept)][block] = x[kept[block]]
    return x[: len(kept)], y[~test], x_test, y[test]
