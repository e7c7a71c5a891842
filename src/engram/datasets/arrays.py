"""What every reader of this package returns, and how it becomes a `Dataset`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from engram.core import Dataset

_BLOCK_BYTES = 1 << 24


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


def reorder_axes(x: np.ndarray, *axes: int) -> np.ndarray:
    """`x` with the axes of each sample in another order, contiguous, in the same memory.

    Done block by block, because a second copy of a large dataset may not fit.
    """
    result = x.reshape(len(x), *(x.shape[axis] for axis in axes))
    for rows in blocks(x):
        result[rows] = np.ascontiguousarray(x[rows].transpose(0, *axes))
    return result


def blocks(x: np.ndarray) -> list[slice]:
    """Slices of about 16 MB of `x`."""
    return rows_of(len(x), x.nbytes // max(1, len(x)))


def rows_of(count: int, row_bytes: int) -> list[slice]:
    """`count` rows in slices of about 16 MB."""
    size = max(1, _BLOCK_BYTES // max(1, row_bytes))
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]
