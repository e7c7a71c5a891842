"""Figures that compare: points in a plane, lines along a varied setting, matrices."""

from __future__ import annotations

from typing import Any

from engram.reports.content import Plane, Series, Squares
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


def draw_squares(content: Squares) -> Any:
    """A panel a matrix, dark for 0 and bright for 1."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6 * len(content.matrices) + 0.8, 4.6), layout="constrained")
    panels = figure.subplots(1, len(content.matrices), squeeze=False)[0]
    for panel, (title, matrix) in zip(panels, content.matrices.items(), strict=True):
        picture = panel.imshow(matrix, vmin=0, vmax=1, cmap="viridis", interpolation="antialiased")
        panel.set_title(harmless(title), fontsize=9, parse_math=False)
        panel.tick_params(labelsize=7)
    figure.colorbar(picture, ax=panels, label=content.bar, shrink=0.8)
    return figure


def _known(value: float) -> Any:
    return value if value == value else None
