"""What a whole run costs beside its bare arithmetic, what a second worker buys, and what a worker weighs.

    python benchmarks/whole_run.py [--json] [--rounds N] [--tasks N]

Four figures, each a ratio or a size measured in this run (limits in brackets):

- the CPU time of `engram run permuted-mnist --learner ewc` (10 tasks, 1 epoch; evaluations, Fisher information,
  checkpoints and store included) over that of a hand-written script that only makes the plain training steps and the
  evaluations [1.25]; both are whole processes, imports and reading the data included, run in turn;
- the wall time of two runs with two workers over that of one run with one worker [1.15];
- the CPU time of `engram --help` in seconds [0.4];
- the largest resident set of a worker less the dataset, in MB [400].

Needs MNIST ('engram data fetch mnist').
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

LIMITS = {"whole_run": 1.25, "two_workers": 1.15, "help_seconds": 0.4, "worker_extra_mb": 400.0}

BY_HAND = """
import sys, torch, torch.nn.functional as F
from torch import nn
from engram import datasets
torch.set_num_threads(1)
tasks = int(sys.argv[1])
data = datasets.load("mnist")
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
permutations = [torch.randperm(784) for _ in range(tasks)]
x_train, x_test = data.x_train.flatten(1), data.x_test.flatten(1)
for k in range(tasks):
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-3, fused=True)
    order = torch.randperm(len(x_train))
    for start in range(0, len(order), 64):
        index = order[start : start + 64]
        x = x_train[index][:, permutations[k]].float() / 255
        optimiser.zero_grad()
        F.cross_entropy(net(x), data.y_train[index]).backward()
        optimiser.step()
    with torch.no_grad():
        for j in range(k + 1):
            right = 0
            for start in range(0, len(x_test), 1000):
                x = x_test[start : start + 1000][:, permutations[j]].float() / 255
                right += int((net(x).argmax(1) == data.y_test[start : start + 1000]).sum())
"""


def measure(command: list[str]) -> tuple[float, float, float]:
    """CPU seconds of a command and its children, wall seconds, and the largest resident set in MB."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, wall, after.ru_maxrss / 1000


def engram(*words: str) -> list[str]:
    return [sys.executable, "-m", "engram.cli", *words]


def permuted(tasks: int, seeds: str, jobs: int, store: str) -> list[str]:
    return engram(
        *["run", "permuted-mnist", "--learner", "ewc", "--tasks", str(tasks), "--seeds", seeds],
        *["--jobs", str(jobs), "--store", store, "--json"],
    )


def results(rounds: int, tasks: int) -> dict[str, dict[str, float | bool]]:
    whole, two, weights = [], [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as store:
            run_cpu, one_wall, weight = measure(permuted(tasks, "0", 1, store))
        hand_cpu, _, _ = measure([sys.executable, "-c", BY_HAND, str(tasks)])
        with tempfile.TemporaryDirectory() as store:
            _, two_wall, _ = measure(permuted(tasks, "0,1", 2, store))
        whole.append(run_cpu / hand_cpu)
        two.append(two_wall / one_wall)
        weights.append(weight)
    help_cpu = min(measure(engram("--help"))[0] for _ in range(3))
    dataset_mb = 70_000 * 785 / 1e6
    found = {
        "whole_run": statistics.median(whole),
        "two_workers": statistics.median(two),
        "help_seconds": help_cpu,
        "worker_extra_mb": max(weights) - dataset_mb,
    }
    return {name: {"value": v, "limit": LIMITS[name], "ok": v <= LIMITS[name]} for name, v in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--tasks", type=int, default=10)
    options = parser.parse_args()
    table = results(options.rounds, options.tasks)
    if options.json:
        print(json.dumps(table))
        return
    for name, row in table.items():
        print(f"{name:<18}{row['value']:>9.3f}   limit {row['limit']:<6}  {'ok' if row['ok'] else 'OVER'}")


if __name__ == "__main__":
    main()
