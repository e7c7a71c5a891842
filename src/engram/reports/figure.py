"""Figures: accuracy on every task as training goes on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engram.errors import BadSetting
from engram.metrics import spread
from engram.record import Record
from engram.reports.summary import by_method, done


def draw_progress(records: Sequence[Record], path: Path) -> Path:
    """One panel a method and stream: a line for each task from when it is learned to the end, mean over seeds, with a
    band of one standard deviation. The thick black line is the average over the tasks seen."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    streams = list(dict.fromkeys(record.stream for record in records))
    groups = [[g for g in by_method(done(records)) if g[0].stream == stream] for stream in streams]
    columns = max((len(group) for group in groups), default=0)
    if not columns:
        raise BadSetting("there is no finished run to draw")
    size = (max(min(1.9 * columns + 1.2, 16), 4), 2.3 * len(streams) + 0.9)
    figure, panels = pyplot.subplots(
        len(streams), columns, figsize=size, sharey=True, squeeze=False, layout="constrained"
    )
    for row, (stream, methods) in enumerate(zip(streams, groups, strict=True)):
        for panel, method in zip(panels[row], methods, strict=False):
            _draw_method(panel, method)
        for panel in panels[row][len(methods) :]:
            panel.set_visible(False)
        panels[row][0].set_ylabel(f"{stream}\ntest accuracy", fontsize=8)
    figure.supxlabel("tasks learned so far", fontsize=9)
    separator = " " if columns > 2 else "\n"
    figure.suptitle(
        f"Accuracy on every task as training goes on{separator}(each colour a task, black: their average)", fontsize=10
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=130)
    except (OSError, ValueError) as error:
        raise BadSetting(f"the figure cannot be written to {path} ({error}); choose another place") from error
    finally:
        pyplot.close(figure)
    return path


def _draw_method(panel: Any, records: Sequence[Record]) -> None:
    from matplotlib import colormaps

    tasks = len(records[0].rows)
    colours = colormaps["viridis"]
    for task in range(tasks):
        after = list(range(task, tasks))
        points = [spread([record.accuracy[k][task] for record in records]) for k in after]
        _line(panel, after, points, color=colours(0.9 * task / max(tasks - 1, 1)), linewidth=1.2)
    averages = [spread([sum(r.accuracy[k]) / (k + 1) for r in records]) for k in range(tasks)]
    panel.plot(range(1, tasks + 1), [p["mean"] for p in averages], color="black", linewidth=2)
    panel.set_title(f"{records[0].learner} ({records[0].head})", fontsize=9)
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
