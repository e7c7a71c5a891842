"""How long nodes take to grow, told from a few steps of one node of every kind. What is learned on the way is dropped.

A node's time is that of its steps, of what its learner does before and after them, and of measuring. Nodes are of one
kind if they differ only in what changes how many steps there are (epochs, tasks) or no time at all (rates, seeds).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, NamedTuple

import torch

from engram.core import Learner, State, Step, Stream, Task
from engram.errors import EngramError
from engram.evaluate import hits
from engram.learners import create
from engram.nodes import Growth, Node
from engram.tree import lesson_of, one_thread

WARM_UP_STEPS, STEPS, STEPS_SECONDS = 2, 10, 0.3  # of a lesson so much is measured, whichever is reached first
TEST_SAMPLES = 1000
PAST_SECONDS = 5.0  # for the lessons before the one that is measured
BUDGET_SECONDS = 60.0  # kinds that are not measured by then are guessed
OF_ONE_KIND = ("rate", "strength", "epochs", "iterations")
# Earlier lessons only have to leave behind what makes later steps slower: data, exemplars, penalties.
BRIEF = {"iterations": 1, "generations": 1, "batch": 256, "fisher_samples": 100, "sampling": "uniform"}


class Asked(NamedTuple):
    """A node to be grown, and its stream; and the seconds that its lesson took with another seed, where that is known:
    how soon a lesson stops by itself cannot be told from a few steps."""

    node: Node
    stream: Stream
    learned: float | None = None

    @property
    def growth(self) -> Growth:
        return self.node.last

    @property
    def stops_by_itself(self) -> bool:
        """Whether it may end before its last step, and nobody knows when."""
        return self.learned is None and self.growth.settings.get("stop") == "patience"

    def family(self) -> tuple[str, str]:
        return self.node.learner, self.node.network.name

    def kind(self) -> str:
        """What the time of a step depends on, as text: of the stream that is what happens to a batch on its way in."""
        settings = {name: value for name, value in self.growth.settings.items() if name not in OF_ONE_KIND}
        data, outline = self.stream[0].train, self.stream.outline
        changes = [str(data.x.dtype), *sorted(data.transform.tensors())]
        parts = [
            *self.family(),
            self.node.network.to_json(),
            settings,
            outline.shape,
            len(outline.classes),
            changes,
        ]
        return json.dumps([*parts, self.node.depth > 1], sort_keys=True, default=str)

    def presented(self) -> int:
        """Samples that training goes through, not counting those that a learner keeps from earlier lessons."""
        settings = self.growth.settings
        if settings.get("iterations"):
            return int(settings["iterations"] * settings["batch"])
        return int(settings.get("epochs", 1) * sum(len(self.stream[task].train) for task in self.growth.tasks))

    def scored(self, steps: float) -> int:
        """Samples that are predicted in a lesson of so many steps and at its end."""
        seen, current = [self.stream[task] for task in self.node.tasks], self.stream[self.growth.tasks[-1]]
        test = sum(len(task.test) for task in seen)
        if self.growth.every:
            along = (math.ceil(steps / self.growth.every) + 1) * (test + len(current.validation))
        else:
            along = sum(step <= steps for step in self.growth.curve) * len(current.test)
        if self.node.measured is None:
            return along + test + sum(len(task.validation) for task in seen)
        return along + sum(len(seen[place].test) for place in self.node.measured) + len(current.validation)


@dataclass(frozen=True)
class Pace:
    """What was measured of a kind: seconds of a step, of all that comes before the first one and after the last, and of
    scoring a sample; and how many steps there are for every sample that is presented."""

    step: float
    around: float
    sample: float
    steps_per_sample: float

    def seconds(self, asked: Asked) -> float:
        steps = self.steps_per_sample * asked.presented()
        learning = self.step * steps + self.around if asked.learned is None else asked.learned
        return learning + self.sample * asked.scored(steps)


class Estimate(NamedTuple):
    """Seconds of every node (not a number where nothing could be measured), how many kinds there are, and how many of
    them were measured. A node of another kind counts as the mean of its family, or else of all."""

    seconds: list[float]
    kinds: int
    measured: int


def estimate(nodes: Sequence[Asked]) -> Estimate:
    """CPU seconds of growing each of these nodes on one thread, its measurements included."""
    kinds: dict[str, list[int]] = {}
    for place, asked in enumerate(nodes):
        kinds.setdefault(asked.kind(), []).append(place)
    paces = _paces({kind: [nodes[place] for place in places] for kind, places in kinds.items()})
    told = {place: pace.seconds(nodes[place]) for kind, pace in paces.items() for place in kinds[kind]}
    families: dict[tuple[str, str], list[float]] = {}
    for place, seconds in told.items():
        families.setdefault(nodes[place].family(), []).append(seconds)
    means = {family: fmean(seconds) for family, seconds in families.items()}
    mean = fmean(told.values()) if told else math.nan
    found = [told.get(place, means.get(asked.family(), mean)) for place, asked in enumerate(nodes)]
    return Estimate(found, len(kinds), len(paces))


def _paces(kinds: Mapping[str, Sequence[Asked]]) -> dict[str, Pace]:
    """What can be measured in time, in an order that has nothing to do with the kinds: so those stand for the rest."""
    until, paces = time.monotonic() + BUDGET_SECONDS, {}
    with one_thread():
        for kind in sorted(kinds, key=lambda kind: hashlib.sha256(kind.encode()).digest()):
            if time.monotonic() > until:
                break
            with contextlib.suppress(EngramError):  # a rate that is too high, for example: training will say so
                paces[kind] = _pace(_middle(kinds[kind]))
    return paces


def _middle(nodes: Sequence[Asked]) -> Asked:
    """Between short and long paths: where time grows with the number of lessons this one takes the mean."""
    return sorted(nodes, key=lambda asked: (asked.node.depth, asked.presented()))[len(nodes) // 2]


def _pace(asked: Asked) -> Pace:
    growth, before = asked.growth, _brief_past(asked)
    learner, timed = _watched(asked, growth.settings, before, STEPS_SECONDS)
    scoring = _scoring(learner, asked.stream[growth.tasks[-1]])
    if timed.ending is None and "iterations" in growth.settings:
        timed.ending = _watched(asked, {**growth.settings, "iterations": 1}, before, math.inf)[1].ending
    around = timed.beginning + (timed.ending or 0.0)
    return Pace(timed.step, around, scoring, timed.total / max(asked.presented(), 1))


def _brief_past(asked: Asked) -> State | None:
    """The state of a learner that took the earlier lessons in a hurry; None if it had none, or would take too long."""
    state, until = None, time.monotonic() + PAST_SECONDS
    for growth in asked.node.path[:-1]:
        hurry = {name: value for name, value in BRIEF.items() if name in growth.settings}
        learner = _learner(asked, {**growth.settings, **hurry}, state)
        for _ in learner.learn(lesson_of(asked.stream, growth)):
            if time.monotonic() > until:
                return None
        state = learner.state()
    return state


def _watched(
    asked: Asked, settings: Mapping[str, Any], before: State | None, limit_seconds: float
) -> tuple[Learner, _Timed]:
    """A learner with these settings in the last lesson of the node, and how long it took so far."""
    start = time.process_time()
    learner = _learner(asked, settings, before)
    steps = learner.learn(lesson_of(asked.stream, asked.growth))
    timed = _Timed(next(steps).total, time.process_time() - start)
    timed.watch(steps, limit_seconds)
    return learner, timed


def _learner(asked: Asked, settings: Mapping[str, Any], before: State | None) -> Learner:
    node = asked.node
    learner = create(node.learner, asked.stream.outline, node.seed, node.network, settings)
    if before is not None:
        learner.load(before)
    return learner


@dataclass
class _Timed:
    """A lesson that has begun: how many steps it has in all; seconds until its first step, of the first few, and where
    it came to its end of what is done after the last."""

    total: int
    beginning: float
    steps: list[float] = field(default_factory=list)
    ending: float | None = None

    def watch(self, steps: Iterator[Step], limit_seconds: float) -> None:
        while self.ending is None and len(self.steps) < STEPS and sum(self.steps) < limit_seconds:
            start = time.process_time()
            step = next(steps, None)
            took = time.process_time() - start
            if step is None:
                self.ending = took
            else:
                self.steps.append(took)

    @property
    def step(self) -> float:
        """Seconds of a step; the first ones are left out if there are others."""
        return fmean(self.steps[WARM_UP_STEPS:] or self.steps or [0.0])


def _scoring(learner: Learner, task: Task) -> float:
    """Seconds of predicting one sample."""
    some = task.test.take(torch.arange(min(TEST_SAMPLES, len(task.test))))
    start = time.process_time()
    hits(learner, [task], [some])
    return (time.process_time() - start) / max(len(some), 1)
