"""Real data that comes with scikit-learn, so that everything can be tried with no download at all."""

from __future__ import annotations

import hashlib

import numpy as np

from engram.datasets.arrays import Arrays


def load() -> tuple[Arrays, str]:
    """1,797 handwritten digits of 8×8 pixels with 17 grey levels, and their digest.

    There is no official split: the last fifth of every class, in the order of the file, is the test set. The file is
    ordered by writer, so the test set holds mostly writers that training did not see.
    """
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    x, y = x.astype(np.uint8).reshape(-1, 1, 8, 8), y.astype(np.int64)
    test = np.zeros(len(y), bool)
    for label in range(10):
        rows = np.flatnonzero(y == label)
        test[rows[len(rows) - len(rows) // 5 :]] = True
    digest = hashlib.sha256(x.tobytes() + y.astype("<i8").tobytes()).hexdigest()
    return Arrays(x[~test], y[~test], x[test], y[test], tuple("0123456789"), 1 / 16), digest
