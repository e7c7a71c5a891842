"""Whether the best is better: its accuracy minus that of every other, seed by seed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from engram.reports.comparison import Comparison
from engram.reports.comparison_text import how_compared, probability, signed, verdict_of
from engram.reports.tables import HEADS
from engram.reports.web.chart import Axis, shares
from engram.reports.web.methods import Method, Topic
from engram.reports.web.words import listed
from engram.statistics import DIFFERENT, Difference

WHISKER = 150  # how wide an interval is drawn


@dataclass(frozen=True)
class DifferenceRow:
    """One of the others. The whisker has the ends and the middle of the interval, along WHISKER."""

    method: Method
    mean: str
    interval: str
    p: str
    verdict: str
    whisker: tuple[float, float, float]


@dataclass(frozen=True)
class DifferenceTable:
    title: str
    rows: Sequence[DifferenceRow]
    zero: float
    how: str


def difference_tables(topic: Topic) -> list[DifferenceTable]:
    """One for each way to read accuracies in which several can be compared."""
    return [_table(topic, compared) for compared in topic.comparisons if compared.differences]


def _table(topic: Topic, compared: Comparison) -> DifferenceTable:
    found = [each for each in compared.differences if not math.isnan(each.mean)]
    axis = shares("difference", [0.0, *(value for each in found for value in (each.mean, each.low, each.high))])
    rows = [_row(topic, each, compared.by, axis) for each in found]
    title = f"{compared.differences[0].first} minus each of the others"
    how = "" if all(math.isnan(each.p) for each in found) else how_compared(compared)
    return DifferenceTable(title, rows, round(WHISKER * axis.at(0.0), 1), how)


def _row(topic: Topic, each: Difference, by: str, axis: Axis) -> DifferenceRow:
    known = not math.isnan(each.low)
    ends = (each.low, each.high, each.mean) if known else (each.mean,) * 3
    low, high, middle = (round(WHISKER * axis.at(value), 1) for value in ends)
    return DifferenceRow(
        method=topic.method(each.second),
        mean=signed(each.mean),
        interval=f"{signed(each.low)} to {signed(each.high)}" if known else "",
        p=probability(each.corrected),
        verdict=verdict_of(each, by),
        whisker=(low, high, middle),
    )


def headlines(topic: Topic) -> list[str]:
    """For each way to read accuracies the best in a sentence, and which of the others it is shown to beat."""
    several = len(topic.comparisons) > 1
    return [
        f"{f'{HEADS[compared.records[0].head]}: '.capitalize() if several else ''}{_headline(topic, compared)}"
        for compared in topic.comparisons
        if compared.best and compared.differences
    ]


def _headline(topic: Topic, compared: Comparison) -> str:
    best = topic.method(compared.differences[0].first)
    accuracy = best.estimate(compared.by)
    interval = "" if math.isnan(accuracy.half) else f" (95 % interval {accuracy.low:.3f} to {accuracy.high:.3f})"
    different = [each.second for each in compared.differences if each.verdict == DIFFERENT]
    better = f" It is better than {listed(different, 8)}." if different else ""
    return f"{best.label} has the highest mean accuracy, {accuracy.mean:.3f}{interval}.{better}"
