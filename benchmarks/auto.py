"""What `ContinualClassifier("auto")` takes, beside what it could have taken: accuracy after the last session.

    python benchmarks/auto.py [--seeds 3] [--write docs/auto.md] [DATASET …]

Classes come in sessions, two at a time; of `breast_cancer`, which has two, both come in four sessions. A third of the
rows is for testing; of MNIST and Fashion-MNIST 6,000 training and 2,000 test images are used, where there are some.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
from sklearn import datasets as toys

import engram
from engram import datasets
from engram.tree import one_thread

OTHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "slda": ("slda", {}),
    "slda, 500 features": ("slda", {"features": 500}),
    "slda, 1000 features": ("slda", {"features": 1000}),
    "ridge": ("ridge", {}),
    "ridge, 500 features": ("ridge", {"features": 500}),
    "exemplars-only": ("exemplars-only", {}),
    "finetune": ("finetune", {}),
}
TOYS = {"digits": toys.load_digits, "wine": toys.load_wine, "breast_cancer": toys.load_breast_cancer}
IMAGES = ("mnist", "fashion-mnist")
FEW = (6000, 2000)  # images to learn from and to test on
Arrays = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def read(name: str, seed: int) -> Arrays:
    """Rows and labels to learn from and to test on."""
    draw = np.random.default_rng(seed)
    if name in IMAGES:
        found = datasets.load(name)
        parts = ((found.x_train, found.y_train, FEW[0]), (found.x_test, found.y_test, FEW[1]))
        picked = [(x.numpy() / 255.0, y.numpy(), draw.permutation(len(y))[:count]) for x, y, count in parts]
        (x, y, a), (u, v, b) = picked
        return x[a].astype(np.float32), y[a], u[b].astype(np.float32), v[b]
    data = TOYS[name]()
    x = data.images[:, None] / 16 if name == "digits" else data.data
    order = draw.permutation(len(x))
    test, train = np.split(order, [len(x) // 3])
    return x[train], data.target[train], x[test], data.target[test]


def sessions(y: np.ndarray) -> Iterator[np.ndarray]:
    """Rows of one session after another."""
    labels = np.unique(y)
    if len(labels) == 2:
        yield from np.array_split(np.arange(len(y)), 4)
        return
    for start in range(0, len(labels), 2):
        yield np.flatnonzero(np.isin(y, labels[start : start + 2]))


def accuracy(name: str, learner: str, settings: dict[str, Any], seed: int) -> tuple[float, str]:
    """After the last session, and what was taken."""
    x, y, asked, truth = read(name, seed)
    model = engram.ContinualClassifier(learner, seed=seed, **settings)
    for rows in sessions(y):
        model.partial_fit(x[rows], y[rows])
    taken = model.choice_
    return float(model.score(asked, truth)), f"{taken['learner']} {taken['settings'] or ''}".strip()


def table(names: list[str], seeds: int) -> list[str]:
    """A row for each dataset, a column for each learner, in percent; the best in bold."""
    header = ["dataset", "auto took", "auto", *OTHERS]
    lines = [f"| {' | '.join(header)} |", "|" + "---|" * len(header)]
    for name in names:
        found = {"auto": [accuracy(name, "auto", {}, seed) for seed in range(seeds)]}
        found |= {label: [accuracy(name, *each, seed) for seed in range(seeds)] for label, each in OTHERS.items()}
        best = max(mean(value for value, _ in values) for values in found.values())
        cells = [_cell([value for value, _ in values], best) for values in found.values()]
        lines.append(f"| {name} | {found['auto'][0][1]} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return lines


def _cell(values: list[float], best: float) -> str:
    spread = f" ± {100 * stdev(values):.1f}" if len(values) > 1 else ""
    text = f"{100 * mean(values):.1f}{spread}"
    return f"**{text}**" if mean(values) == best else text


def page(lines: list[str], command: str) -> str:
    return "\n".join(["# What `auto` takes", "", TEXT, "", f"Written by `{command}`.", "", *lines, ""])


TEXT = (
    "`ContinualClassifier()` takes a learner by a rule about the first session, without a search: see `choice_` of a "
    "model. This is the accuracy in percent on all classes after the last session, beside that of what it could have "
    "taken, each with its own defaults; the highest is bold. Sessions bring two new classes each (`breast_cancer`: "
    "both classes in four sessions); of MNIST and Fashion-MNIST 6,000 training and 2,000 test images are used."
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("datasets", nargs="*", choices=[[], *TOYS, *IMAGES], metavar="DATASET")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    with one_thread():
        lines = table(options.datasets or [*TOYS, *IMAGES], options.seeds)
    if options.write:
        chosen = " ".join(options.datasets)
        command = f"python benchmarks/auto.py --seeds {options.seeds} --write {options.write} {chosen}".strip()
        options.write.write_text(page(lines, command), encoding="utf-8")


if __name__ == "__main__":
    main()
