"""What a reproduction is made of: experiments with rows, the runs that answer them, published values, claims."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from engram.errors import UnknownName
from engram.metrics import spread
from engram.record import Record
from engram.reports.figure import draw_panels
from engram.reports.summary import done
from engram.reports.tables import plus_minus
from engram.request import Request
from engram.runs import Run


class Table(NamedTuple):
    """A table as it is shown: a title, or none where there is one table only."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Entry:
    """One row: what `prepare` is asked for (all but the seed), and what was published, by metric."""

    label: str
    run: Mapping[str, Any]
    published: Mapping[str, float] = field(default_factory=dict)
    source: str = ""

    def is_one_of(self, texts: Sequence[str]) -> bool:
        return any(_has(self.label, text) for text in texts)

    def runs(self, seeds: Sequence[int]) -> list[Run]:
        return Request(**self.run).runs(seeds)


@dataclass(frozen=True)
class Line:
    """A row with our runs beside the published values."""

    entry: Entry
    records: tuple[Record, ...]

    def ours(self, metric: str) -> dict[str, float]:
        """Mean and deviation over the seeds that are done; `minutes` is the longest run."""
        finished = done(self.records)
        if metric == "minutes":
            return {"mean": max((r.seconds for r in finished), default=float("nan")) / 60, "std": float("nan"), "n": 1}
        return spread([record.metrics().get(metric, float("nan")) for record in finished])

    def mean(self, metric: str = "average_accuracy") -> float:
        return self.ours(metric)["mean"]

    def to_json(self, columns: Sequence[Column]) -> dict[str, Any]:
        return {
            "method": self.entry.label,
            "learner": self.entry.run["learner"],
            "published": dict(self.entry.published),
            "source": self.entry.source,
            "ours": {column.metric: self.ours(column.metric) for column in columns},
            "difference": {metric: self.mean(metric) - value for metric, value in self.entry.published.items()},
            "runs": [record.to_json() for record in self.records],
        }


@dataclass(frozen=True)
class Column:
    """A metric in a table, times `scale` (100 for percent)."""

    metric: str
    title: str
    digits: int = 3
    scale: float = 1.0

    def cells(self, line: Line) -> list[str]:
        """Published, ours, and the difference; a metric that nobody published is only ours."""
        ours = {name: value * self.scale if name != "n" else value for name, value in line.ours(self.metric).items()}
        shown = plus_minus(ours, self.digits) if done(line.records) else "failed"
        published = line.entry.published.get(self.metric)
        if published is None:
            return ["", shown, ""]
        published *= self.scale
        difference = ours["mean"] - published
        return [
            f"{published:.{self.digits}f}",
            shown,
            "" if math.isnan(difference) else f"{difference:+.{self.digits}f}",
        ]


@dataclass(frozen=True)
class Claim:
    """A sentence that is true or false of the lines, by their labels."""

    text: str
    holds: Callable[[Mapping[str, Line]], bool]

    def verdict(self, lines: Mapping[str, Line]) -> str:
        """Held, not held, or unknown where only some of the rows were asked for."""
        try:
            return "held" if self.holds(lines) else "NOT held"
        except KeyError:
            return "unknown"


def at_least(label: str, value: float, metric: str = "average_accuracy") -> Claim:
    return Claim(f"{label}: {metric.replace('_', ' ')} ≥ {value:g}", lambda lines: lines[label].mean(metric) >= value)


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper. A tier that is not the published setting has no claims."""

    name: str
    title: str
    columns: tuple[Column, ...]
    entries: tuple[Entry, ...]
    claims: tuple[Claim, ...] = ()
    draw: Callable[[Sequence[Line], Path], Path] | None = None
    about: str = ""

    def header(self) -> list[str]:
        """Three columns a metric, but one where nothing was published for it."""
        return ["method", *(title for column in self.columns for title in self._titles(column))]

    def table(self, lines: Sequence[Line]) -> list[list[str]]:
        return [
            [line.entry.label, *(cell for column in self.columns for cell in self._cells(column, line))]
            for line in lines
        ]

    def page_tables(self, lines: Sequence[Line]) -> list[Table]:
        return [Table("", self.header(), self.table(lines))]

    def screen_tables(self, lines: Sequence[Line]) -> list[Table]:
        return [Table("", *self.brief(lines))]

    def distinct(self, lines: Sequence[Line]) -> list[tuple[str, Line]]:
        """The lines whose settings are worth showing, by name."""
        return [(line.entry.label, line) for line in lines]

    def notes(self, lines: Sequence[Line]) -> list[str]:
        """What is to be said about single rows."""
        return []

    def brief(self, lines: Sequence[Line]) -> tuple[list[str], list[list[str]]]:
        """Header and rows for a terminal: the first metric in full, the others as published / ours."""
        first, *others = self.columns
        header = ["method", *self._titles(first), *(column.title for column in others)]
        rows = [
            [line.entry.label, *self._cells(first, line), *(self._pair(column, line) for column in others)]
            for line in lines
        ]
        return header, rows

    def _pair(self, column: Column, line: Line) -> str:
        published, ours, _ = column.cells(line)
        ours = ours.split(" ± ")[0]
        return f"{published or '–'} / {ours}" if self._published(column) else ours

    def verdicts(self, lines: Sequence[Line]) -> list[dict[str, str]]:
        by_label = {line.entry.label: line for line in lines}
        return [{"claim": claim.text, "verdict": claim.verdict(by_label)} for claim in self.claims]

    def figure(self, lines: Sequence[Line], path: Path) -> Path:
        if self.draw is not None:
            return self.draw(lines, path)
        panels = [(line.entry.label, done(line.records)) for line in lines if done(line.records)]
        return draw_panels([(lines[0].records[0].stream, panels)], path)

    def _published(self, column: Column) -> bool:
        return any(column.metric in entry.published for entry in self.entries)

    def _titles(self, column: Column) -> list[str]:
        return [f"{column.title} published", "ours", "Δ"] if self._published(column) else [column.title]

    def _cells(self, column: Column, line: Line) -> list[str]:
        cells = column.cells(line)
        return cells if self._published(column) else cells[1:2]


@dataclass(frozen=True)
class Paper:
    """A published work: its experiments in each tier, and what a reader must know about the numbers."""

    name: str
    title: str
    about: str
    caveats: str
    experiments: Callable[[str, str | None], Sequence[Experiment]]
    seeds: str = "0,1"
    quick_seeds: str = "0,1"
    tiers: tuple[str, ...] = ("quick", "paper")

    def find(
        self, experiment: str | None, tier: str, dataset: str | None, only: Sequence[str] = ()
    ) -> list[Experiment]:
        """The experiments that were asked for: one, or all; of their rows all, or `only` those whose label has all
        words of one of these texts."""
        if tier not in self.tiers:
            raise UnknownName("tier", tier, self.tiers)
        found = list(self.experiments(tier, dataset))
        names = [e.name for e in found]
        if experiment not in (None, *names):
            raise UnknownName(f"experiment of '{self.name}' called", str(experiment), names)
        chosen = [e for e in found if experiment in (None, e.name)]
        if not only:
            return chosen
        narrowed = [replace(e, entries=tuple(entry for entry in e.entries if entry.is_one_of(only))) for e in chosen]
        labels = [entry.label for e in chosen for entry in e.entries]
        for text in only:
            if not any(_has(label, text) for label in labels):
                words = sorted({word for label in labels for word in label.split()})
                raise UnknownName(f"row of '{self.name}' called", text, words)
        return [e for e in narrowed if e.entries]


def _has(label: str, text: str) -> bool:
    """Whether a label has every word of a text, whatever the case.

    >>> _has("D-fc d5-5a", "d-fc"), _has("D-fc d5-5a", "D5-5A D-FC"), _has("D-fc d5-5a", "fc")
    (True, True, False)
    """
    return set(text.lower().split()) <= set(label.lower().split())
