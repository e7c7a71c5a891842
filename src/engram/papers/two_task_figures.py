"""Figures of two-task experiments: accuracies over both phases of training, and what knowing the future is worth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engram.papers.matrix import UNION, by_cell
from engram.papers.paper import Line
from engram.record import Record
from engram.reports.figure import save
from engram.reports.summary import done

D1, D2, BOTH = "tab:blue", "tab:green", "tab:red"


def draw_phases(lines: Sequence[Line], path: Path) -> Path:
    """A panel for each model and dataset: the run of the first seed and variant, drawn as in the paper's Figure 1."""
    from matplotlib.figure import Figure

    cells = _first_variant(lines)
    models, datasets = (list(dict.fromkeys(key[place] for key in cells)) for place in (0, 1))
    size = (max(1.5 * len(datasets) + 0.8, 4.5), 1.25 * len(models) + 1.0)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(models), len(datasets), sharey=True, squeeze=False)
    for row, model in zip(panels, models, strict=True):
        for panel, dataset in zip(row, datasets, strict=True):
            line = cells.get((model, dataset))
            _draw_run(panel, done(line.records)[0] if line is not None and done(line.records) else None)
        row[0].set_ylabel(model, fontsize=8)
    for panel, dataset in zip(panels[0], datasets, strict=True):
        panel.set_title(dataset, fontsize=8)
    figure.supxlabel(
        "steps of training on D1 (white), then on D2 (grey); the dotted line is where it stops", fontsize=8
    )
    handles, names = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=3, fontsize=8, frameon=False)
    return save(figure, path)


def _first_variant(lines: Sequence[Line]) -> dict[tuple[str, str], Line]:
    cells = by_cell(lines)
    first = next(iter(cells))[2]
    return {(model, dataset): line for (model, dataset, variant), line in cells.items() if variant == first}


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


def draw_gaps(lines: Sequence[Line], path: Path) -> Path:
    """For each dataset and model a bar from the realistic accuracy to the prescient one; the strict one is a dot."""
    from matplotlib.figure import Figure

    cells = by_cell(lines)
    models, datasets = (list(dict.fromkeys(key[place] for key in cells)) for place in (0, 1))
    figure = Figure(figsize=(max(0.95 * len(datasets) + 1.5, 5), 3.8), layout="constrained")
    panel = figure.subplots()
    width = 0.8 / len(models)
    for place, model in enumerate(models):
        x = [k + (place - (len(models) - 1) / 2) * width for k in range(len(datasets))]
        low, high, strict = (_means(cells, model, datasets, v) for v in ("realistic", "prescient", "strict"))
        heights = [top - bottom for top, bottom in zip(high, low, strict=True)]
        panel.bar(
            x, heights, 0.85 * width, bottom=low, color=f"C{place}", edgecolor=f"C{place}", linewidth=1.2, label=model
        )
        panel.plot(x, strict, "k.", markersize=3, label="strict" if place == 0 else None)
    panel.set_xticks(range(len(datasets)), datasets, fontsize=8)
    panel.set_ylim(0, 1.02)
    panel.set_ylabel("accuracy on D1 ∪ D2: realistic to prescient", fontsize=8)
    panel.grid(axis="y", alpha=0.25)
    panel.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return save(figure, path)


def _means(cells: Any, model: str, datasets: Sequence[str], variant: str) -> list[float]:
    found = [cells.get((model, dataset, variant)) for dataset in datasets]
    return [float("nan") if line is None else line.mean(UNION) for line in found]
