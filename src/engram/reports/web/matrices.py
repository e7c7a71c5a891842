"""Accuracies on every task after every task: as lines over time, as maps, and as the numbers that a script averages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engram.record import Record
from engram.reports.web.chart import Axis, Chart, ChartLine, accuracies, counted, shade
from engram.reports.web.csv_file import CsvFile
from engram.reports.web.methods import Method, Topic, mean_interval

NUMBERED = 12  # tasks up to which there is room for numbers in a map


@dataclass(frozen=True)
class Life:
    """Of a run, after each of the tasks that are shown: the average over all tasks seen, and the accuracy on those
    that are shown."""

    seed: int
    average: tuple[float, ...]
    on: tuple[tuple[float, ...], ...]


def life(record: Record, tasks: Sequence[int]) -> Life:
    rows = record.accuracy
    known = [k for k in tasks if k < len(rows)]
    averages = tuple(math.fsum(rows[k]) / len(rows[k]) if rows[k] else math.nan for k in known)
    return Life(record.seed, averages, tuple(tuple(rows[k][j] for j in known if j <= k) for k in known))


def lives(method: Method, tasks: Sequence[int]) -> list[Life]:
    return [life(record, tasks) for record in method.done]


def means(found: Sequence[Life]) -> tuple[list[float], list[list[float]]]:
    """Over the seeds: the averages, and the matrix."""
    length = max((len(own.average) for own in found), default=0)
    whole = [own for own in found if len(own.average) == length]
    average = [mean_interval(own.average[k] for own in whole).mean for k in range(length)]
    return average, [[mean_interval(own.on[k][j] for own in whole).mean for j in range(k + 1)] for k in range(length)]


def panels(topic: Topic) -> list[tuple[Method, Chart]]:
    """One for each method, all on one scale."""
    tasks = topic.shown
    values = [value for m in topic.finished for own in lives(m, tasks) for row in own.on for value in row]
    up = accuracies(values)
    return [(method, panel(topic, method, up)) for method in topic.methods]


def panel(topic: Topic, method: Method, up: Axis) -> Chart:
    """A line for each task from when it is learned to the end, mean over seeds; thin ones for the average of each seed
    over the tasks seen, a thick one for their mean."""
    tasks = topic.shown
    found = lives(method, tasks)
    average, matrix = means(found)
    numbers = [k + 1.0 for k in tasks[: len(average)]]
    last = len(numbers) - 1  # learned at the end, it is a point
    lines = [
        ChartLine(
            [(numbers[k], matrix[k][j]) for k in range(j, last + 1)],
            f"task {shade(j, last + 1)}{' lone' if j == last else ''}",
            str(j),
        )
        for j in range(last + 1)
    ]
    seeds = [ChartLine(list(zip(numbers, own.average, strict=True)), "seed", f"seed {own.seed}") for own in found]
    middle = ChartLine(list(zip(numbers, average, strict=True)), "average", "average")
    return Chart(
        name=f"{method.label}: accuracy over time",
        text=_told(method, numbers, average, matrix),
        across=counted("tasks learned", topic.tasks),
        up=up,
        lines=[*lines, *(seeds if len(seeds) > 1 else []), middle],
        attributes={"data-panel": f"{topic.place}-{method.mark}", "data-low": f"{up.low:g}"},
    )


def _told(method: Method, numbers: Sequence[float], average: Sequence[float], matrix: Sequence[Sequence[float]]) -> str:
    if not average:
        return f"{method.label}: {method.shortfall}."
    told = ", ".join(f"{value:.3f} after task {int(k)}" for k, value in zip(numbers, average, strict=True))
    first = f" Task 1 went from {matrix[0][0]:.3f} to {matrix[-1][0]:.3f}." if len(average) > 1 else ""
    return f"{method.label}: average accuracy over the tasks seen {told}.{first}"


def script_data(topic: Topic) -> dict[str, Any]:
    """What a script needs to average over other seeds: numbers to four digits, null where nothing was measured."""
    tasks = topic.shown
    runs = {
        method.mark: [
            {"seed": own.seed, "average": list(map(_brief, own.average)), "on": [list(map(_brief, r)) for r in own.on]}
            for own in lives(method, tasks)
        ]
        for method in topic.methods
    }
    return {"tasks": [k + 1 for k in tasks], "runs": runs}


def _brief(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)


def csv_file(topic: Topic) -> CsvFile:
    """A row for each run and moment."""
    tasks = topic.shown
    header = ["learner", "seed", "after task", "average", *(f"on task {k + 1}" for k in tasks)]
    rows = [
        [method.label, own.seed, tasks[k] + 1, own.average[k], *own.on[k]]
        for method in topic.methods
        for own in lives(method, tasks)
        for k in range(len(own.average))
    ]
    return CsvFile(f"{topic.name} accuracy over time", header, rows)


@dataclass(frozen=True)
class Square:
    x: float
    y: float
    level: int
    text: str


@dataclass(frozen=True)
class HeatMap:
    """A triangle of squares: a row after each task, a column on each task."""

    name: str
    text: str
    size: float
    squares: Sequence[Square]
    ticks: Sequence[tuple[float, str]]
    key: str

    @property
    def paths(self) -> list[tuple[int, str]]:
        """All squares of a colour as one path, which is much shorter than so many elements."""
        side = f"h{self.size:g}v{self.size:g}h-{self.size:g}z"
        found: dict[int, str] = {}
        for square in self.squares:
            found[square.level] = f"{found.get(square.level, '')}M{square.x:g} {square.y:g}{side}"
        return sorted(found.items())


SIDE = 200.0


def heat_map(topic: Topic, method: Method) -> HeatMap:
    tasks = topic.shown
    _, matrix = means(lives(method, tasks))
    size = round(SIDE / max(len(tasks), 1), 1)
    numbers = len(tasks) <= NUMBERED
    squares = [
        Square(round(j * size, 1), round(k * size, 1), level(value), short(value) if numbers else "")
        for k, row in enumerate(matrix)
        for j, value in enumerate(row)
    ]
    every = math.ceil(len(tasks) / 10)
    ticks = [(round((place + 0.5) * size, 1), str(k + 1)) for place, k in enumerate(tasks) if place % every == 0]
    last = ", ".join(f"task {k + 1} {value:.3f}" for k, value in zip(tasks, matrix[-1], strict=False)) if matrix else ""
    text = f"{method.label}, accuracy after the last task: {last}." if last else f"{method.label}: {method.shortfall}."
    name = f"{method.label}: accuracy on every task after every task"
    return HeatMap(name, text, size, squares, ticks, f"{topic.place}-{method.mark}")


def map_file(topic: Topic) -> CsvFile:
    """What the maps show: means over seeds."""
    tasks = topic.shown
    rows = [
        [method.label, tasks[k] + 1, *row]
        for method in topic.finished
        for k, row in enumerate(means(lives(method, tasks))[1])
    ]
    return CsvFile(
        f"{topic.name} accuracy matrix", ["learner", "after task", *(f"on task {k + 1}" for k in tasks)], rows
    )


LEVELS = 20  # of colour from 0 to 1; the style sheet has as many and one more


def level(value: float) -> int:
    """The colour of an accuracy; -1 where it is not known."""
    return -1 if math.isnan(value) else round(LEVELS * min(max(value, 0.0), 1.0))


def short(value: float) -> str:
    """
    >>> short(0.934), short(1.0), short(float("nan"))
    ('.93', '1.0', '–')
    """
    if math.isnan(value):
        return "–"
    return f"{value:.1f}" if value > 0.995 else f"{value:.2f}".removeprefix("0")
