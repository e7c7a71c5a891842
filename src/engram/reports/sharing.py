"""In what the settings of several runs differ, and what they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engram.reports.tables import written

Settings = Mapping[str, Any]


def varying(settings: Sequence[Settings]) -> set[str]:
    """The settings of which not all that have them have the same value.

    >>> varying([{"rate": 0.1, "batch": 8}, {"rate": 0.2, "batch": 8}, {"epochs": 1}])
    {'rate'}
    """
    values: dict[str, set[str]] = {}
    for own in settings:
        for name, value in own.items():
            values.setdefault(name, set()).add(written(value))
    return {name for name, found in values.items() if len(found) > 1}


def shared(settings: Sequence[Settings]) -> dict[str, Any]:
    """The settings with one value in all that have them.

    >>> shared([{"rate": 0.1, "batch": 8}, {"rate": 0.2, "batch": 8}, {"epochs": 1}])
    {'batch': 8, 'epochs': 1}
    """
    different = varying(settings)
    return {name: value for own in settings for name, value in own.items() if name not in different}
