"""Rows a second that ContinualClassifier learns and answers, side by side with scikit-learn's SGDClassifier.

    python benchmarks/own_data.py             a table
    python benchmarks/own_data.py --json      {name: {"learned": …, "answered": …, …}}
    python benchmarks/own_data.py --check     leaves with 1 if a limit is not reached
    python benchmarks/own_data.py --rounds 30 more rounds, less noise (15 is the default)

CPU time on one thread, on the same rows of float32 with 100 features and 10 classes; all take turns in every round. Of
each the median round counts. Learning is `partial_fit` with what it takes to be able to answer: the closed forms are
solved too.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier
from threadpoolctl import threadpool_limits

from engram import ContinualClassifier

FEATURES, CLASSES = 100, 10
LEARNED, ANSWERED = 20_000, 50_000  # rows of a round
LIMITS = {"learned": 50_000, "answered": 200_000}  # rows a second of ridge and slda
OURS, THEIRS = ("ridge", "slda"), "SGDClassifier"


def rows(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Normal distributions around a point for each class."""
    draw = np.random.default_rng(seed)
    centres = np.random.default_rng(0).normal(size=(CLASSES, FEATURES)) / 2
    y = draw.integers(0, CLASSES, count)
    return (centres[y] + draw.normal(size=(count, FEATURES))).astype(np.float32), y


def timed(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def measure(rounds: int) -> dict[str, dict[str, Any]]:
    models = {name: ContinualClassifier(name) for name in OURS} | {THEIRS: SGDClassifier(random_state=0)}
    seconds: dict[str, dict[str, list[float]]] = {name: {"learned": [], "answered": []} for name in models}
    test, truth = rows(ANSWERED, 10**6)
    for number in range(rounds + 1):
        x, y = rows(LEARNED, number)
        for name, model in models.items():
            learn = timed(lambda: taught(model, x, y))  # noqa: B023
            answer = timed(lambda: model.predict(test))  # noqa: B023
            if number:  # the first round warms up
                seconds[name]["learned"].append(LEARNED / learn)
                seconds[name]["answered"].append(ANSWERED / answer)
    found: dict[str, dict[str, Any]] = {}
    for name, each in seconds.items():
        found[name] = {kind: round(statistics.median(values)) for kind, values in each.items()}
        found[name]["accuracy"] = float((models[name].predict(test) == truth).mean())
    for name in OURS:
        for kind, limit in LIMITS.items():
            found[name][f"{kind}_times"] = found[name][kind] / found[THEIRS][kind]
            found[name][f"{kind}_ok"] = found[name][kind] >= limit
    return found


def taught(model: Any, x: np.ndarray, y: np.ndarray) -> None:
    if isinstance(model, SGDClassifier):
        model.partial_fit(x, y, classes=np.arange(CLASSES))
    else:
        model.partial_fit(x, y).predict(x[:1])


def table(found: dict[str, dict[str, Any]]) -> str:
    lines = [f"{FEATURES} features, {CLASSES} classes, one thread       learned/s   answered/s   accuracy"]
    for name, each in found.items():
        lines.append(f"{name:36} {each['learned']:12,} {each['answered']:12,}   {each['accuracy']:8.4f}")
    for name in OURS:
        times = " and ".join(f"{found[name][f'{kind}_times']:.2f} times as fast {kind}" for kind in LIMITS)
        lines.append(f"{name} is {times} as SGDClassifier")
    lines.append("limits: " + ", ".join(f"{kind} {limit:,}/s" for kind, limit in LIMITS.items()))
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with threadpool_limits(1):
        found = measure(options.rounds)
    print(json.dumps(found, indent=2) if options.json else table(found))
    reached = all(found[name][f"{kind}_ok"] for name in OURS for kind in LIMITS)
    return 0 if reached or not options.check else 1


if __name__ == "__main__":
    sys.exit(main())
