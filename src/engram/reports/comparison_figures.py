"""Figures that compare: points in a plane, lines along a varied setting, matrices."""

from __future__ import annotations

from typing import Any

from engram.reports.content import Curves, Plane, Series, Squares
from engram.reports.harmless import harmless

MARKERS = "osD^vP*X"


def draw_plane(content: Plane) -> Any:
    """A point a row, with deviations over seeds both ways."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 5), layout="constrained")
    panel = figure.subplots()
    for place, (label, (x, y)) in enumerate(content.points.items()):
        spread = {"xerr": _known(x.std), "yerr": _known(y.std)}
        colour = f"C{place % 10}"
        panel.errorbar(x.mean, y.mean, **spread, fmt=MARKERS[place % len(MARKERS)], color=colour, label=label)
    panel.axhline(0, color="grey", linewidth=0.8)
    panel.axvline(0, color="grey", linewidth=0.8)
    panel.set_xlabel(content.across)
    panel.set_ylabel(content.up)
    panel.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    return figure


def draw_series(content: Series) -> Any:
    """A line a label along the values, mean and deviation over seeds."""
    from matplotlib.figure import Figure

    many, scale = len(content.lines) > 5, content.up.scale
    figure = Figure(figsize=(8.5 if many else 6.5, 4), layout="constrained")
    panel = figure.subplots()
    for place, (label, numbers) in enumerate(content.lines.items()):
        panel.errorbar(
            list(numbers),
            [scale * number.mean for number in numbers.values()],
            yerr=[scale * (_known(number.std) or 0) for number in numbers.values()],
            marker=MARKERS[place % len(MARKERS)],
            linestyle="-" if place < 10 else "--",  # there are ten colours
            capsize=2,
            label=label,
        )
    panel.set_xlabel(content.across)
    panel.set_ylabel(content.up.title)
    panel.grid(axis="y", alpha=0.25)
    outside: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1, 0.5), "fontsize": 8} if many else {}
    panel.legend(frameon=False, **outside)
    return figure


def draw_curves(content: Curves) -> Any:
    """A panel a place, a line a label in the same colour everywhere, the dashed one of what is compared with."""
    from matplotlib.figure import Figure

    rows, columns = (list(dict.fromkeys(place[k] for place in content.panels)) for k in (0, 1))
    figure = Figure(figsize=(4.2 * len(columns) + 1.6, 2.9 * len(rows) + 0.4), layout="constrained")
    panels = figure.subplots(len(rows), len(columns), squeeze=False)
    labels = list(dict.fromkeys(label for lines in content.panels.values() for label in lines))
    for (row, column), lines in content.panels.items():
        panel = panels[rows.index(row)][columns.index(column)]
        for label, values in lines.items():
            place = labels.index(label)
            few = {"marker": MARKERS[place % len(MARKERS)], "markersize": 3} if len(values) < 20 else {}
            panel.plot(range(1, len(values) + 1), values, color=f"C{place % 10}", label=label, linewidth=1.3, **few)
        dashed = content.dashed.get((row, column), ())
        if dashed:
            panel.plot(range(1, len(dashed) + 1), dashed, color="black", linestyle="--", linewidth=1, label="offline")
        panel.set_title(harmless(f"{row}: {column}"), fontsize=9, parse_math=False)
        panel.set_ylim(-0.03, 1.03)
        panel.grid(axis="y", alpha=0.25)
    keys = {
        label: line for panel in panels.flat for line, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    figure.legend(keys.values(), keys, loc="outside right center", frameon=False, fontsize=8)
    figure.supxlabel(content.across, fontsize=9)
    return figure


def draw_squares(content: Squares) -> Any:
    """A panel a matrix, dark for 0 and bright for 1. Colours go by the square root: most of what is there is small."""
    from matplotlib.colors import PowerNorm
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6 * len(content.matrices) + 0.8, 4.6), layout="constrained")
    panels = figure.subplots(1, len(content.matrices), squeeze=False)[0]
    for panel, (title, matrix) in zip(panels, content.matrices.items(), strict=True):
        picture = panel.imshow(matrix, norm=PowerNorm(0.5, 0, 1), cmap="viridis", interpolation="antialiased")
        panel.set_title(harmless(title), fontsize=9, parse_math=False)
        panel.tick_params(labelsize=7)
    figure.colorbar(picture, ax=panels, label=content.bar, shrink=0.8)
    return figure


def _known(value: float) -> Any:
    return value if value == value else None
