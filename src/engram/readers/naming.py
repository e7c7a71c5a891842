"""Names in the order in which people count: session2 comes before session10."""

from __future__ import annotations

import re

_DIGITS = re.compile(r"([0-9]+)")


def natural(name: str) -> tuple[list[tuple[int, int, str]], str]:
    """What to sort names by.

    >>> sorted(["week10.csv", "week2.csv", "Week1.csv"], key=natural)
    ['Week1.csv', 'week2.csv', 'week10.csv']
    """
    parts = [part for part in _DIGITS.split(name.casefold()) if part]
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts], name


def is_hidden(name: str) -> bool:
    """Whether this is what a system leaves in folders beside the files of their owner."""
    return name.startswith(".") or name.lower() in ("thumbs.db", "desktop.ini", "__macosx")
