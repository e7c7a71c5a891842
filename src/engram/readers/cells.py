"""From the text of cells to values: numbers, dates in ISO 8601, and any other text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

MISSING = frozenset(("", "na", "n/a", "#n/a", "nan", "null", "none", "<na>", "nat", "?"))
_TRUTH = {"true": 1.0, "false": 0.0}
_DATE = re.compile(r"[0-9]{4}-[01][0-9]-[0-3][0-9]([ T][0-2][0-9]:[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?Z?)?")
_OTHER_DATE = re.compile(r"[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{1,4}")
_DECIMAL_COMMA = re.compile(r"[-+]?[0-9]*,[0-9]+")


def is_missing(cell: str) -> bool:
    return cell.strip().lower() in MISSING


def number(cell: str) -> float | None:
    """The number that a cell holds, nan where it holds nothing; None where it holds something else."""
    if is_missing(cell):
        return np.nan
    try:
        return None if "_" in cell else float(cell.strip())  # which takes off more than float
    except ValueError:
        return _TRUTH.get(cell.strip().lower())


def numbers(cells: Sequence[str]) -> np.ndarray | None:
    """All of them as numbers, or None."""
    try:
        values = np.array(cells, np.float64)
        return None if "_" in "".join(cells) else values  # Python's float takes 1_5 for 15
    except ValueError:
        pass
    found = []
    for cell in cells:
        value = number(cell)
        if value is None:
            return None
        found.append(value)
    return np.array(found, np.float64)


def texts(cells: Iterable[str], seen: dict[str, str | None], as_labels: bool) -> list[str | None]:
    """Each cell's text without space around it, None where there is none; a label may be called None or NA. `seen`
    keeps equal texts once."""
    found = []
    for cell in cells:
        if cell not in seen:
            seen[cell] = (cell.strip() or None) if as_labels or not is_missing(cell) else None
        found.append(seen[cell])
    return found


def dates(values: Iterable[str | None]) -> np.ndarray | None:
    """Days or moments as 2024-01-31 or 2024-01-31 12:30:00, or None where any is something else."""
    if not all(value is None or _DATE.fullmatch(value) for value in values):
        return None
    try:
        return np.array(["NaT" if value is None else value.rstrip("Z") for value in values], "datetime64[us]")
    except ValueError:  # as 2024-02-31
        return None


def has_decimal_comma(values: Iterable[str]) -> bool:
    """Whether these look like numbers with a comma where a point should be."""
    values = list(values)
    commas = [value for value in values if _DECIMAL_COMMA.fullmatch(value)]
    return bool(commas) and all(_DECIMAL_COMMA.fullmatch(value) or number(value) is not None for value in values)


def are_other_dates(values: Iterable[str]) -> bool:
    """Whether these look like dates in an order that only their writer knows."""
    values = list(values)
    return bool(values) and all(_OTHER_DATE.fullmatch(value) for value in values)
