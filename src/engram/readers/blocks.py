"""Large arrays, some megabytes at a time: a second copy of a large dataset may not fit."""

from __future__ import annotations

import numpy as np

_BLOCK_BYTES = 1 << 24


def reorder_axes(x: np.ndarray, *axes: int) -> np.ndarray:
    """`x` with the axes of each sample in another order, contiguous, in the same memory."""
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
