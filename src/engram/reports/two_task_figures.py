"""Figures of two-task experiments: accuracies over both phases of training, and what knowing the future is worth."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engram.record import Record
from engram.reports.content import Phases, Spans

D1, D2, BOTH = "tab:blue", "tab:green", "tab:red"


def draw_phases(content: Phases) -> Any:
    """A panel for each row and column, drawn as in Figure 1 of Pfülb et al. 2018."""
    from matplotlib.figure import Figure

    rows, columns = _sides(content.panels)
    size = (max(1.5 * len(columns) + 0.8, 4.5), 1.25 * len(rows) + 1.0)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(rows), len(columns), sharey=True, squeeze=False)
    for line, row in zip(panels, rows, strict=True):
        for panel, column in zip(line, columns, strict=True):
            _draw_run(panel, content.panels.get((row, column)))
        line[0].set_ylabel(row, fontsize=8)
    for panel, column in zip(panels[0], columns, strict=True):
        panel.set_title(column, fontsize=8)
    figure.supxlabel(
        "steps of training on D1 (white), then on D2 (grey); the dotted line is where it stops", fontsize=8
    )
    handles, names = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=3, fontsize=8, frameon=False)
    return figure


def _sides(keys: Iterable[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """The first and the second halves of keys, each once, in their order."""
    pairs = list(keys)
    return list(dict.fromkeys(a for a, _ in pairs)), list(dict.fromkeys(b for _, b in pairs))


def _draw_run(panel: Any, record: Record | None) -> None:
    panel.set_ylim(-0.03, 1.03)
    panel.tick_params(labelsize=6)
    panel.spines[["top", "right"]].set_visible(False)
    if record is None:
        return
    first, second = record.curves
    assert first is not None
    assert second is not None
    length = first.steps[-1]
    later = [length + step for step in second.steps]
    panel.axvspan(length, later[-1], color="0.92")
    panel.plot([*first.steps, *later], [*first.accuracy, *(at[0] for at in second.tasks)], D1, lw=1, label="D1")
    panel.plot(later, second.accuracy, D2, lw=1, label="D2")
    panel.plot(later, second.union, BOTH, lw=1.2, label="D1 ∪ D2")
    if record.stop is not None:
        panel.axvline(length + record.stop, color="black", lw=0.8, ls=":")
    panel.set_xlim(0, later[-1])
    panel.set_xticks([0, length, later[-1]])


def draw_spans(content: Spans) -> Any:
    """Places along the axis; at each a bar and a dot for every label."""
    from matplotlib.figure import Figure

    places, labels = _sides(content.bars)
    figure = Figure(figsize=(max(0.95 * len(places) + 1.5, 5), 3.8), layout="constrained")
    panel = figure.subplots()
    width = 0.8 / len(labels)
    missing = (float("nan"),) * 3
    for number, label in enumerate(labels):
        x = [k + (number - (len(labels) - 1) / 2) * width for k in range(len(places))]
        found = [content.bars.get((place, label), missing) for place in places]
        low, heights, dots = [bar[0] for bar in found], [bar[1] - bar[0] for bar in found], [bar[2] for bar in found]
        colour = f"C{number}"
        panel.bar(x, heights, 0.85 * width, bottom=low, color=colour, edgecolor=colour, linewidth=1.2, label=label)
        panel.plot(x, dots, "k.", markersize=3, label=content.dot if number == 0 else None)
    panel.set_xticks(range(len(places)), places, fontsize=8)
    panel.set_ylim(0, 1.02)
    panel.set_ylabel(content.up, fontsize=8)
    panel.grid(axis="y", alpha=0.25)
    panel.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure
