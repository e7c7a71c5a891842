"""What the checks are made of: three tiny lessons, learners for them, and comparison to the last bit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from engram.checkpoint import decode, encode
from engram.core import ALIGNMENT, Learner, Lesson, Outline, Split, State, Step
from engram.errors import BadSetting
from engram.networks import Blueprint
from engram.randomness import generator
from engram.settings import declared

CLASSES = ((3, 0), (5, 1), (2, 4))  # no class's number is its column, and no task's classes are in order
FEATURES, SAMPLES, TESTS = 8, 40, 20
SMALL = {"epochs": 5, "batch": 16, "rate": 0.02, "features": 40, "fisher_samples": 30}
SMALL |= {"map_side": 6, "most_passes": 3, "sleep_every": 90}
SMALL |= {"generations": 5, "population": 4, "batches": 5, "trials": 3}
MOST_STEPS = 100_000


class Failed(Exception):
    """A broken promise: what was expected, what was found, what to do."""


@dataclass
class Case:
    """A learner class under test, and the data it is tested on."""

    cls: type[Learner]
    seed: int
    given: Mapping[str, Any]

    @cached_property
    def settings(self) -> dict[str, Any]:
        """What was given, and what suits small lessons where the learner has such a setting."""
        known = declared(self.cls)
        suiting = {name: value for name, value in SMALL.items() if name in known and _accepts(known[name], name, value)}
        return {**suiting, **self.given}

    @property
    def outline(self) -> Outline:
        return Outline((FEATURES,), tuple(label for classes in CLASSES for label in classes))

    @property
    def network(self) -> Blueprint:
        return Blueprint.of("mlp", widths=(16,))

    def learner(self, seed: int | None = None, network: Blueprint | None = None, **settings: Any) -> Learner:
        """A fresh learner."""
        build: Any = self.cls
        settings = {**self.settings, **settings}
        return build(self.outline, self.seed if seed is None else seed, network or self.network, **settings)

    def taught(self, lessons: int = len(CLASSES), seed: int | None = None, **settings: Any) -> Learner:
        """A learner after the first so many lessons."""
        return teach(self.learner(seed, **settings), self.lessons[:lessons])

    @property
    def lessons(self) -> list[Lesson]:
        """The lessons, drawn anew each time: what one check does to them, no other sees."""
        return [self.lesson(index, classes) for index, classes in enumerate(CLASSES)]

    def lesson(self, index: int, classes: Sequence[int], samples: int = SAMPLES) -> Lesson:
        """So many samples of each of these classes."""
        train, validation = self.split(classes, samples, "train"), self.split(classes, 8, "validation")
        return Lesson(f"clouds {'-'.join(map(str, classes))}", index, tuple(classes), train, validation)

    def test(self, index: int) -> Split:
        """Samples of a task's classes that no lesson holds."""
        return self.split(CLASSES[index], TESTS, "test")

    def split(self, classes: Sequence[int], samples: int, purpose: str) -> Split:
        centres = 3 * torch.randn(6, FEATURES, generator=generator(0, "checks", "centres"))
        y = torch.tensor(list(classes)).repeat(samples)
        noise = torch.randn(len(y), FEATURES, generator=generator(0, "checks", purpose, *classes))
        return Split(centres[y] + noise, y)


def _accepts(setting: Any, name: str, value: Any) -> bool:
    try:
        setting.parse(name, value)
    except BadSetting:
        return False
    return True


def steps(learner: Learner, lesson: Lesson) -> Iterator[Step]:
    """Every step of a lesson, or a failure where it does not end."""
    for count, step in enumerate(learner.learn(lesson)):
        if count == MOST_STEPS:
            raise Failed(f"a lesson of {len(lesson.train)} samples was not over after {MOST_STEPS} steps; end it")
        yield step


def teach(learner: Learner, lessons: Iterable[Lesson]) -> Learner:
    for lesson in lessons:
        for _ in steps(learner, lesson):
            pass
    return learner


def saved(learner: Learner) -> State:
    """The learner's state as a checkpoint would give it back.

    A file promises no order of its tensors, so they come in the one that is least likely to be theirs.
    """
    state = decode(encode(learner.state(), "check"), "check", "the checkpoint of this check")
    return State(dict(sorted(state.tensors.items(), reverse=True)), state.plain)


def moved(state: State) -> State:
    """The same state at addresses where torch would put no tensor of its own: a file's or another's memory."""
    tensors = {}
    for name, values in state.tensors.items():
        space = torch.empty(values.numel() + 1, dtype=values.dtype)
        tensors[name] = space[1:].view(values.shape).copy_(values)
    return State(tensors, state.plain)


def heir(case: Case, learner: Learner, **settings: Any) -> Learner:
    """A fresh learner that was given the other's state through a checkpoint."""
    fresh = case.learner(**settings)
    fresh.load(saved(learner))
    return fresh


def other_place(expected: State, found: State) -> str:
    """The first tensor that lies at another kind of address in one of two states, in words; empty where none does."""
    for name, values in expected.tensors.items():
        places = [t.data_ptr() % ALIGNMENT for t in (values, found.tensors[name])]
        if values.numel() and places[0] != places[1]:
            return f"tensor '{name}' begins {places[1]} bytes after a multiple of {ALIGNMENT}, not {places[0]}"
    return ""


def difference(expected: State, found: State) -> str:
    """Where two states differ, in words; empty where they agree to the last bit."""
    names = sorted(set(expected.tensors) ^ set(found.tensors))
    if names:
        return f"only one of the two states has a tensor '{names[0]}'"
    for name, tensor in expected.tensors.items():
        if not same_bits(tensor, found.tensors[name]):
            return f"tensor '{name}' differs"
    for name in sorted({*expected.plain, *found.plain}):
        if expected.plain.get(name) != found.plain.get(name):
            return (
                f"'{name}' is {_short(expected.plain.get(name))} in one, {_short(found.plain.get(name))} in the other"
            )
    return ""


def same_bits(a: Tensor, b: Tensor) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return bool(a.detach().contiguous().numpy().tobytes() == b.detach().contiguous().numpy().tobytes())


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def asked(learner: Learner, task: int) -> int | None:
    """What to pass as the task where only the learner's need of one counts."""
    return task if learner.needs_task else None


def scores_of(learner: Learner, x: Tensor, task: int | None, classes: Iterable[int], when: str) -> Tensor:
    """The learner's scores, or a failure: one finite column for each of these classes, in the learner's order."""
    columns, wanted = list(learner.columns(task)), sorted(set(classes))
    where = f"columns({task}) {when}"
    if sorted(columns) != wanted:
        raise Failed(f"{where} should name the classes {wanted}, each once, but is {columns}; return those")
    scores = learner.predict(x, task)
    if not isinstance(scores, Tensor) or scores.shape != (len(x), len(columns)):
        found = tuple(scores.shape) if isinstance(scores, Tensor) else type(scores).__name__
        raise Failed(
            f"predict of {len(x)} samples with task {task} {when} should have shape {(len(x), len(columns))} but gave "
            f"{found}; return one column for each of columns(task)"
        )
    if not scores.isfinite().all():
        raise Failed(f"predict with task {task} {when} gave scores that are not finite; raise Diverged instead")
    return scores
