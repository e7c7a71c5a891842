"""What a method reaches against what it costs, or against what else it loses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from engram.reports.tables import quantity
from engram.reports.web.chart import Axis, Chart, ChartLine, Dot, logarithmic, shares
from engram.reports.web.csv_file import CsvFile
from engram.reports.web.methods import MeanInterval, Method, Topic

MOST_LABELS = 40  # where there are more points, only those on the front are named; the others are told by pointing
COSTS = {"bytes": ("memory", "B"), "flops": ("compute", "FLOP")}
SIZE = {"width": 360.0, "height": 280.0, "margins": (12.0, 14.0, 38.0, 46.0)}


def cost_planes(topic: Topic) -> list[Chart]:
    """Accuracy against each cost that was counted."""
    return [cost_plane(topic, cost) for cost in COSTS if any(m.mean(cost) > 0 for m in topic.finished)]


def cost_plane(topic: Topic, cost: str) -> Chart:
    """Accuracy against a cost, with the line of those that no other beats in both."""
    title, unit = COSTS[cost]
    methods = [m for m in topic.finished if m.mean(cost) > 0 and not math.isnan(m.mean("average_accuracy"))]
    costs, accuracies = [m.estimate(cost) for m in methods], [m.estimate("average_accuracy") for m in methods]
    front = pareto([(c.mean, a.mean) for c, a in zip(costs, accuracies, strict=True)])
    across = logarithmic(f"{title}, log scale", [value for c in costs for value in (c.mean, c.low, c.high)], unit)
    up = shares("accuracy", _ends(accuracies))
    dots = [
        _dot(m, c, a, f"{m.label}: accuracy {_told(a)}, {title} {quantity(c.mean, unit)}" + _word(place in front))
        for place, (m, c, a) in enumerate(zip(methods, costs, accuracies, strict=True))
    ]
    if len(dots) > MOST_LABELS:
        dots = [dot if place in front else replace(dot, label="") for place, dot in enumerate(dots)]
    on_front = [methods[place].label for place in front]
    text = f"Accuracy against {title}. No other learner has more accuracy for less {title}: {', '.join(on_front)}."
    steps = _staircase([(costs[p].mean, accuracies[p].mean) for p in front], across, up)
    lines = [ChartLine(steps, "front", "front")] if front else []
    return Chart(f"Accuracy against {title}", text, across, up, lines, dots, **SIZE)  # type: ignore[arg-type]


def _word(is_on_front: bool) -> str:
    return "; on the Pareto front" if is_on_front else ""


def pareto(points: Sequence[tuple[float, float]]) -> list[int]:
    """The places of those for which no other costs as little and reaches as much, and is better in one of the two;
    from the cheapest on.

    >>> pareto([(1, 0.5), (2, 0.4), (3, 0.9), (3, 0.9)])
    [0, 2, 3]
    """
    free = [
        place
        for place, (cost, value) in enumerate(points)
        if not any(c <= cost and v >= value and (c < cost or v > value) for c, v in points)
    ]
    return sorted(free, key=lambda place: points[place])


def _staircase(front: Sequence[tuple[float, float]], across: Axis, up: Axis) -> list[tuple[float, float]]:
    """From the floor below the cheapest, up and to the right, to the edge behind the best."""
    corners: list[tuple[float, float]] = []
    height = up.low
    for cost, value in front:
        corners += [(cost, height), (cost, value)]
        height = value
    return [*corners, (across.high, height)]


def loss_plane(topic: Topic) -> Chart | None:
    """Forgetting against intransigence; None where no reference was trained to measure it against."""
    methods = [m for m in topic.finished if not math.isnan(m.mean("intransigence") + m.mean("forgetting_rwalk"))]
    if not methods:
        return None
    across, up = ([m.estimate(name) for m in methods] for name in ("forgetting_rwalk", "intransigence"))
    dots = [
        _dot(m, f, i, f"{m.label}: forgetting {_told(f)}, intransigence {_told(i)}")
        for m, f, i in zip(methods, across, up, strict=True)
    ]
    if len(dots) > MOST_LABELS:
        dots = [replace(dot, label="") for dot in dots]
    text = f"Forgetting and intransigence, both better low: {'; '.join(dot.tip for dot in dots)}."
    axes = shares("forgetting", _ends(across)), shares("intransigence", _ends(up))
    return Chart("Forgetting against intransigence", text, *axes, (), dots, **SIZE)  # type: ignore[arg-type]


def _dot(method: Method, across: MeanInterval, up: MeanInterval, tip: str) -> Dot:
    halves = (across.half, up.half)
    css = f"c{method.colour}"
    return Dot(across.mean, up.mean, tip, css, method.shape, method.label, halves, method.mark)


def _ends(estimates: Sequence[MeanInterval]) -> list[float]:
    return [value for each in estimates for value in (each.mean, each.low, each.high)]


def _told(value: MeanInterval) -> str:
    return f"{value.mean:.3f}" if math.isnan(value.half) else f"{value.mean:.3f} ± {value.half:.3f}"


def csv_file(topic: Topic) -> CsvFile:
    """What the planes show: a row a method."""
    metrics = ("average_accuracy", "forgetting_rwalk", "intransigence", "bytes", "flops")
    header = ["learner", *(f"{metric}_{end}" for metric in metrics for end in ("mean", "low", "high")), "n"]
    rows = [
        [
            method.label,
            *(end for metric in metrics for e in [method.estimate(metric)] for end in (e.mean, e.low, e.high)),
            len(method.done),
        ]
        for method in topic.methods
    ]
    return CsvFile(f"{topic.name} accuracy and costs", header, rows)
