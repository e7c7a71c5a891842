"""Figures: accuracy on every task as training goes on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from engram.errors import BadSetting
from engram.metrics import spread
from engram.record import Record
from engram.reports.content import TaskPanels
from engram.reports.harmless import harmless
from engram.reports.summary import by_method, done

COLUMNS = 8


def progress(records: Sequence[Record]) -> TaskPanels:
    """One panel a method, a row or more a stream."""
    streams = list(dict.fromkeys(record.stream for record in records))
    groups = [[g for g in by_method(done(records)) if g[0].stream == stream] for stream in streams]
    return TaskPanels(
        [
            (stream, [(f"{g[0].learner} ({g[0].head})", g) for g in methods])
            for stream, methods in zip(streams, groups, strict=True)
        ]
    )


def draw_panels(content: TaskPanels) -> Any:
    """In each panel a line for each task from when it is learned to the end, mean over seeds, with a band of one
    standard deviation. The thick black line is the average over the tasks seen."""
    from matplotlib.figure import Figure

    rows = [(name, panels[k : k + COLUMNS]) for name, panels in content.rows for k in range(0, len(panels), COLUMNS)]
    columns = max((len(panels) for _, panels in rows), default=0)
    if not columns:
        raise BadSetting("there is no finished run to draw")
    figure = Figure(figsize=(max(1.9 * columns + 1.2, 4), 2.3 * len(rows) + 0.9), layout="constrained")
    places = figure.subplots(len(rows), columns, sharey=True, squeeze=False)
    for row, (name, panels) in zip(places, rows, strict=True):
        for place, (title, records) in zip(row, panels, strict=False):
            _draw_method(place, title, records)
        for place in row[len(panels) :]:
            place.set_visible(False)
        row[0].set_ylabel(f"{harmless(name)}\ntest accuracy", fontsize=8, parse_math=False)
    figure.supxlabel("tasks learned so far", fontsize=9)
    separator = " " if columns > 2 else "\n"
    figure.suptitle(
        f"Accuracy on every task as training goes on{separator}(each colour a task, black: their average)", fontsize=10
    )
    return figure


def _draw_method(panel: Any, title: str, records: Sequence[Record]) -> None:
    from matplotlib import colormaps

    tasks, found = len(records[0].rows), [record.accuracy for record in records]
    colours = colormaps["viridis"]
    for task in range(tasks):
        after = list(range(task, tasks))
        points = [spread([accuracy[k][task] for accuracy in found]) for k in after]
        _line(panel, after, points, color=colours(0.9 * task / max(tasks - 1, 1)), linewidth=1.2)
    averages = [spread([sum(accuracy[k]) / (k + 1) for accuracy in found])["mean"] for k in range(tasks)]
    thinned = any(map(math.isnan, averages))  # a line has gaps there, and one point alone is no line
    panel.plot(range(1, tasks + 1), averages, color="black", linewidth=2, marker="o" if thinned else "", markersize=4)
    panel.set_title(harmless(title), fontsize=9 if len(title) < 24 else 7, parse_math=False)
    panel.set_ylim(-0.03, 1.03)
    panel.set_xlim(0.7, tasks + 0.3)
    panel.set_xticks(range(1, tasks + 1) if tasks <= 6 else range(1, tasks + 1, max(tasks // 5, 1)))
    panel.tick_params(labelsize=7)
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(axis="y", alpha=0.25)


def _line(panel: Any, after: Sequence[int], points: Sequence[dict[str, float]], **style: Any) -> None:
    x = [k + 1 for k in after]
    means = [p["mean"] for p in points]
    panel.plot(x, means, marker="o", markersize=2.5, **style)
    if points[0]["n"] > 1:
        low = [p["mean"] - p["std"] for p in points]
        high = [p["mean"] + p["std"] for p in points]
        panel.fill_between(x, low, high, color=style["color"], alpha=0.15, linewidth=0)
