"""The binary version of CIFAR-10 and CIFAR-100 (Krizhevsky 2009): records of label bytes and three colour planes."""

from __future__ import annotations

import numpy as np

from engram.datasets.arrays import Arrays
from engram.datasets.catalogue import Entry
from engram.datasets.local import read
from engram.errors import BadData

_SHAPE = (3, 32, 32)
_IMAGE_BYTES = 3 * 32 * 32


def load(entry: Entry) -> Arrays:
    """Training files in order, then the test file. The label of CIFAR-100 is the fine one, which follows the coarse."""
    *train, test = entry.files
    label_bytes = sum(file.bytes for file in train) // entry.train - _IMAGE_BYTES
    parts = [_parts(entry, files, count, label_bytes) for files, count in ((train, entry.train), ([test], entry.test))]
    return Arrays(*parts[0], *parts[1], entry.labels, 1 / 255)


def _parts(entry: Entry, files: list, count: int, label_bytes: int) -> tuple[np.ndarray, np.ndarray]:
    """One file at a time in memory, beside the result."""
    x, y = np.empty((count, *_SHAPE), np.uint8), np.empty(count, np.int64)
    start = 0
    for file in files:
        records = _records(read(entry, file), label_bytes, file.name)
        rows = slice(start, start + len(records))
        x[rows] = records[:, label_bytes:].reshape(-1, *_SHAPE)
        y[rows] = records[:, label_bytes - 1]
        start += len(records)
    if start != count or y.max() >= entry.classes:
        raise BadData(f"the files of {entry.name} hold {start} images and labels up to {y.max()}, not {count} images")
    return x, y


def _records(content: bytearray, label_bytes: int, where: str) -> np.ndarray:
    size = label_bytes + _IMAGE_BYTES
    if len(content) % size:
        raise BadData(f"{where} has {len(content)} bytes, which are no whole number of records of {size} bytes")
    return np.frombuffer(content, np.uint8).reshape(-1, size)
