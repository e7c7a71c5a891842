"""What a Ray cluster costs beside worker processes: for each node, and for two runs on two workers.

    python benchmarks/ray_overhead.py [--rounds N] [--json]

Ray and the workers are started before anything is timed, by a run that nobody counts.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Sequence

os.environ.setdefault("OMP_NUM_THREADS", "1")

from engram.execute import Silence, execute
from engram.request import prepare
from engram.runs import Run
from engram.store import Store

TASKS = 20
SHORT = {"widths": "256-256", "batch": 64, "epochs": 1}
LONG = {**SHORT, "epochs": 40}


class Clock(Silence):
    """The moments at which nodes were there: a crew starts before the first of them."""

    def __init__(self) -> None:
        self.moments: list[float] = []

    def grown(self, key: str) -> None:
        self.moments.append(time.monotonic())


def node_seconds(engine: str, seed: int) -> float:
    """The median time from one node of a run to the next, less what it took to learn."""
    run = prepare("permuted-digits", "finetune", seed=seed, tasks=TASKS, evaluate="last", settings=SHORT)
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        execute([run], store, 2, clock, engine)
        rows = [store.row(key) for key in store.runs()[0]["result"]["path"]]
        store.close()
    learning = [row.cost.seconds for row in rows if row is not None]
    gaps = [after - before for before, after in zip(clock.moments, clock.moments[1:])]
    return statistics.median(gap - seconds for gap, seconds in zip(gaps[:-1], learning[1:-1]))


def wall_seconds(seeds: Sequence[int]) -> float:
    """From the first node of any run on (by then all workers are there) to the end, of runs on as many workers."""
    runs: list[Run] = [prepare("permuted-digits", "finetune", seed=s, tasks=4, settings=LONG) for s in seeds]
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        execute(runs, store, len(runs), clock, "ray")
        store.close()
    return clock.moments[-1] - clock.moments[len(runs) - 1]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    import ray

    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    overheads, ratios = [], []
    for seed in range(asked.rounds):
        overheads.append(1000 * (node_seconds("ray", seed) - node_seconds("processes", seed)))
        one, two = wall_seconds([seed]), wall_seconds([seed, seed + 100])
        ratios.append(two / one)
    found = {"milliseconds a node over processes": overheads, "two runs on two workers over one": ratios}
    if asked.json:
        print(json.dumps(found))
    for name, values in {} if asked.json else found.items():
        print(f"{name}: {statistics.median(values):.3g} ({', '.join(f'{value:.3g}' for value in values)})")


if __name__ == "__main__":
    main()
