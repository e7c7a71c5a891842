"""How many samples a second GeppNet learns, and how many times that is of the same rule written out for one sample.

    python benchmarks/geppnet.py [--json] [--rounds N]

CPU time on one thread, 23 × 23 units, MNIST (`engram data fetch mnist`); both contestants in turn in one process. The
learner runs its real `learn`: at its beginning, where every sample moves the whole map, and after the ordering, where
map and readout learn together. At least 8,000 a second are wanted of both on an idle core.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from itertools import islice

import torch

from engram.core import Lesson, Outline, Split, Step
from engram.datasets import load
from engram.learners.geppnet import BLOCK, GeppNet
from engram.transform import Transform
from engram.tree import one_thread

STEPS = 20  # of the learner in a round
ORDERING, WARM_UP = 150, 5  # steps that are not measured: until the map is ordered, and until all is in the caches
PLAIN = 64  # samples of the plain loop in a round
WANTED = 8000


def lesson() -> Lesson:
    data = load("mnist")
    transform = Transform(scale=data.scale)
    train = Split(data.x_train, data.y_train, transform=transform)
    return Lesson("mnist", 0, tuple(range(10)), train, train.take(torch.arange(0)))


def learning(mnist: Lesson, skipped: int, **settings: float) -> Iterator[Step]:
    """The steps of a first session, without some at its beginning."""
    learner = GeppNet(Outline(mnist.train.shape, mnist.classes), **settings)
    return islice(learner.learn(mnist), skipped, None)


def plain_loop(mnist: Lesson, rate: float, radius: float) -> Callable[[], None]:
    """One sample after another: the nearest unit, and all of them moved."""
    side = GeppNet.map_side.default
    places = torch.cartesian_prod(torch.arange(side), torch.arange(side)).float()
    weights, start = torch.rand(side**2, 784), 0

    def some() -> None:
        nonlocal start
        x, _ = mnist.train.batch(slice(start, start + PLAIN))
        start = (start + PLAIN) % (len(mnist.train) - PLAIN)
        for sample in x.flatten(1):
            away = sample - weights
            best = away.square().sum(1).argmin()
            share = rate * torch.exp((places - places[best]).square().sum(1) / (-2 * radius**2))
            weights.addcmul_(share.unsqueeze(1), away)

    return some


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def speed(steps: Iterator[Step], plain: Callable[[], None], rounds: int) -> dict[str, float | bool]:
    rates, ratios = [], []
    for _ in range(rounds):
        ours = seconds(lambda: sum(1 for _ in islice(steps, STEPS))) / (STEPS * BLOCK)
        rates.append(1 / ours)
        ratios.append(seconds(plain) / PLAIN / ours)
    rate = statistics.median(rates)
    return {"samples_a_second": rate, "times_plain": statistics.median(ratios), "ok": rate >= WANTED}


def speeds(rounds: int) -> dict[str, dict[str, float | bool]]:
    mnist = lesson()
    ordering = learning(mnist, WARM_UP, map_share=1.0)
    blocks = ORDERING + WARM_UP + rounds * STEPS
    together = learning(mnist, ORDERING + WARM_UP, base_iterations=blocks * BLOCK, map_share=ORDERING / blocks)
    return {
        "map alone, at its beginning": speed(ordering, plain_loop(mnist, 0.1, 5.75), rounds),
        "map and readout": speed(together, plain_loop(mnist, 0.01, 0.5), rounds),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    with one_thread():
        table = speeds(options.rounds)
    if options.json:
        print(json.dumps(table))
        return
    for name, row in table.items():
        figures = "   ".join(f"{figure} {value:,.1f}" for figure, value in row.items() if figure != "ok")
        print(f"{name:<30}{figures}   {'ok' if row['ok'] else 'OVER'}")


if __name__ == "__main__":
    main()
