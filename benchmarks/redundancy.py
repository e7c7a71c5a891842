"""How long the symmetric uncertainty of all pairs of features takes.

    python benchmarks/redundancy.py [--json] [--check]

CPU seconds on one thread: MNIST, if it is here, and random features of the size of CUB-200's (2,048 × 6,000). Beside
them the same histograms pair by pair with `np.histogram2d`, on a few pairs, as a multiple.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable

import numpy as np
import torch

from engram import datasets
from engram.errors import EngramError
from engram.redundancy import discretise, symmetric_uncertainty

LIMITS = {"mnist, 784 features × 60,000 samples": 60.0, "random, 2,048 features × 6,000 samples": 300.0}
PAIRS = 50


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def plain(levels: np.ndarray) -> None:
    """The histograms of a few pairs, one by one."""
    for pair in np.random.RandomState(0).randint(0, levels.shape[1], (PAIRS, 2)):
        np.histogram2d(*levels[:, pair].T, bins=levels[:, pair].max(0) + 1)


def measured(name: str, x: np.ndarray) -> dict[str, object]:
    took = seconds(lambda: symmetric_uncertainty(discretise(x)))
    pairs = x.shape[1] * (x.shape[1] + 1) / 2
    levels = discretise(x)
    ratio = seconds(lambda: plain(levels)) / PAIRS * pairs / took
    return {"seconds": took, "times_faster_than_pairs": ratio, "limit": LIMITS[name], "ok": took <= LIMITS[name]}


def samples() -> dict[str, np.ndarray]:
    mnist, cub = LIMITS
    found = {cub: np.random.RandomState(0).rand(6000, 2048).astype(np.float32)}
    try:
        found[mnist] = datasets.load("mnist").x_train.flatten(1).numpy()
    except EngramError as error:
        print(error, file=sys.stderr)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    wanted = parser.parse_args()
    torch.set_num_threads(1)
    results = {name: measured(name, x) for name, x in samples().items()}
    if wanted.json:
        print(json.dumps(results))
    else:
        for name, result in results.items():
            print(f"{name}: {result['seconds']:.1f} s, {result['times_faster_than_pairs']:.0f} times faster than pairs")
    if wanted.check and not all(result["ok"] for result in results.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
