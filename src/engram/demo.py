"""The demonstration: eight learners on two streams of real handwritten digits, three seeds each, no download."""

from __future__ import annotations

from typing import Any

from engram.learners import learner_settings
from engram.request import prepare
from engram.runs import Run

LEARNERS = ("finetune", "ewc", "online-ewc", "si", "new-head", "independent", "ridge", "joint")
STREAMS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("split-digits", {"head": "multi"}),  # so that learners with an output layer for every task can be compared
    ("permuted-digits", {"tasks": 5}),
)
TRAINING = {"epochs": 10, "batch": 32}
SEEDS = (0, 1, 2)


def demo_runs() -> list[Run]:
    return [
        prepare(stream, learner, seed=seed, settings=_training(learner), **options)
        for stream, options in STREAMS
        for learner in LEARNERS
        for seed in SEEDS
    ]


def _training(learner: str) -> dict[str, Any]:
    known = learner_settings(learner)
    return {name: value for name, value in TRAINING.items() if name in known}
