"""What the search of mntdp-d costs: a step, the operations of a stream, the features that its prior looks at.

    python benchmarks/mntdp.py [--json] [--rounds N] [--stream NAME] [--tasks N ... [--runs FILE]] [--check]

Steps are contests as in step_cost.py: CPU time on one thread, a few steps of each in turn, the median over rounds.
Those of the first task have one candidate and stand beside a plain PyTorch loop in channels_last; those of the second
have one for every module, and stand beside a step of `independent` (which has no limit: see the operations), and beside
the same candidates without sharing what is frozen. `--stream` is learned by mntdp-d and by independent on small
settings, and their operations are compared as the ledger has them. `--tasks` are tasks of ctrl-long, learned in a
hurry, or as a file has them that `engram export --runs` made: what the features of all past paths cost then, if every
distinct beginning is computed once, as a share of computing each path by itself. Without a file both need their
datasets.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import torch
from step_cost import ADAM, CLASSES, COLOUR, SCALE, Contest, chunk, measure, plain_layers, plain_steps, random_images

import engram
from engram.core import Lesson, Outline, Split
from engram.learners import create
from engram.networks import Blueprint
from engram.parts.library import Library
from engram.parts.walk import PathWalk, beginnings
from engram.record import Record
from engram.runs import record_of
from engram.store import Store
from engram.transform import Transform

SAMPLES, BATCH = 1280, 64
SMALL = {"width": 8, "side": 16, "large": 100, "small": 20, "middle": 2, "test_samples": 10, "batch": 64, "rate": 5e-3}
SMALL |= {"augment": "flip+crop", "stop": "patience", "patience": 60, "patience_epochs": 6, "epochs": 25}
HURRY = {"width": 4, "side": 8, "batch": 64, "rate": 5e-3, "iterations": 20, "large": 40, "test_samples": 10}
MOST_FLOPS, MOST_FEATURES = 2.5, 0.6


def lesson(index: int) -> Lesson:
    x, y = random_images(SAMPLES + 20, COLOUR)
    parts = (Split(x[part], y[part], transform=Transform(SCALE)) for part in (slice(SAMPLES), slice(SAMPLES, None)))
    return Lesson(f"task {index + 1}", index, CLASSES, *parts)


def steps(name: str, network: Blueprint, count: int, tasks: int, is_shared: bool = True) -> Iterator[Any]:
    """Those of the last of so many tasks."""
    epochs = 1 + 2 * count * BATCH // SAMPLES  # some are in two contests
    learner = create(name, Outline(COLOUR, CLASSES), 0, network, {"batch": BATCH, "epochs": epochs})
    for task in range(tasks - 1):
        for _ in learner.learn(lesson(task)):
            pass
    running = learner.learn(lesson(tasks - 1))
    yield next(running)
    for candidate in [] if is_shared else learner.fit.trained:  # type: ignore[attr-defined]
        candidate.walk = PathWalk(candidate.library)
    yield from running


def contests(turns: int) -> Iterator[Contest]:
    for name, width in (("ctrl-resnet", 16), ("ctrl-alexnet", 32)):
        network, shown = Blueprint.of(name, width=width), f"{name} width {width}"
        layout = torch.channels_last
        plain = plain_steps(*random_images(SAMPLES, COLOUR), plain_layers(network, layout), ADAM, BATCH, layout)
        one, all_of_them = (chunk(steps("mntdp-d", network, turns, tasks), 1) for tasks in (1, 2))
        apart = chunk(steps("mntdp-d", network, turns, 2, is_shared=False), 1)
        independent = chunk(steps("independent", network, turns, 2), 1)
        yield Contest(f"one candidate, {shown}", one, chunk(plain, 1), 1.05)
        yield Contest(f"all, {shown}, over independent", all_of_them, independent, math.inf)
        yield Contest(f"all, {shown}, over apart", all_of_them, apart, 1.0)


def flops(stream: str) -> dict[str, Any]:
    """Training operations of a stream, over those of `independent`."""
    found = {
        name: engram.run(stream, name, network="ctrl-resnet", **SMALL).flops for name in ("mntdp-d", "independent")
    }
    ratio = found["mntdp-d"] / found["independent"]
    return {"ratio": ratio, "limit": MOST_FLOPS, "ok": ratio <= MOST_FLOPS}


def trained_before(runs: str) -> Record:
    """The first run of mntdp-d on the long stream among those of a file."""
    with tempfile.TemporaryDirectory() as folder, closing(Store(folder)) as store:
        engram.import_runs(store, runs)
        records = (record_of(entry, store) for entry in store.runs())
        return next(r for r in records if r.learner == "mntdp-d" and r.stream.startswith("ctrl-long"))


def feature_costs(counts: list[int], runs: str) -> dict[str, Any]:
    """Operations for the features of all past paths, over those of each path by itself, after so many tasks."""
    hurried = {"network": "ctrl-resnet", "tasks": max(counts), **HURRY}
    record = trained_before(runs) if runs else engram.run("ctrl-long", "mntdp-d", **hurried)
    size = {name: record.settings[name] for name in ("width", "side")}
    library = Library(Blueprint.of(record.network, **size), COLOUR, 0)
    whole = sum(library.flops(layer) for layer in range(len(library.layers) - 1))
    found = {}
    for count in counts:
        paths = {tuple(row.notes["path"]) for row in record.rows[:count]}
        ratio = sum(library.flops(len(prefix) - 1) for prefix in beginnings(paths) if prefix) / (count * whole)
        ok = count < 22 or ratio <= MOST_FEATURES
        found[f"features of {count} tasks"] = {"ratio": ratio, "limit": MOST_FEATURES, "ok": ok}
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=20, help="rounds to take the median over (20); 0: no steps")
    parser.add_argument("--stream", help="a transfer stream whose operations are compared, as ctrl-minus")
    parser.add_argument("--tasks", type=int, nargs="*", default=[], help="tasks of the long stream, as 25 50 100")
    parser.add_argument("--runs", default="", help="for --tasks: their paths are those of a file of runs")
    parser.add_argument("--check", action="store_true", help="leave with 1 if a limit is exceeded")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    results = measure(asked.rounds, contests) if asked.rounds else {}
    found = {name: {**result._asdict(), "ok": result.ok} for name, result in results.items()}
    if asked.stream:
        found[f"operations on {asked.stream}"] = flops(asked.stream)
    found |= feature_costs(asked.tasks, asked.runs) if asked.tasks else {}
    if asked.json:
        print(json.dumps(found, indent=1))
    else:
        for name, result in found.items():
            print(f"{name:50}{result['ratio']:7.3f}{result['limit']:7.2f}  {'ok' if result['ok'] else 'TOO MUCH'}")
    return int(asked.check and not all(result["ok"] for result in found.values()))


if __name__ == "__main__":
    sys.exit(main())
