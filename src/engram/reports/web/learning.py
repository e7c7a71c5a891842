"""Learning curves: accuracy on a task while it is learned, where that was measured."""

from __future__ import annotations

from engram.reports.web.chart import Axis, Chart, ChartLine, accuracies, shade, steps
from engram.reports.web.csv_file import CsvFile
from engram.reports.web.methods import Method, Topic, evenly, mean_interval

TASKS, MOMENTS = 10, 16  # at most, of one method
LINES = 500  # of all together

Points = list[tuple[float, float]]


def panels(topic: Topic) -> list[tuple[Method, Chart]]:
    """A panel for each method that has curves, all on one scale of steps."""
    found = [(method, curves) for method in topic.finished if (curves := _curves(topic, method))]
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


def _curves(topic: Topic, method: Method) -> dict[int, Points]:
    """By task the mean over seeds at the moments that all seeds have."""
    found: dict[int, Points] = {}
    measured = [record.curves for record in method.done]
    most = min(TASKS, max(LINES // len(topic.methods), 2))
    for task in evenly(min(map(len, measured)), most):
        own = [dict(zip(c.steps, c.accuracy, strict=True)) for curves in measured if (c := curves[task]) is not None]
        shared = sorted(set.intersection(*map(set, own))) if len(own) == len(measured) else []
        if shared:
            moments = [shared[k] for k in evenly(len(shared), MOMENTS)]
            found[task] = [(float(step), mean_interval(line[step] for line in own).mean) for step in moments]
    return found


def csv_file(topic: Topic) -> CsvFile:
    """A row for each method and task, a column for each moment."""
    curves = {method.label: _curves(topic, method) for method in topic.finished}
    lines = {(label, task): dict(points) for label, found in curves.items() for task, points in found.items()}
    moments = sorted({step for line in lines.values() for step in line})
    rows = [[label, task + 1, *map(line.get, moments)] for (label, task), line in lines.items()]
    return CsvFile(f"{topic.name} learning curves", ["learner", "task", *(f"step {s:g}" for s in moments)], rows)
