"""Rows of a CSV file: its encoding, its separator and its header, and every row as long as the header."""

from __future__ import annotations

import csv
import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from engram.errors import BadData
from engram.readers import cells

_SEPARATORS = ",;\t|"
_ROWS = 512  # of a block: more of them at once take longer, because their cells no longer fit into the cache
_MARKS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"PK": "a zip archive or spreadsheet", b"\x1f\x8b": "gzip"}


class Layout(NamedTuple):
    """How a file is written: what separates its cells, and the names of its columns. Where the first has no name it
    holds row numbers, as pandas writes them, and `skipped` is 1."""

    separator: str
    names: tuple[str, ...]
    skipped: int


class RowBlock(NamedTuple):
    """Some rows, and the line in which each ends."""

    lines: tuple[int, ...]
    rows: tuple[list[str], ...]


def layout(path: Path, where: str) -> Layout:
    """Found out from the first line."""
    with path.open("rb") as file:
        begins = file.read(2)
    if begins in _MARKS:
        raise BadData(f"{where} is {_MARKS[begins]} and not CSV; save it as CSV in UTF-8")
    separator = max(_SEPARATORS, key=_outside_quotes(_first_line(path, where)).count)
    names = [name.strip() for name in next(_records(path, where, separator), (0, []))[1]]
    if not names:
        raise BadData(f"{where} is empty; give a line with the columns' names and at least one row")
    skipped = 1 if len(names) > 1 and not names[0] else 0
    _check_names(names[skipped:], where)
    return Layout(separator, tuple(names[skipped:]), skipped)


def blocks(path: Path, where: str, shape: Layout) -> Iterator[RowBlock]:
    """Its rows, some hundreds at a time."""
    width = len(shape.names) + shape.skipped
    records = _records(path, where, shape.separator, width)
    next(records)
    while found := list(itertools.islice(records, _ROWS)):
        block = RowBlock(*zip(*found))
        if any(len(row) != width for row in block.rows):
            line, cells_ = next((line, len(row)) for line, row in found if len(row) != width)
            raise BadData(
                f"{where} has {cells_} cells in line {line} and {width} in its header; give every row as many"
            )
        yield block


def _records(path: Path, where: str, separator: str, width: int = 0) -> Iterator[tuple[int, list[str]]]:
    """Every row that is not blank, with the number of its line. Where rows have one cell a blank line between them is
    one whose cell is empty, unless all lines end twice, as what Windows made of ends that were whole already."""
    has_empty = width == 1 and not _ends_twice(path)
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file, delimiter=separator, strict=True)
        header, blank = False, list[int]()
        try:
            for row in rows:
                if row:
                    yield from ((line, [""]) for line in blank)
                    yield rows.line_num, row
                    header, blank = True, []
                elif header and has_empty:
                    blank.append(rows.line_num)
        except UnicodeDecodeError as error:
            raise _not_text(path, where) from error
        except csv.Error as error:
            raise BadData(f"{where} cannot be read as CSV in line {rows.line_num} ({error}); mend it") from error


def _ends_twice(path: Path) -> bool:
    with path.open("rb") as file:
        return b"\r\r\n" in file.read(1 << 16)


def _first_line(path: Path, where: str) -> str:
    try:
        with path.open(encoding="utf-8-sig") as file:
            return next((line for line in file if line.strip()), "")
    except UnicodeDecodeError as error:
        raise _not_text(path, where) from error


def _not_text(path: Path, where: str) -> BadData:
    with path.open("rb") as file:
        line = next((number for number, line in enumerate(file, 1) if not _is_text(line)), 1)
    return BadData(f"{where} is not UTF-8 (line {line}); save it as UTF-8, for example with: iconv -f latin1 -t utf-8")


def _is_text(line: bytes) -> bool:
    try:
        return line.decode() is not None
    except UnicodeDecodeError:
        return False


def _outside_quotes(line: str) -> str:
    return "".join(line.split('"')[::2])


def _check_names(names: list[str], where: str) -> None:
    value = next((name for name in names if name and cells.number(name) is not None and not name.isdecimal()), None)
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if value is not None or (twice or "").isdecimal():
        raise BadData(
            f"the first line of {where} holds '{value or twice}', which is no name; "
            "give a first line with the columns' names"
        )
    if "" in names:
        raise BadData(f"{where}: column {names.index('') + 1} has no name; give every column one")
    if twice is not None:
        raise BadData(f"{where} has two columns called '{twice}'; give each a name of its own")
