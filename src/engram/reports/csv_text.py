"""CSV that a spreadsheet opens without running anything in it."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

STARTS_A_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    """Rows of cells, the header first. Numbers stay numbers, in full; what is not known or not a number is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")  # whose signs are what it quotes
    lines = []
    for row in rows:
        writer.writerow([_cell(value) for value in row])
        lines.append(text.getvalue().removesuffix("\r\n") + "\n")
        text.seek(text.truncate(0))
    return "".join(lines)


def _cell(value: Any) -> str:
    """A text that a spreadsheet would take for a formula begins with an apostrophe, which tells it otherwise. One that
    is a number is none.

    >>> [_cell(value) for value in ("=1+1", "-0.50", "-1+1", -0.5, True, None, float("nan"))]
    ["'=1+1", '-0.50', "'-1+1", '-0.5', 'true', '', '']
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    is_formula = str(value).startswith(STARTS_A_FORMULA) and not _NUMBER.fullmatch(str(value))
    return f"'{value}" if is_formula else str(value)
