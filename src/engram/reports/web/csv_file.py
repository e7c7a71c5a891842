"""The data behind a figure, as a link inside the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from engram.reports.csv_text import csv_text
from engram.reports.harmless import harmless


@dataclass(frozen=True)
class CsvFile:
    """Rows under a header, and the name of the file that a reader saves."""

    name: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]

    @property
    def text(self) -> str:
        return csv_text([list(map(_brief, row)) for row in (self.header, *self.rows)])

    @property
    def link(self) -> str:
        """Everything in an address, so that the file needs no other."""
        return "data:text/csv;charset=utf-8," + quote(self.text, safe=",;:/ !()*[]{}@=")


def _brief(value: Any) -> Any:
    """Four digits are more than two runs agree in, and a page is to be sent.

    >>> _brief(0.123456789), _brief(12)
    (0.1235, 12)
    """
    return float(f"{value:.4g}") if isinstance(value, float) else harmless(value) if isinstance(value, str) else value
