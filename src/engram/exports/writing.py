"""Runs into files: all of them are made before the first is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from engram import files
from engram.exports.flat import columns
from engram.exports.latex import latex
from engram.exports.means import means
from engram.exports.parquet import parquet_bytes
from engram.record import Record
from engram.reports.csv_text import csv_text
from engram.reports.listing import Rows
from engram.reports.summary import by_method


def write_files(places: Mapping[str, str], rows: Rows, make_latex: Callable[[], str]) -> list[str]:
    """Rows as `csv` and `parquet`, and a table as `latex`: the files' names by their kind, of which an empty one is not
    wanted."""
    make: dict[str, Callable[[], bytes]] = {
        "csv": lambda: csv_bytes(rows),
        "parquet": lambda: parquet_bytes(columns(rows)),
        "latex": lambda: make_latex().encode(),
    }
    made = {place: make[kind]() for kind, place in places.items() if place}
    for place, content in made.items():
        files.write(Path(place), content)
    return list(made)


def latex_of(records: Sequence[Record], metrics: Sequence[str]) -> str:
    """The methods of these runs as a table."""
    return latex(means(records, metrics), _remarks(records))


def csv_bytes(rows: Rows) -> bytes:
    found = columns(rows)
    return csv_text([list(found), *zip(*found.values())]).encode()


def _remarks(records: Sequence[Record]) -> list[str]:
    """What a reader of the numbers must know."""
    some = []
    for group in by_method(records):
        for status, what in (("failed", "failed"), ("pending", "not finished")):
            n = sum(record.status == status for record in group)
            if n and (n < len(group) or status == "pending"):
                some.append(f"{group[0].learner}: {n} of {len(group)} runs {what}")
    warnings = [f"* {record.protocol}: {record.warning}" for record in records if record.warning]
    return list(dict.fromkeys([*some, *warnings]))
