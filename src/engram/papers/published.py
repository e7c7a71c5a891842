"""The numbers that papers print, as the files of the folder `data` have them."""

from __future__ import annotations

import csv
import io
from functools import lru_cache
from importlib.resources import files


@lru_cache(maxsize=32)
def printed(paper: str, table: str) -> tuple[dict[str, str], ...]:
    """A table, row by row.

    >>> printed("kemker2018", "s9")[0]["non_redundant_features"]
    '39'
    """
    text = (files("engram.papers") / "data" / f"{paper}_{table}.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(io.StringIO(text)))
