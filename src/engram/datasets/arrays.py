"""What every reader of this package returns, and how it becomes a `Dataset`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from engram.core import Dataset


class Arrays(NamedTuple):
    """Samples and labels (0 … classes - 1) as NumPy arrays; a batch is `x * scale`."""

    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    classes: tuple[str, ...]
    scale: float


def dataset(name: str, arrays: Arrays, digest: str, in_both: tuple[int, ...] = ()) -> Dataset:
    """A `Dataset` that shares its memory with the arrays."""
    import torch

    from engram.core import Dataset

    x_train, y_train, x_test, y_test, classes, scale = arrays
    return Dataset(
        name=name,
        x_train=torch.from_numpy(x_train),
        y_train=torch.from_numpy(y_train.astype(np.int64, copy=False)),
        x_test=torch.from_numpy(x_test),
        y_test=torch.from_numpy(y_test.astype(np.int64, copy=False)),
        classes=classes,
        scale=scale,
        digest=digest,
        in_both=in_both,
    )
