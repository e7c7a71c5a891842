"""Draws the pictures of docs/metrics.md, with numbers by engram.metrics: python docs/pictures.py [FOLDER]"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from engram import metrics

MATRIX = [[0.95], [0.80, 0.92], [0.60, 0.75, 0.90], [0.70, 0.65, 0.70, 0.88]]
BLUE, ORANGE, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#8c8c8c"  # told apart by colour-blind eyes too
STYLE = {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "engram"}


def _figure(width: float = 6.4, columns: int = 1) -> tuple[Figure, list[Axes]]:
    figure, axes = plt.subplots(1, columns, figsize=(width, 2.9), layout="constrained", squeeze=False)
    return figure, list(axes[0])


def matrix() -> Figure:
    """The accuracy matrix, and what its last row says."""
    figure, (axes,) = _figure(5)
    for k, row in enumerate(MATRIX):
        for task, value in enumerate(row):
            last = k == len(MATRIX) - 1
            axes.text(task, k, f"{value:.2f}", ha="center", va="center", weight="bold" if last else "normal")
            axes.add_patch(plt.Rectangle((task - 0.5, k - 0.5), 1, 1, color=BLUE, alpha=value / (1.5 if last else 4)))
    axes.set(xlim=(-0.5, 3.5), ylim=(3.5, -0.5), xticks=range(4), yticks=range(4))
    axes.set_xticklabels([f"on task {t}" for t in range(1, 5)])
    axes.set_yticklabels([f"after task {t}" for t in range(1, 5)])
    first, mean = metrics.first_task_accuracy(MATRIX), metrics.average_accuracy(MATRIX)
    axes.set_title(f"last row: average_accuracy {mean:.2f}, first_task_accuracy {first:.2f}", fontsize=10)
    return figure


def unequal() -> Figure:
    """Tasks and classes of unequal size: three means of the same results."""
    figure, (axes,) = _figure()
    accuracies, samples = [0.9, 0.8, 0.3], [800, 150, 50]
    edges = [sum(samples[:place]) for place in range(3)]
    axes.bar(edges, accuracies, width=samples, align="edge", color=[BLUE, GREEN, ORANGE], edgecolor="white")
    together = metrics.union_accuracy(accuracies, samples)
    each = metrics.mean_class_accuracy(accuracies)
    axes.hlines(together, 0, 1000, color="black", ls="--", lw=1)
    axes.text(1010, together, f"union_accuracy {together:.3f}\nevery sample counts the same", va="center")
    axes.hlines(each, 0, 1000, color="black", ls=":", lw=1)
    axes.text(1010, each, f"mean_class_accuracy {each:.3f}\nevery class does", va="center")
    axes.set(
        xlabel="test samples of three classes",
        ylabel="accuracy",
        ylim=(0, 1.05),
        xlim=(0, 1550),
        xticks=range(0, 1001, 200),
    )
    return figure


def forgetting() -> Figure:
    """The way of the first task's accuracy, measured from its top and from its beginning."""
    figure, (axes,) = _figure()
    way = [0.80, 0.92, 0.75, 0.65]
    axes.plot(range(1, 5), way, "o-", color=BLUE)
    top, now = max(way[:-1]), way[-1]
    for place, start, colour, name in (
        (4.25, top, ORANGE, "forgetting_rwalk"),
        (5.5, way[0], GREEN, "forgetting_ctrl"),
    ):
        axes.annotate("", (place, now), (place, start), arrowprops={"arrowstyle": "<->", "color": colour, "lw": 2})
        sign = top - now if name == "forgetting_rwalk" else now - way[0]
        axes.text(place + 0.06, (start + now) / 2, f"{name}\n{sign:+.2f}", color=colour, va="center")
    axes.axhline(top, color=ORANGE, lw=0.7, ls=":")
    axes.axhline(way[0], color=GREEN, lw=0.7, ls=":")
    axes.set(
        xlabel="tasks learned so far", ylabel="accuracy on task 1", xticks=range(1, 5), xlim=(0.8, 6.8), ylim=(0.5, 1)
    )
    return figure


def intransigence() -> Figure:
    """The newest task, as the learner learned it and as a model of everything at once does."""
    figure, (axes,) = _figure()
    learned, joint = [row[-1] for row in MATRIX], [0.95, 0.95, 0.96, 0.96]
    axes.plot(range(1, 5), joint, "s--", color=GREY, label="joint training on all tasks so far")
    axes.plot(range(1, 5), learned, "o-", color=BLUE, label="the learner, just after the task")
    value = metrics.intransigence(MATRIX, joint)
    axes.annotate("", (4, learned[-1]), (4, joint[-1]), arrowprops={"arrowstyle": "<->", "color": ORANGE, "lw": 2})
    axes.text(4.08, 0.92, f"intransigence\n{value:+.2f}", color=ORANGE, va="center")
    axes.set(xlabel="task", ylabel="accuracy on it", xticks=range(1, 5), xlim=(0.8, 5.2), ylim=(0.8, 1))
    axes.legend(frameon=False, loc="lower left")
    return figure


def transfer() -> Figure:
    """The last task, with and without what came before it."""
    figure, (axes,) = _figure()
    alone = 0.80
    axes.barh(
        ["a learner of\nthis task alone", "after three\nother tasks"], [alone, MATRIX[-1][-1]], color=[GREY, BLUE]
    )
    axes.annotate("", (MATRIX[-1][-1], 0), (alone, 0), arrowprops={"arrowstyle": "<->", "color": ORANGE, "lw": 2})
    axes.text(0.9, 0, f"transfer {metrics.transfer(MATRIX, alone):+.2f}", color=ORANGE, va="center")
    axes.set(xlabel="accuracy on the last task", xlim=(0.5, 1.05))
    return figure


def lca() -> Figure:
    """The area under the beginning of learning curves."""
    figure, (axes,) = _figure()
    curves = {"fast": [0.2, 0.5, 0.7, 0.8, 0.85, 0.88], "slow": [0.2, 0.25, 0.35, 0.5, 0.65, 0.88]}
    for (name, curve), colour in zip(curves.items(), (BLUE, ORANGE)):
        value = metrics.lca([curve], len(curve) - 1)
        axes.plot(curve, "o-", color=colour, label=f"{name}: lca {value:.2f}")
        axes.fill_between(range(len(curve)), curve, alpha=0.12, color=colour)
    axes.set(xlabel="mini-batches of a task", ylabel="accuracy on it", ylim=(0, 1))
    axes.legend(frameon=False, loc="lower right")
    return figure


def omega() -> Figure:
    """Accuracies as shares of what an offline model reaches."""
    figure, axes = _figure(9, 3)
    base, new, everything = [0.90, 0.80, 0.75, 0.70], [0.90, 0.88, 0.85, 0.86], [0.90, 0.82, 0.76, 0.71]
    ideal, fair = 0.95, [0.95, 0.93, 0.91, 0.90]
    lines = (("first session", base, ORANGE), ("newest session", new, GREEN), ("everything seen", everything, BLUE))
    values = (
        f"omega_base {metrics.omega_base(base, ideal):.2f}",
        f"omega_new {metrics.omega_new(new):.2f}\nomega_new_share {metrics.omega_new(new, ideal):.2f}",
        f"omega_all {metrics.omega_all(everything, ideal):.2f}\n"
        f"omega_all_fair {metrics.omega_all(everything, fair):.2f}",
    )
    for panel, (title, line, colour), value in zip(axes, lines, values):
        panel.plot(range(1, 5), line, "o-", color=colour)
        panel.axhline(ideal, color="black", ls="--", lw=1)
        panel.plot(range(1, 5), fair, ":", color=GREY)
        panel.text(1, 0.52, value)
        panel.set(title=f"accuracy on the {title}", xlabel="sessions", xticks=range(1, 5), ylim=(0.5, 1))
        panel.title.set_size(10)
    return figure


def cost() -> Figure:
    """Accuracy against memory: nobody on the front is beaten in both."""
    figure, (axes,) = _figure()
    points = {"finetune": (0.34, 0.462), "ewc": (3.74, 0.597), "online-ewc": (1.02, 0.608)}  # of make demo
    points |= {"si": (1.36, 0.611), "ridge": (2.07, 0.864), "joint": (0.859, 0.902)}
    for name, (memory, accuracy) in points.items():
        front = name in ("finetune", "joint")
        axes.plot(memory, accuracy, "o", color=BLUE if front else GREY)
        axes.text(memory + 0.06, accuracy, name, va="center")
    axes.plot(*zip(points["finetune"], points["joint"]), "--", color=BLUE, lw=1)
    axes.set(xlabel="memory (MB)", ylabel="average accuracy", xlim=(0, 4.5), ylim=(0.4, 1))
    return figure


PICTURES: tuple[Callable[[], Figure], ...] = (matrix, unequal, forgetting, intransigence, transfer, lca, omega, cost)


def draw(folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    with plt.rc_context(STYLE):
        for picture in PICTURES:
            paths.append(folder / f"{picture.__name__}.svg")
            figure = picture()
            figure.savefig(paths[-1], facecolor="white", metadata={"Date": None})
            plt.close(figure)
    return paths


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "pictures")
