"""Several methods on one stream beside each other: which row is best, and which differences are real, as values."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from engram.metrics import LOWER_IS_BETTER, spread
from engram.record import Record
from engram.reports.content import Column, Number, Table, TableRow
from engram.reports.summary import cost_spreads, done, machines, metric_spreads
from engram.statistics import DIFFERENT, FEWEST, Difference, differences
from engram.study import BY, StudyRow

COSTS = {"bytes": "memory", "flops": "compute", "seconds": "time"}


@dataclass(frozen=True)
class ComparedRow:
    """A method with all its seeds. A `floor` stands beside the others and is not compared for the best."""

    label: str
    records: tuple[Record, ...]
    floor: bool = False

    @property
    def marked(self) -> bool:
        """Whether its results were chosen by test data."""
        return any(record.warning for record in self.records)

    @property
    def unfinished(self) -> int:
        return len(self.records) - len(done(self.records))

    def by_seed(self, metric: str) -> dict[int, float]:
        return {record.seed: record.metrics().get(metric, math.nan) for record in done(self.records)}

    def mean(self, metric: str) -> float:
        return spread(self.by_seed(metric).values())["mean"]


@dataclass(frozen=True, repr=False)
class Comparison:
    """Rows on one stream, compared `by` a metric."""

    rows: tuple[ComparedRow, ...]
    by: str = BY

    @property
    def records(self) -> list[Record]:
        return [record for row in self.rows for record in row.records]

    @property
    def stream(self) -> str:
        return self.records[0].stream

    @property
    def contestants(self) -> list[ComparedRow]:
        return [row for row in self.rows if not row.floor]

    @cached_property
    def eligible(self) -> list[ComparedRow]:
        """Rows that can be best: whole ones whose metric is defined. A row that was chosen by test data is none beside
        one that was not."""
        whole = [row for row in self.contestants if not row.unfinished and not math.isnan(row.mean(self.by))]
        return [row for row in whole if not row.marked] or whole

    @cached_property
    def best(self) -> ComparedRow | None:
        """The first of the best means; None where no row can be told to be it."""
        sign = -1 if self.by in LOWER_IS_BETTER else 1
        return max(self.eligible, key=lambda row: sign * row.mean(self.by), default=None)

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """All that were looked at in order to find the best and to set it beside floors; the best comes first."""
        best = self.best.label if self.best else None
        looked_at = [(a, b) for a, b in itertools.combinations(self.rows, 2) if not (a.floor and b.floor)]
        return [(b.label, a.label) if b.label == best else (a.label, b.label) for a, b in looked_at]

    @cached_property
    def all_differences(self) -> list[Difference]:
        """Of every pair, corrected over all of them."""
        return differences({row.label: row.by_seed(self.by) for row in self.rows}, self.pairs)

    @property
    def differences(self) -> list[Difference]:
        """The best row minus each of the others."""
        return [each for each in self.all_differences if self.best and each.first == self.best.label]

    @property
    def notes(self) -> list[str]:
        """What a reader must know before believing the best row."""
        return [*_about_the_best(self), *_about_settings(self.contestants), *_about_seeds(self)]

    @cached_property
    def table(self) -> Table:
        """Every metric and cost that some row has, mean and deviation over its seeds."""
        metrics = dict.fromkeys(name for row in self.rows for name in metric_spreads(row.records))
        columns = [Column(name, name.replace("_", " ")) for name in metrics]
        columns += [Column(name, title) for name, title in COSTS.items()]
        rows = [TableRow((row.label, self.kind(row)), tuple(_numbers(row, columns))) for row in self.rows]
        return Table(("row", "kind"), tuple(columns), tuple(rows), self.stream, "ours")

    def kind(self, row: ComparedRow) -> str:
        """best, floor or nothing. One row alone is not the best of any."""
        if row.floor:
            return "floor"
        return "best" if row is self.best and len(self.contestants) > 1 else ""

    def to_dict(self) -> dict[str, Any]:
        return {
            "stream": self.stream,
            "by": self.by,
            "best": self.best.label if self.best else None,
            "rows": [self._row_dict(row) for row in self.rows],
            "differences": [_difference_dict(each) for each in self.all_differences],
            "notes": self.notes,
            "machines": machines(self.records),
        }

    def _row_dict(self, row: ComparedRow) -> dict[str, Any]:
        first = row.records[0]
        return {
            "label": row.label,
            "kind": self.kind(row),
            "learner": first.learner,
            "network": first.network,
            "settings": dict(first.settings),
            "protocol": first.protocol,
            "head": first.head,
            "warning": first.warning,
            "seeds": [record.seed for record in row.records],
            "metrics": metric_spreads(row.records),
            "costs": cost_spreads(row.records),
            "runs": [record.to_json() for record in row.records],
        }

    def __repr__(self) -> str:
        from engram.reports.comparison_text import as_text

        return as_text(self)


def comparisons(rows: Iterable[StudyRow], records: Iterable[Record], by: str) -> list[Comparison]:
    """One for each stream; the records come in the order of the rows' runs."""
    answers = iter(records)
    compared = [ComparedRow(row.label, tuple(next(answers) for _ in row.runs), row.floor) for row in rows]
    return [Comparison(tuple(here), by) for here in by_stream(compared)]


def by_stream(rows: Sequence[ComparedRow]) -> list[list[ComparedRow]]:
    streams = dict.fromkeys(row.records[0].stream for row in rows)
    return [[row for row in rows if row.records[0].stream == stream] for stream in streams]


def _numbers(row: ComparedRow, columns: Sequence[Column]) -> Iterable[Number | None]:
    found: Mapping[str, Mapping[str, float]] = {**metric_spreads(row.records), **cost_spreads(row.records)}
    for column in columns:
        value = found.get(column.metric)
        yield None if value is None else Number(value["mean"], value["std"], int(value["n"]))


def _difference_dict(each: Difference) -> dict[str, Any]:
    return {
        "first": each.first,
        "second": each.second,
        "seeds": each.n,
        "difference": each.mean,
        "interval": [each.low, each.high],
        "p": each.p,
        "p_corrected": each.corrected,
        "verdict": each.verdict,
    }


def _about_the_best(comparison: Comparison) -> list[str]:
    whole = [row for row in comparison.contestants if not row.unfinished]
    notes = [
        f"{row.label} cannot be the best: {row.unfinished} of its {len(row.records)} seeds are not done"
        for row in comparison.contestants
        if row.unfinished
    ]
    undefined = [row.label for row in whole if math.isnan(row.mean(comparison.by))]
    if undefined:
        notes.append(f"{', '.join(undefined)} cannot be the best: {comparison.by} is not defined there")
    marked = [row.label for row in whole if row.marked]
    if marked and len(marked) < len(whole):
        notes.append(f"{', '.join(marked)} cannot be the best beside the others: chosen by test data (*)")
    elif marked and len(marked) > 1:
        notes.append("every row was chosen by test data (*), and so was the best of them: expect less on new data")
    return [*notes, *_about_equals(comparison)]


def _about_equals(comparison: Comparison) -> list[str]:
    """The best mean alone does not make a row better than the others."""
    others = {row.label for row in comparison.eligible}
    found = [each for each in comparison.differences if each.second in others and each.n]
    equals = [each.second for each in found if each.verdict != DIFFERENT]
    if not equals or comparison.best is None:
        return []
    return [f"{comparison.best.label} has the best mean, but is not shown to be better than {', '.join(equals)}"]


def _about_settings(rows: Sequence[ComparedRow]) -> list[str]:
    times = Counter(row.records[0].learner for row in rows)
    several = [learner for learner, count in times.items() if count > 1]
    if not several:
        return []
    return [
        f"rows of {' and of '.join(several)} differ in settings only: to take the best of them is to choose by test "
        "data, and its accuracy flatters; --protocol stream-level chooses by validation data"
    ]


def _about_seeds(comparison: Comparison) -> list[str]:
    fewest = min(len(row.records) for row in comparison.rows)
    if fewest >= FEWEST or len(comparison.rows) < 2:
        return []
    return [f"{fewest} seed{'s are' if fewest > 1 else ' is'} too few to tell a difference; --seeds 0-4 are five"]
