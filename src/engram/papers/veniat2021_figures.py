"""Figures of Veniat et al. 2021: all dimensions at once, the long stream task by task, the paths that were found."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from engram.metrics import spread
from engram.papers.cross_table import Cells, by_cell
from engram.papers.paper import Answer
from engram.papers.veniat2021_models import ALEXNET, STANDARD, STREAMS
from engram.papers.veniat2021_tables import (
    AVERAGE,
    COMPUTE,
    FORGETTING,
    GAIN,
    SIZE,
    models,
    number,
    over_streams,
    pairs,
    transfer_streams,
)
from engram.record import Record, makers
from engram.reports.content import Bars, Column, Curves, Number, Paths, Radar, Table, TableRow
from engram.reports.summary import done

ACCURACY, KEPT = "accuracy on the tasks so far", "memory (1: the most that any of them keeps)"


FEWEST = 3  # learners of which it can be said who is best and who is worst


def radar(answers: Sequence[Answer]) -> Radar | None:
    """Figures 1 and 6, of the learners that were trained on all streams that are there. The paper does not say how its
    axes are normalised: here the worst of all learners is in the middle and the best on the rim; of memory and
    operations that is the least, and they are compared by their logarithms."""
    whole = _whole(answers)
    if len(whole) < FEWEST:
        return None
    axes = list(next(iter(whole.values())))
    panels: dict[str, dict[str, list[float]]] = {"ResNet": {}, "AlexNet": {}}
    for model, values in whole.items():
        line = [_place(values[axis], [v[axis] for v in whole.values()]) for axis in axes]
        panels["AlexNet" if ALEXNET in model else "ResNet"][model] = line
    return Radar(tuple(axes), {network: lines for network, lines in panels.items() if lines})


def left_out(answers: Sequence[Answer]) -> list[str]:
    """Who is not in that figure, and why."""
    whole = _whole(answers)
    missing = [model for model in models(by_cell(answers)) if model not in whole]
    if len(whole) < FEWEST:
        return [f"No figure: fewer than {FEWEST} learners were trained on all of these streams."]
    return [f"Not in the figure, because a stream is missing: {', '.join(missing)}."] if missing else []


def _whole(answers: Sequence[Answer]) -> dict[str, dict[str, float]]:
    """The learners of which every dimension is known."""
    cells = by_cell(answers)
    found = {model: _dimensions(cells, model) for model in models(cells)}
    return {model: values for model, values in found.items() if not any(map(math.isnan, values.values()))}


def _dimensions(cells: Cells, model: str) -> dict[str, float]:
    """What is good about a learner: more is better."""
    parts = {"A": AVERAGE, "F": FORGETTING, "memory": SIZE, "FLOPs": COMPUTE}
    means = {name: over_streams(cells, model, measure) for name, measure in parts.items()}
    known = {name: math.nan if found is None else found.mean for name, found in means.items()}
    for name in ("memory", "FLOPs"):
        known[name] = -math.log(known[name]) if known[name] > 0 else math.nan
    gains = {stream: number(cells, model, stream, GAIN, False) for stream in transfer_streams(cells)}
    return known | {f"T({stream})": math.nan if gain is None else gain.mean for stream, gain in gains.items()}


def _place(value: float, everybody: Sequence[float]) -> float:
    """From 0 for the worst to 1 for the best; 1 where all are the same."""
    lowest, highest = min(everybody), max(everybody)
    return (value - lowest) / (highest - lowest) if highest > lowest else 1.0


def bars(answers: Sequence[Answer]) -> Bars:
    """Figure 3: average accuracy on the two standard streams."""
    cells = by_cell(answers)
    panels = {}
    for stream in STANDARD:
        found = {model: number(cells, model, stream, AVERAGE, False) for model in models(cells)}
        panels[stream] = {model: value for model, value in found.items() if value is not None}
    return Bars(AVERAGE.column, {stream: values for stream, values in panels.items() if values})


def along(stream: str) -> Callable[[Sequence[Answer]], Curves]:
    """Figure 4: after every task the accuracy on all tasks so far, and what is kept."""

    def curves(answers: Sequence[Answer]) -> Curves:
        cells = by_cell(answers)
        records = {model: [pair.record for pair in pairs(cells, model, stream)] for model in models(cells)}
        accuracy = {model: _mean([_running(record) for record in own]) for model, own in records.items() if own}
        kept = {model: _mean([_sizes(record) for record in own]) for model, own in records.items() if own}
        most = max((max(line) for line in kept.values()), default=1.0)
        shares = {model: [size / most for size in line] for model, line in kept.items()}
        name = STREAMS[stream].stream
        return Curves({(name, ACCURACY): accuracy, (name, KEPT): shares}, {}, "tasks learned so far")

    return curves


def _running(record: Record) -> list[float]:
    """A_1, A_2, … Where only the newest task was measured, what was known of the others when they were learned: of
    learners that forget nothing that is the same."""
    lines: list[float] = []
    known: dict[int, float] = {}
    for row in record.accuracy:
        known |= {task: value for task, value in enumerate(row) if not math.isnan(value)}
        lines.append(sum(known.values()) / len(known) if known else math.nan)
    return lines


def _sizes(record: Record) -> list[float]:
    return [row.cost.bytes["total"] / 1e6 for row in record.rows]


def _mean(lines: Sequence[Sequence[float]]) -> list[float]:
    return [spread(values)["mean"] for values in zip(*lines, strict=True)]


def path_of(record: Record) -> list[list[int]]:
    """The modules of every task, from the first to the outputs; nothing where the learner has none."""
    return [list(row.notes["path"]) for row in record.rows if "path" in row.notes]


def path_table(answers: Sequence[Answer]) -> list[Table]:
    """How many modules of each task's path are shared with earlier tasks, and how many are new."""
    rows = []
    for answer in answers:
        found = [makers(record) for record in done(answer.records)]
        for task in min(found, key=len, default=()):
            shared = spread([float(sum(maker != task for maker in own[task])) for own in found])
            new = spread([float(own[task].count(task)) for own in found])
            numbers = tuple(Number(each["mean"], each["std"], len(found)) for each in (shared, new))
            rows.append(TableRow((answer.question.label, str(task)), numbers))
    columns = (Column("reused", "modules reused", 1), Column("new", "new modules", 1))
    title = "Means over seeds; the figure shows the first one."
    return [Table(("search", "task"), columns, tuple(rows), title, "ours")]


def paths(answers: Sequence[Answer]) -> Paths:
    """Figures 7 and 8, and the same for other streams: of the first seed. What several searches found is drawn once."""
    named: dict[str, list[str]] = {}
    graphs: dict[str, Mapping[str, Sequence[int]]] = {}
    for answer in answers:
        for record in done(answer.records)[:1]:
            found = {f"task {k}": path for k, path in enumerate(path_of(record), 1)}
            if found:
                named.setdefault(str(found), []).append(answer.question.label)
                graphs[str(found)] = found
    return Paths({", ".join(labels): graphs[key] for key, labels in named.items()})
