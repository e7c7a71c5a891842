"""Arrays from outside, checked and copied into tensors. `where` names the array in every message."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from engram.errors import BadData

KEPT = (np.uint8, np.float16, np.float32)


LARGEST_LABEL = 1_000_000  # tables by class number stay small


def read_samples(values: Any, where: str) -> Tensor:
    """One row a sample. Bytes, half and single precision stay as they are, other numbers become float32."""
    array = _array(values, where)
    if array.dtype.kind not in "fiub":
        raise BadData(f"{where} holds values of type {array.dtype}; give real numbers")
    if array.ndim < 2 or array[:1].size == 0:
        raise BadData(f"{where} has shape {array.shape}; give at least one sample, and at least one feature a sample")
    with np.errstate(over="ignore"):  # what is too large becomes inf, which is reported below
        numbers = array.astype(array.dtype if array.dtype in KEPT else np.float32)
    _check_finite(array, numbers, where)
    return torch.from_numpy(np.ascontiguousarray(numbers))


def read_labels(values: Any, where: str) -> Tensor:
    """One whole number from 0 a sample."""
    array = _array(values, where)
    if array.ndim != 1 or array.size == 0:
        raise BadData(f"{where} has shape {array.shape}; give one label a sample, at least one")
    if array.dtype.kind not in "iu":
        raise BadData(f"{where} holds labels of type {array.dtype} such as {array[0]}; give whole numbers from 0")
    low, high = int(array.min()), int(array.max())
    if low < 0 or high > LARGEST_LABEL:
        wrong = low if low < 0 else high
        raise BadData(f"{where} holds the label {wrong}; number the classes from 0 to at most {LARGEST_LABEL}")
    return torch.from_numpy(array.astype(np.int64))


def _array(values: Any, where: str) -> np.ndarray[Any, Any]:
    """A numpy array in this machine's byte order, sharing memory where that is possible."""
    try:
        array = np.asarray(_host(values) if isinstance(values, Tensor) else values)
    except (ValueError, TypeError, RuntimeError) as trouble:
        raise BadData(f"{where} is a {type(values).__name__} that makes no array: {trouble}") from None
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _host(values: Tensor) -> np.ndarray[Any, Any]:
    values = values.detach().cpu()
    unknown_to_numpy = values.is_floating_point() and values.dtype not in (torch.float16, torch.float32, torch.float64)
    return (values.float() if unknown_to_numpy else values).numpy()


def _check_finite(array: np.ndarray[Any, Any], numbers: np.ndarray[Any, Any], where: str) -> None:
    if numbers.dtype.kind != "f" or np.isfinite(numbers).all():
        return
    place = tuple(int(i) for i in np.argwhere(~np.isfinite(numbers))[0])
    raise BadData(
        f"{where} holds {array[place]} in sample {place[0]} (counted from 0); "
        "every value must be a finite number that fits into float32"
    )
