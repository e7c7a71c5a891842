"""What trackers of experiments are told of a run: names that any of them takes, and numbers step by step."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from engram.metrics import average_accuracy
from engram.record import Record


class Point(NamedTuple):
    """A number at a step."""

    name: str
    value: float
    step: int


def points(record: Record) -> Iterator[Point]:
    """Accuracies after every task, learning curves within them, and in the end every metric that is defined."""
    for learned, row in enumerate(record.accuracy, start=1):
        yield from (Point(f"accuracy/task_{task}", value, learned) for task, value in enumerate(row, start=1))
        yield Point("accuracy/average", average_accuracy(record.accuracy[:learned]), learned)
    for task, curve in enumerate(record.curves, start=1):
        if curve is not None:
            yield from (Point(f"curve/task_{task}", v, step) for step, v in zip(curve.steps, curve.accuracy))
    tasks = len(record.rows)
    yield from (Point(f"metric/{name}", value, tasks) for name, value in record.metrics().items())
    costs = {"bytes": record.bytes["total"], "flops": record.flops, "seconds": record.seconds}
    yield from (Point(f"cost/{name}", float(value), tasks) for name, value in costs.items())


def defined_points(record: Record) -> list[Point]:
    return [point for point in points(record) if math.isfinite(point.value)]


def title(record: Record) -> str:
    """A short name of a run that is a file's name too, whatever the learner is called.

    >>> plain_name("../mine.py:MAS")
    'mine.py_MAS'
    """
    return f"{plain_name(record.learner)}-seed{record.seed}-{record.key[:10]}"


def plain_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9.+@-]+", "_", text).lstrip("._-") or "unnamed"
