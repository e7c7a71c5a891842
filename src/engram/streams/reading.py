"""Arrays from outside, checked and copied into tensors. `where` names the array in every message."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from engram.errors import BadData
from engram.readers.labels import column

KEPT = (np.uint8, np.float16, np.float32)


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


def read_labels(values: Any, where: str) -> np.ndarray[Any, Any]:
    """One whole number or text a sample, as int64 or as characters."""
    array = _array(values, where)
    if array.size == 0:
        raise BadData(f"{where} has shape {array.shape}; give one label a sample, at least one")
    if array.dtype.kind == "O" and all(isinstance(value, str) for value in array.flat):
        array = array.astype(str)
    if array.dtype.kind not in "biufUS":
        raise BadData(f"{where} holds labels of type {array.dtype} such as {array.flat[0]}; give whole numbers or text")
    return column(array, where)


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
