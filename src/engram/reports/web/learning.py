"""Learning curves: accuracy on a task while it is learned, where that was measured."""

from __future__ import annotations

from collections.abc import Sequence

from engram.reports.web.chart import Axis, Chart, ChartLine, accuracies, shade, steps
from engram.reports.web.csv_file import CsvFile
from engram.reports.web.methods import Method, Topic, mean_interval

TASKS, MOMENTS = 10, 25  # at most, of one method

Points = list[tuple[float, float]]


def panels(topic: Topic) -> list[tuple[Method, Chart]]:
    """A panel for each method that has curves, all on one scale of steps."""
    found = [(method, curves) for method in topic.finished if (curves := _curves(method))]
    points = [point for _, curves in found for line in curves.values() for point in line]
    if not points:
        return []
    across = steps("steps into the task", [step for step, _ in points])
    up = accuracies(value for _, value in points)
    return [(method, _chart(topic, method, curves, across, up)) for method, curves in found]


def _chart(topic: Topic, method: Method, curves: dict[int, Points], across: Axis, up: Axis) -> Chart:
    lines = [ChartLine(p, f"task {shade(k, topic.tasks)}", name=f"task {k + 1}") for k, p in curves.items()]
    ends = ", ".join(f"task {k + 1} from {p[0][1]:.3f} to {p[-1][1]:.3f}" for k, p in curves.items())
    return Chart(
        name=f"{method.label}: learning curves",
        text=f"{method.label}, accuracy on the task that is being learned: {ends}.",
        across=across,
        up=up,
        lines=lines,
    )


def _curves(method: Method) -> dict[int, Points]:
    """By task the mean over seeds at the moments that all seeds have."""
    found: dict[int, Points] = {}
    measured = [record.curves for record in method.done]
    tasks = min(map(len, measured))
    every = -(-tasks // TASKS)
    for task in range(0, tasks, every):
        own = [dict(zip(c.steps, c.accuracy, strict=True)) for curves in measured if (c := curves[task]) is not None]
        shared = sorted(set.intersection(*map(set, own))) if len(own) == len(measured) else []
        if shared:
            found[task] = [(float(step), mean_interval(line[step] for line in own).mean) for step in _thinned(shared)]
    return found


def _thinned(moments: Sequence[int]) -> list[int]:
    if len(moments) <= MOMENTS:
        return list(moments)
    return [moments[round(k * (len(moments) - 1) / (MOMENTS - 1))] for k in range(MOMENTS)]


def csv_file(topic: Topic) -> CsvFile:
    rows = [
        [method.label, task + 1, step, accuracy]
        for method in topic.finished
        for task, points in _curves(method).items()
        for step, accuracy in points
    ]
    return CsvFile(f"{topic.name} learning curves", ["learner", "task", "step", "accuracy, mean over seeds"], rows)
