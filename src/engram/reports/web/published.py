"""A paper's tables with ours beside them, as a part of a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engram.reports.cells import full
from engram.reports.content import Page, Section, Table
from engram.reports.web.csv_file import CsvFile

KINDS = ("published", "mean", "std", "n")


@dataclass(frozen=True)
class TableText:
    """The cells of a table under its title, the header first."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: int  # how many of its first columns are names


@dataclass(frozen=True)
class SectionText:
    section: Section
    tables: Sequence[TableText]
    csv_file: CsvFile


def sections(page: Page) -> list[SectionText]:
    return [SectionText(each, [_text(table) for table in each.tables], _file(each)) for each in page.sections]


def _text(table: Table) -> TableText:
    header, *rows = full(table)
    return TableText(table.title, header, rows, len(table.names))


def _file(section: Section) -> CsvFile:
    """Every number in a column of its own."""
    data = section.data
    header = [*data.names, *(f"{column.metric}_{kind}" for column in data.columns for kind in KINDS)]
    rows = [[*r.names, *(getattr(number, kind, None) for number in r.numbers for kind in KINDS)] for r in data.rows]
    return CsvFile(section.name, header, rows)
