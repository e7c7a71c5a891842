"""The idx format of MNIST and Fashion-MNIST: a magic number, big-endian sizes, then bytes."""

from __future__ import annotations

import math

import numpy as np

from engram.datasets.arrays import Arrays
from engram.datasets.catalogue import Entry
from engram.datasets.local import read
from engram.errors import BadData


def load(entry: Entry) -> Arrays:
    """The four files of an entry: training images and labels, test images and labels."""
    x_train, y_train, x_test, y_test = (parse(read(entry, file), file.name) for file in entry.files)
    for x, y, part in ((x_train, y_train, "training"), (x_test, y_test, "test")):
        if x.ndim != 3 or y.ndim != 1 or len(x) != len(y):
            raise BadData(
                f"the {part} files of {entry.name} have shapes {x.shape} and {y.shape}, not images and labels"
            )
    return Arrays(x_train[:, None], y_train, x_test[:, None], y_test, entry.labels, 1 / 255)


def parse(content: bytearray, where: str) -> np.ndarray:
    """The array in an idx file of unsigned bytes, sharing the memory of `content`."""
    if len(content) < 4 or bytes(content[:3]) != b"\0\0\x08":
        raise BadData(f"{where} starts with {bytes(content[:4]).hex()}, not with 000008, as an idx file of bytes does")
    start = 4 + 4 * content[3]
    shape = tuple(np.frombuffer(content[4:start], ">u4").tolist())
    if len(shape) != content[3] or start + math.prod(shape) != len(content):
        raise BadData(f"{where} promises an array of shape {shape} but holds {len(content)} bytes")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)
