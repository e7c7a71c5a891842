"""Accuracies as they are given, in lists or arrays: checked, and as plain numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from engram.errors import BadRecord


def triangle(a: Any) -> list[list[float]]:
    """The checked lower triangle: row k has k accuracies."""
    found = rows(a)
    for k, row in enumerate(found, 1):
        if len(row) < k:
            raise BadRecord(
                f"row {k} of the accuracy matrix has length {len(row)}; give it one accuracy a task, {k} in all"
            )
    return [line(row[:k], f"row {k}") for k, row in enumerate(found, 1)]


def rows(a: Any) -> list[list[Any]]:
    return [items(row, f"row {k}") for k, row in enumerate(items(a, "the accuracy matrix"), 1)]


def each(values: Any, count: int | None, what: str) -> list[float]:
    """One accuracy for each of `count` tasks or sessions (or any number): a list of them, or one for all."""
    if isinstance(plain(values), (int, float)):
        return [accuracy(values, what)] * (1 if count is None else count)
    found = line(values, what)
    if count is not None and len(found) != count:
        raise BadRecord(f"{what} has length {len(found)}; give one accuracy, or {count}")
    return found


def line(values: Any, what: str) -> list[float]:
    return [accuracy(value, what) for value in items(values, what)]


def items(values: Any, what: str) -> list[Any]:
    """The items of a list or array. Text and mappings can be iterated too, but hold no accuracies in order."""
    try:
        if isinstance(values, (str, bytes, Mapping)):
            raise TypeError
        return list(values)
    except TypeError:
        raise BadRecord(f"{what} is {values!r}; give a list of accuracies") from None


def accuracy(value: Any, where: str) -> float:
    number = plain(value)
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise BadRecord(f"{where} holds {value!r}, which is not a number; give accuracies from 0 to 1")
    if number < 0 or number > 1:
        raise BadRecord(f"{where} holds {number}, which is no accuracy; give fractions from 0 to 1, not percentages")
    return float(number)


def finite(value: Any) -> float:
    number = plain(value)
    if isinstance(number, bool) or not isinstance(number, (int, float)) or math.isinf(number):
        raise BadRecord(f"{value!r} is among the values, which is not a finite number; give numbers or nan")
    return float(number)


def plain(value: Any) -> Any:
    """The Python number inside an array without dimensions."""
    return value.item() if getattr(value, "ndim", None) == 0 else value
