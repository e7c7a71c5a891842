"""The table of a topic: what every method reached, with intervals, and what it took."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from engram.metrics import METRICS
from engram.record import Record
from engram.reports.comparison_text import metric_word
from engram.reports.tables import quantity
from engram.reports.web.chart import Axis, shares
from engram.reports.web.csv_file import CsvFile
from engram.reports.web.differences import WHISKER
from engram.reports.web.methods import MeanInterval, Method, Topic

ACCURACY = "average_accuracy"
TITLES = {
    "forgetting_rwalk": "forgetting",
    "intransigence": "intransigence",
}
COSTS = {"bytes": ("memory", "B"), "flops": ("compute", "FLOP")}


@dataclass(frozen=True)
class Shown:
    """What is read, what it is sorted by, and the interval below it."""

    text: str
    value: float
    interval: str = ""


@dataclass(frozen=True)
class ResultRow:
    method: Method
    protocol: str
    kind: str  # best, floor or nothing
    accuracy: Shown
    whisker: tuple[float, float, float] | None  # from, to and the middle of the interval, along WHISKER
    cells: Sequence[Shown]
    runs: str


@dataclass(frozen=True)
class Results:
    """Rows, and the titles of their columns with what each means."""

    columns: Sequence[tuple[str, str]]
    rows: Sequence[ResultRow]
    axis: Axis
    metrics: Sequence[tuple[str, str, Sequence[Shown]]]  # every metric: its name, its meaning and a cell a method
    csv_file: CsvFile

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """The first and the last along the column of intervals."""
        ends = [self.axis.ticks[0], self.axis.ticks[-1]] if len(self.axis.ticks) > 1 else list(self.axis.ticks)
        return [(round(WHISKER * self.axis.at(value), 1), text) for value, text in ends]


def results(topic: Topic) -> Results:
    titles = dict.fromkeys([*TITLES, *([topic.by] if topic.by != ACCURACY else [])])
    metrics = [name for name in titles if any(not math.isnan(m.mean(name)) for m in topic.finished)]
    accuracies = [method.estimate(ACCURACY) for method in topic.finished]
    axis = shares("accuracy", [v for a in accuracies for v in (a.mean, a.low, a.high)])
    columns = [(TITLES.get(name, metric_word(name)), METRICS[name]) for name in metrics]
    columns += [("memory", "what the learner keeps at the end"), ("compute", "operations of training, its own counts")]
    columns += [("time", "mean wall-clock time of a run's training on the machine that ran it")]
    rows = [_row(method, metrics, axis, topic.kinds[method.label]) for method in topic.methods]
    return Results(columns, rows, axis, _all_metrics(topic), csv_file(topic))


def _all_metrics(topic: Topic) -> list[tuple[str, str, list[Shown]]]:
    names = [name for name in METRICS if any(name in own for m in topic.finished for own in m.measured)]
    cells = {name: [_cell(method.estimate(name)) for method in topic.finished] for name in names}
    return [(name.replace("_", " "), METRICS[name], cells[name]) for name in names]


def _row(method: Method, metrics: Sequence[str], axis: Axis, kind: str) -> ResultRow:
    accuracy = method.estimate(ACCURACY)
    whisker = None
    if accuracy.n and not math.isnan(accuracy.mean):
        half = 0.0 if math.isnan(accuracy.half) else accuracy.half
        ends = (accuracy.mean - half, accuracy.mean + half, accuracy.mean)
        low, high, middle = (round(WHISKER * axis.at(value), 1) for value in ends)
        whisker = low, high, middle
    return ResultRow(
        method=method,
        protocol=method.first.marked_protocol,
        kind=kind,
        accuracy=_cell(accuracy),
        whisker=whisker,
        cells=[*(_cell(method.estimate(name)) for name in metrics), *_costs(method)],
        runs=f"{len(method.done)} of {len(method.records)}" if method.shortfall else str(len(method.records)),
    )


def _cell(value: MeanInterval) -> Shown:
    if math.isnan(value.mean):
        return Shown("–", math.nan)
    interval = "" if math.isnan(value.half) else f"{value.low:.3f} to {value.high:.3f}"
    return Shown(f"{value.mean:.3f}", value.mean, interval)


def _costs(method: Method) -> list[Shown]:
    if not method.done:
        return [Shown("–", math.nan)] * 3
    costs = [Shown(_cost(method.mean(name), unit), method.mean(name)) for name, (_, unit) in COSTS.items()]
    return [*costs, Shown(f"{method.mean('seconds'):.2f} s", method.mean("seconds"))]


def csv_file(topic: Topic) -> CsvFile:
    """Every metric of every run: what the table is the mean of."""
    names = list(dict.fromkeys(name for method in topic.methods for own in method.measured for name in own))
    rows = [
        [method.label, record.protocol, record.head, record.seed, record.status, record.key, *_values(method, k, names)]
        for method in topic.methods
        for k, record in enumerate(_ordered(method))
    ]
    return CsvFile(f"{topic.name} runs", ["learner", "protocol", "head", "seed", "status", "key", *names], rows)


def _ordered(method: Method) -> list[Record]:
    return [*method.done, *(record for record in method.records if record.status != "done")]


def _values(method: Method, place: int, names: Sequence[str]) -> list[float]:
    own = method.measured[place] if place < len(method.measured) else {}
    return [own.get(name, math.nan) for name in names]


def _cost(value: float, unit: str) -> str:
    return "not counted" if math.isnan(value) else quantity(value, unit)
