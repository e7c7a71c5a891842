"""Datasets in one .npz file: a user's own, and those of the catalogue that were made that way.

The file holds x_train, y_train, x_test, y_test and perhaps classes; or only x and y, and then a fifth of every class
is drawn, always the same, to be the test set.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from engram import memory
from engram.datasets import labels, local, npy
from engram.datasets.arrays import Arrays, blocks, reorder_axes
from engram.datasets.catalogue import Entry
from engram.errors import BadData, DataUnavailable

_WANTED = (("x_train", "y_train", "x_test", "y_test"), ("x", "y"))
_MOST_SHOWN = 10
# What a file may take in memory: hardly any data that somebody collected is packed more tightly.
_SMALL_BYTES = 1 << 26
_LARGEST_RATIO = 100
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
            return _arrays(archive, _promises(archive, path.stat().st_size, where), where)
    except _UNREADABLE as error:
        raise BadData(f"{where} is not a readable .npz file ({error}); write it with numpy.savez_compressed") from error


def _promises(archive: zipfile.ZipFile, file_bytes: int, where: str) -> dict[str, npy.Promise]:
    """The arrays to read. What they will take in memory, all together, is known and allowed."""
    present = {name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")}
    wanted = next((arrays for arrays in _WANTED if set(arrays) <= present), None)
    if wanted is None:
        shown = ", ".join(sorted(present or archive.namelist())[:_MOST_SHOWN]) or "nothing"
        raise BadData(f"{where} holds {shown}; it needs x_train, y_train, x_test and y_test, or x and y, each as .npy")
    found = {name: npy.look(archive, name, where) for name in (*wanted, *({"classes"} & present))}
    needed = sum(p.sample_bytes() if name.startswith("x") else p.label_bytes() for name, p in found.items())
    most = min(_SMALL_BYTES + _LARGEST_RATIO * file_bytes, memory.machine_bytes() // 2)
    memory.require(needed, f"{where}, a file of {memory.shown(file_bytes)},", "save fewer samples in it", most)
    return found


def _arrays(archive: zipfile.ZipFile, found: Mapping[str, npy.Promise], where: str) -> Arrays:
    names = labels.class_list(archive, found["classes"]) if "classes" in found else None
    if "x" in found:
        x_train, y_train, x_test, y_test = _split(*_pair(archive, found["x"], found["y"], where))
    else:
        x_train, y_train = _pair(archive, found["x_train"], found["y_train"], where)
        x_test, y_test = _pair(archive, found["x_test"], found["y_test"], where)
    if x_train.shape[1:] != x_test.shape[1:] or x_train.dtype != x_test.dtype:
        raise BadData(
            f"{where}: samples of x_train are {x_train.shape[1:]} {x_train.dtype} and those of x_test "
            f"{x_test.shape[1:]} {x_test.dtype}; save both alike"
        )
    y_train, y_test, classes = labels.number(y_train, y_test, names, where)
    return Arrays(x_train, y_train, x_test, y_test, classes, 1 / 255 if x_train.dtype == np.uint8 else 1.0)


def _pair(archive: zipfile.ZipFile, of_x: npy.Promise, of_y: npy.Promise, where: str) -> tuple[np.ndarray, np.ndarray]:
    if of_x.shape[0] != of_y.shape[0]:
        x_name, y_name = (promise.info.filename.removesuffix(".npy") for promise in (of_x, of_y))
        raise BadData(
            f"{where}: {x_name} has {of_x.shape[0]} samples and {y_name} has {of_y.shape[0]} labels; "
            "give one label a sample"
        )
    y = labels.column(npy.read(archive, of_y), of_y.where)
    return _as_images(npy.read_samples(archive, of_x), of_x.where), y


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
    order = np.argsort(y, kind="stable")
    for own in np.split(order, np.flatnonzero(y[order][1:] != y[order][:-1]) + 1):
        rows = rng.permutation(own)
        count = max(round(_TEST_SHARE * len(rows)), min(1, len(rows) - 1))
        test[rows[:count]] = True
    x_test = x[test]
    kept = np.flatnonzero(~test)
    for block in blocks(x):
        # Row k comes from row kept[k] >= k, so a block never overwrites what a later one needs.
        x[: len(kept)][block] = x[kept[block]]
    return x[: len(kept)], y[~test], x_test, y[test]
