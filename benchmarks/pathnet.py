"""What PathNet's search costs: ten permuted-MNIST sessions of 60,000 samples on one core, told from a few generations.

    python benchmarks/pathnet.py [--json] [--sessions N] [--generations N] [--whole] [--check]

Each session is taught in a hurry (N generations on random images of MNIST's size), which freezes a path as a whole one
would; CPU seconds of a generation, times the default number of them, are those of the session. `--whole` takes every
generation instead. A training step is also held against the same path as a plain PyTorch module with autograd and
Adam(fused=True), a few steps of each in turn. `--check` leaves with 1 beyond a limit.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engram.core import Lesson, Outline, Split
from engram.learners.pathnet import PathNet
from engram.parts.optimisers import OPTIMISERS
from engram.parts.pathways import ActivePath, Pathways
from engram.transform import Transform

IMAGES, CLASSES, LIMIT_MINUTES, LIMIT_RATIO = 60_000, tuple(range(10)), 25, 1.0
BATCH, STEPS, ROUNDS = 16, 25, 20


class Sum(nn.Module):
    """Modules one by one, as the paper draws them."""

    def __init__(self, inputs: int):
        super().__init__()
        self.modules_of_a_layer = nn.ModuleList(nn.Linear(inputs, 80) for _ in range(5))

    def forward(self, x: Tensor) -> Tensor:
        first, *others = (F.relu(module(x)) for module in self.modules_of_a_layer)
        return sum(others, start=first)


def samples(count: int) -> tuple[Tensor, Tensor]:
    """Random bytes, as few of them not zero as in MNIST, and labels."""
    source = torch.Generator().manual_seed(0)
    x = torch.randint(0, 256, (count, 1, 28, 28), dtype=torch.uint8, generator=source)
    x *= torch.randint(0, 5, x.shape, dtype=torch.uint8, generator=source) == 0
    return x, torch.randint(0, 10, (count,), generator=source)


def sessions(count: int, generations: int) -> list[dict[str, Any]]:
    """CPU seconds of each session's generations, and how many modules were frozen while they ran."""
    x, y = samples(IMAGES)
    learner, found = PathNet(Outline((1, 28, 28), CLASSES), generations=generations), []
    for task in range(count):
        order = torch.randperm(784, generator=torch.Generator().manual_seed(task))
        split = Split(x, y, transform=Transform(scale=1 / 255, permutation=order))
        frozen, began = int(learner.frozen.sum()), time.process_time()
        for _ in learner.learn(Lesson(f"permutation {task + 1}", task, CLASSES, split, split)):
            pass
        found.append({"session": task + 1, "frozen": frozen, "seconds": time.process_time() - began})
    return found


def step_ratio() -> float:
    """CPU time of a step over that of a plain one, the median over rounds."""
    source = torch.Generator().manual_seed(0)
    pathways = Pathways(784, 2, 10, 80)
    pathways.renew(torch.zeros(2, 10, dtype=torch.bool), source)
    pathways.append(10, source)
    path = ActivePath(pathways, torch.arange(5).repeat(2, 1), slice(0, 10))
    adam = OPTIMISERS["adam"](2e-3)
    adam.fit(len(path.theta))
    plain = nn.Sequential(Sum(784), Sum(80), nn.Linear(80, 10))
    plain_adam = torch.optim.Adam(plain.parameters(), lr=2e-3, fused=True)
    x, y = samples(BATCH)
    x, targets = x.flatten(1) / 255, F.one_hot(y, 10).float()

    def ours() -> None:
        path.differentiate(x, targets)
        adam.step(path.theta, path.grad, *path.parts)

    def theirs() -> None:
        plain_adam.zero_grad()
        F.cross_entropy(plain(x), y).backward()
        plain_adam.step()

    def seconds(work: Any) -> float:
        began = time.process_time()
        for _ in range(STEPS):
            work()
        return time.process_time() - began

    return statistics.median(seconds(ours) / seconds(theirs) for _ in range(ROUNDS))


def measure(count: int, generations: int) -> dict[str, Any]:
    found, whole = sessions(count, generations), PathNet.generations.default
    scale = whole / generations
    minutes = sum(session["seconds"] for session in found) * scale / 60
    steps = 2 * PathNet.batches.default * generations
    return {
        "sessions": [{**each, "steps_per_second": steps / each["seconds"]} for each in found],
        "minutes": minutes,
        "limit_minutes": LIMIT_MINUTES,
        "step_ratio": step_ratio(),
        "limit_ratio": LIMIT_RATIO,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--sessions", type=int, default=10)
    parser.add_argument("--generations", type=int, default=5)
    parser.add_argument("--whole", action="store_true", help="every generation of every session")
    parser.add_argument("--check", action="store_true", help="leave with 1 if a limit is exceeded")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    found = measure(asked.sessions, PathNet.generations.default if asked.whole else asked.generations)
    if asked.json:
        print(json.dumps(found, indent=1))
    else:
        for each in found["sessions"]:
            speed = f"{each['steps_per_second']:6.0f} steps a second"
            print(f"session {each['session']:2}  {each['frozen']:2} frozen  {speed}")
        whole = PathNet.generations.default
        print(f"{asked.sessions} sessions of {whole} generations: {found['minutes']:.1f} CPU minutes")
        print(f"a step, over one by autograd: {found['step_ratio']:.2f}")
    if asked.check and (found["minutes"] > LIMIT_MINUTES or found["step_ratio"] > LIMIT_RATIO):
        sys.exit(1)


if __name__ == "__main__":
    main()
