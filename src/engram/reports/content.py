"""What a report says, as values: numbers, tables, verdicts, notes, figures. How they look is not known here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from engram.record import Record


@dataclass(frozen=True)
class Number:
    """What was measured, mean and standard deviation over `n` finished runs (none: all failed), beside what was
    published. Not a number is what is not defined, as the deviation of a single run."""

    mean: float
    std: float = math.nan
    n: int = 1
    published: float | None = None


@dataclass(frozen=True)
class Column:
    """A metric in a table: its name for machines, its title for people, who see it times `scale` (100 for percent);
    `signed` where it is a difference."""

    metric: str
    title: str
    digits: int = 3
    scale: float = 1.0
    signed: bool = False


@dataclass(frozen=True)
class TableRow:
    """Names, and a number for each column; None: there is nothing to say."""

    names: tuple[str, ...]
    numbers: tuple[Number | None, ...]


@dataclass(frozen=True)
class Table:
    """Rows of numbers. `names` are the titles of the columns with names. Shown in `full` (published, ours, difference),
    as `pairs` (published / ours) or as `ours` alone. Where there is only one table, it needs no title."""

    names: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    title: str = ""
    shown: Literal["full", "pairs", "ours"] = "full"

    def published(self, place: int) -> bool:
        """Whether anything was published for a column."""
        found = (row.numbers[place] for row in self.rows)
        return any(number is not None and number.published is not None for number in found)


@dataclass(frozen=True)
class Verdict:
    """A claim, and whether it is held, NOT held, or unknown; and why: what is missing, or who is compared."""

    claim: str
    verdict: str
    why: str = ""


@dataclass(frozen=True)
class TaskPanels:
    """Accuracy on every task as training goes on: rows of panels, each a title and the runs that it stands for."""

    rows: Sequence[tuple[str, Sequence[tuple[str, Sequence[Record]]]]]


@dataclass(frozen=True)
class Plane:
    """Points with deviations both ways: for each label how far across and how far up."""

    across: str
    up: str
    points: Mapping[str, tuple[Number, Number]]


@dataclass(frozen=True)
class Series:
    """Lines along what is varied: for each label numbers by the value that they were measured at."""

    across: str
    up: Column
    lines: Mapping[str, Mapping[str, Number]]


@dataclass(frozen=True)
class Phases:
    """Accuracies while a first and then a second task is trained: a panel for each row and column, None where there is
    no finished run."""

    panels: Mapping[tuple[str, str], Record | None]


@dataclass(frozen=True)
class Spans:
    """For every place and label a bar between two numbers, and a dot for a third; not a number where one is missing."""

    up: str
    dot: str
    bars: Mapping[tuple[str, str], tuple[float, float, float]]


@dataclass(frozen=True)
class Curves:
    """Accuracies session by session: panels by row and column, in each a line a label. `dashed` has lines of what is
    compared with, by the panel's place."""

    panels: Mapping[tuple[str, str], Mapping[str, Sequence[float]]]
    dashed: Mapping[tuple[str, str], Sequence[float]]
    across: str = "sessions learned so far"


@dataclass(frozen=True)
class Squares:
    """Square matrices of numbers from 0 to 1, each under its title."""

    matrices: Mapping[str, Any]
    bar: str


@dataclass(frozen=True)
class Bars:
    """A panel a title with a bar a label, all on one scale."""

    across: Column
    panels: Mapping[str, Mapping[str, Number]]


@dataclass(frozen=True)
class Radar:
    """Several dimensions at once, a panel a title: for each label a value from 0 (the middle) to 1 (the rim) on every
    axis."""

    axes: tuple[str, ...]
    panels: Mapping[str, Mapping[str, Sequence[float]]]


@dataclass(frozen=True)
class Paths:
    """Graphs under their titles: for every task the modules that it goes through, one a layer, as numbers within the
    layer. A module that two tasks have is the same one."""

    graphs: Mapping[str, Mapping[str, Sequence[int]]]


Drawing = TaskPanels | Plane | Series | Phases | Spans | Curves | Squares | Bars | Radar | Paths


@dataclass(frozen=True)
class Section:
    """One table or figure of a page: what is shown of it, the `data` for machines, and the settings of every row."""

    name: str
    title: str
    about: str
    tables: tuple[Table, ...]
    data: Table
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...]
    sources: tuple[str, ...]
    figure: Drawing | None
    settings: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Page:
    """A whole report, and how it was made."""

    title: str
    about: str
    command: str
    tier: str
    seeds: tuple[int, ...]
    sections: tuple[Section, ...]
    caveats: str
