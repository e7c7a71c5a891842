"""The official cropped digits of Street View House Numbers (Netzer et al. 2011), as MATLAB files."""

from __future__ import annotations

import numpy as np

from engram.datasets import digest
from engram.datasets.arrays import Arrays
from engram.datasets.catalogue import DataFile, Entry
from engram.datasets.local import path
from engram.errors import BadData
from engram.readers.blocks import reorder_axes


def load(entry: Entry) -> Arrays:
    """Training and test digits. The files call the digit 0 class 10; here it is class 0."""
    (x_train, y_train), (x_test, y_test) = (_part(entry, file) for file in entry.files)
    return Arrays(x_train, y_train, x_test, y_test, entry.labels, 1 / 255)


def _part(entry: Entry, file: DataFile) -> tuple[np.ndarray, np.ndarray]:
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    with digest.unpacked(path(entry, file), file) as stream:
        try:
            content = loadmat(stream, variable_names=("X", "y"))
            x, y = content["X"], content["y"].reshape(-1).astype(np.int64)
        except (MatReadError, KeyError, ValueError, TypeError, NotImplementedError) as error:
            raise BadData(f"{file.name} is not a MATLAB file with X and y: {error}") from error
    if x.ndim != 4 or x.shape[:3] != (32, 32, 3) or x.dtype != np.uint8 or x.shape[3] != len(y):
        raise BadData(
            f"{file.name} holds X of {x.shape} {x.dtype} and {len(y)} labels, not images of (32, 32, 3) bytes"
        )
    if len(y) == 0 or y.min() < 1 or y.max() > 10:
        raise BadData(f"{file.name} holds labels outside 1 … 10")
    # MATLAB stores the first axis fastest, so reversing the axes costs nothing: (sample, channel, column, row).
    images = np.require(x.transpose(), requirements=["C", "W"])
    return reorder_axes(images, 1, 3, 2), y % 10
