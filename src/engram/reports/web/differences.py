"""Whether the best is better: its accuracy, or another metric, minus that of every other, seed by seed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from engram.metrics import LOWER_IS_BETTER
from engram.reports.comparison import Comparison
from engram.reports.comparison_text import how_compared, metric_word, probability, signed, verdict_of
from engram.reports.tables import HEADS
from engram.reports.web.chart import Axis, shares
from engram.reports.web.methods import Method, Topic
from engram.reports.web.words import listed
from engram.statistics import Difference
from engram.study import BY

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
    of_what = "" if compared.by == BY else f"{metric_word(compared.by)} of "
    title = f"{of_what}{compared.differences[0].first} minus each of the others"
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
    """For each way to read accuracies the best in a sentence, and which of the others it is shown to beat or
    to fall below."""
    several = len(topic.comparisons) > 1
    return [
        f"{f'{HEADS[compared.records[0].head]}: '.capitalize() if several else ''}{_headline(topic, compared)}"
        for compared in topic.comparisons
        if compared.best and compared.differences
    ]


def _headline(topic: Topic, compared: Comparison) -> str:
    best = topic.method(compared.differences[0].first)
    value = best.estimate(compared.by)
    interval = "" if math.isnan(value.half) else f" (95 % interval {value.low:.3f} to {value.high:.3f})"
    extreme = "lowest" if compared.by in LOWER_IS_BETTER else "highest"
    others = " of those compared, floors apart" if any(row.floor for row in compared.rows) else ""
    first = f"{best.label} has the {extreme} mean {metric_word(compared.by)}{others}, {value.mean:.3f}{interval}."
    return first + _beside(compared, "better") + _beside(compared, "worse")


def _beside(compared: Comparison, verdict: str) -> str:
    """Which of the others the best is better than, or worse, as floors can be above it."""
    found = [each.second for each in compared.differences if verdict_of(each, compared.by) == verdict]
    return f" It is {verdict} than {listed(found, 8)}." if found else ""
