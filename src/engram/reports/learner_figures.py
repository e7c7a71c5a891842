"""Figures that show learners as a whole: bars, all dimensions around a circle, and the modules that tasks share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from engram.reports.comparison_figures import MARKERS
from engram.reports.content import Bars, Paths, Radar
from engram.reports.harmless import harmless

COLOURS = 10


def draw_bars(content: Bars) -> Any:
    """Bars side by side, the first label on top."""
    from matplotlib.figure import Figure

    most = max((len(values) for values in content.panels.values()), default=1)
    figure = Figure(figsize=(4.6 * max(len(content.panels), 1), 0.26 * most + 1.0), layout="constrained")
    panels = figure.subplots(1, max(len(content.panels), 1), squeeze=False)[0]
    for (title, values), panel in zip(content.panels.items(), panels, strict=False):
        labels = list(values)[::-1]
        deviations = [0.0 if math.isnan(values[label].std) else values[label].std for label in labels]
        panel.barh(labels, [values[label].mean for label in labels], xerr=deviations, color="tab:blue", height=0.7)
        panel.set_title(harmless(title), fontsize=9, parse_math=False)
        panel.set_xlabel(content.across.title, fontsize=8)
        panel.tick_params(labelsize=7)
        panel.grid(axis="x", alpha=0.25)
    return figure


def draw_radar(content: Radar) -> Any:
    """A closed line a label; the rim is best."""
    from matplotlib.figure import Figure

    count = max(len(content.panels), 1)
    figure = Figure(figsize=(5.8 * count, 7), layout="constrained")
    halves = figure.subfigures(1, count, squeeze=False)[0]
    angles = [2 * math.pi * k / max(len(content.axes), 1) for k in range(len(content.axes))]
    for (title, lines), half in zip(content.panels.items(), halves, strict=False):
        panel: Any = half.add_subplot(projection="polar")
        for place, (label, values) in enumerate(lines.items()):
            style = {"color": f"C{place % COLOURS}", "linestyle": "-" if place < COLOURS else "--", "markersize": 3}
            marker = MARKERS[place % len(MARKERS)]
            panel.plot([*angles, *angles[:1]], [*values, *values[:1]], marker=marker, label=label, **style)
        half.suptitle(harmless(title), fontsize=10, parse_math=False)
        panel.set_xticks(angles, content.axes, fontsize=8)
        panel.set_ylim(0, 1.02)
        panel.set_yticks([0, 0.5, 1], ["worst", "", "best"], fontsize=7)
        if lines:
            half.legend(fontsize=7, frameon=False, handlelength=3, loc="outside lower center", ncols=3)
    return figure


def draw_paths(content: Paths) -> Any:
    """A panel a graph: layers across, modules of a layer up, a line a task. Lines that go through the same module lie
    side by side; a ring is a module where it was new."""
    from matplotlib.figure import Figure

    count = max(len(content.graphs), 1)
    figure = Figure(figsize=(5.2 * min(count, 2), 3.2 * math.ceil(count / 2)), layout="constrained")
    panels = figure.subplots(math.ceil(count / 2), min(count, 2), squeeze=False).flat
    for (title, tasks), panel in zip(content.graphs.items(), panels, strict=False):
        _draw_graph(panel, tasks)
        panel.set_title(harmless(title), fontsize=9, parse_math=False)
    for panel in list(panels):
        panel.set_visible(False)
    return figure


def _draw_graph(panel: Any, tasks: Mapping[str, Sequence[int]]) -> None:
    seen: set[tuple[int, int]] = set()
    for number, (task, path) in enumerate(tasks.items()):
        aside = 0.5 * (number / max(len(tasks) - 1, 1) - 0.5)
        heights = [module + aside for module in path]
        colour = f"C{number % COLOURS}"
        panel.plot(range(1, len(path) + 1), heights, color=colour, linewidth=1.2, label=task)
        new = [layer for layer, module in enumerate(path) if (layer, module) not in seen]
        rings = {"linestyle": "", "marker": "o", "markersize": 5, "color": colour}
        panel.plot([layer + 1 for layer in new], [heights[layer] for layer in new], **rings)
        seen |= set(enumerate(path))
    panel.set_xlabel("layer", fontsize=8)
    panel.set_ylabel("module; a dot: new with this task", fontsize=8)
    panel.yaxis.get_major_locator().set_params(integer=True)
    panel.tick_params(labelsize=7)
    panel.legend(fontsize=6, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
