"""Figures that compare rows: the plane of forgetting and intransigence, and accuracy along a varied setting."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engram.papers.paper import Line
from engram.reports.figure import save

MARKERS = "osD^vP*X"


def draw_plane(lines: Sequence[Line], path: Path) -> Path:
    """A point a row: forgetting across, intransigence up, with deviations over seeds. Good is the lower left."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 5), layout="constrained")
    panel = figure.subplots()
    shown = [line for line in lines if line.mean("intransigence") == line.mean("intransigence")]
    for place, line in enumerate(shown):
        x, y = line.ours("forgetting_rwalk"), line.ours("intransigence")
        spread = {"xerr": _known(x["std"]), "yerr": _known(y["std"])}
        label = f"{line.entry.label} ({100 * line.mean():.1f} %)"
        colour = f"C{place % 10}"
        panel.errorbar(x["mean"], y["mean"], **spread, fmt=MARKERS[place % len(MARKERS)], color=colour, label=label)
    panel.axhline(0, color="grey", linewidth=0.8)
    panel.axvline(0, color="grey", linewidth=0.8)
    panel.set_xlabel("forgetting (0: none; negative: old tasks got better)")
    panel.set_ylabel("intransigence (0: as good as joint training)")
    panel.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    return save(figure, path)


def draw_lines(lines: Sequence[Line], path: Path, across: str = "") -> Path:
    """Rows called "method @ value": a line a method along the values, mean and deviation over seeds."""
    from matplotlib.figure import Figure

    methods: dict[str, list[tuple[str, Line]]] = {}
    for line in lines:
        method, value = line.entry.label.split(" @ ")
        methods.setdefault(method, []).append((value, line))
    many = len(methods) > 5
    figure = Figure(figsize=(8.5 if many else 6.5, 4), layout="constrained")
    panel = figure.subplots()
    for place, (method, points) in enumerate(methods.items()):
        accuracy = [line.ours("average_accuracy") for _, line in points]
        panel.errorbar(
            [value for value, _ in points],
            [100 * a["mean"] for a in accuracy],
            yerr=[100 * (_known(a["std"]) or 0) for a in accuracy],
            marker=MARKERS[place % len(MARKERS)],
            linestyle="-" if place < 10 else "--",  # there are ten colours
            capsize=2,
            label=method,
        )
    panel.set_xlabel(across)
    panel.set_ylabel("average accuracy %")
    panel.grid(axis="y", alpha=0.25)
    outside: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1, 0.5), "fontsize": 8} if many else {}
    panel.legend(frameon=False, **outside)
    return save(figure, path)


def _known(value: float) -> Any:
    return value if value == value else None
