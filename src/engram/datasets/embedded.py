"""Real data that comes with scikit-learn, so that everything can be tried with no download at all."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
from pathlib import Path

import numpy as np

from engram.datasets.arrays import Arrays


def _table() -> np.ndarray:
    """A row a digit: 64 pixels and the label. Read from scikit-learn's file, since importing the package to have it
    read takes a second of every process."""
    spec = importlib.util.find_spec("sklearn")
    folders = [Path(place) for place in spec.submodule_search_locations or []] if spec else []
    for path in (folder / "datasets" / "data" / "digits.csv.gz" for folder in folders):
        if path.is_file():
            with gzip.open(path, "rt") as file:
                return np.loadtxt(file, delimiter=",", dtype=np.int64)
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    return np.column_stack([images, labels]).astype(np.int64)


def load() -> tuple[Arrays, str]:
    """1,797 handwritten digits of 8×8 pixels with 17 grey levels, and their digest.

    There is no official split: the last fifth of every class, in the order of the file, is the test set. The file is
    ordered by writer, so the test set holds mostly writers that training did not see.
    """
    table = _table()
    x, y = table[:, :-1].astype(np.uint8).reshape(-1, 1, 8, 8), table[:, -1].astype(np.int64)
    test = np.zeros(len(y), bool)
    for label in range(10):
        rows = np.flatnonzero(y == label)
        test[rows[len(rows) - len(rows) // 5 :]] = True
    digest = hashlib.sha256(x.tobytes() + y.astype("<i8").tobytes()).hexdigest()
    return Arrays(x[~test], y[~test], x[test], y[test], tuple("0123456789"), 1 / 16), digest
