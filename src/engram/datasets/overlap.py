"""Samples that are in the training set and in the test set, byte for byte."""

from __future__ import annotations

import hashlib

import numpy as np


def in_both(x_train: np.ndarray, x_test: np.ndarray) -> list[int]:
    """The rows of the test set whose samples are in the training set too."""
    return np.flatnonzero(np.isin(_digests(x_test), _digests(x_train))).tolist()


def _digests(x: np.ndarray) -> np.ndarray:
    """Eight bytes a sample: two different ones that agree in them are rarer than a damaged disk."""
    small = (hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in x)
    return np.frombuffer(b"".join(small), np.uint64)
