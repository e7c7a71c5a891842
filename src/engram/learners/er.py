"""Experience replay (Veniat et al. 2021, after Chaudhry et al. 2019): old samples beside every batch.

A step learns from a batch of the present task together with as many samples of other tasks, drawn from a memory with
replacement: one mean cross-entropy over all of them, each through the outputs of its own task. Afterwards the batch
goes into the memory as it is: augmented and normalised. With memory=0 it is finetune with the same heads.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from engram.core import Lesson, State
from engram.networks import Outputs
from engram.parts.gradient import GradientLearner
from engram.parts.outputs import PER_TASK, OwnTasks
from engram.parts.replay import Replay
from engram.randomness import generator
from engram.transform import under


class ER(GradientLearner):
    """Keeps 15 samples of every class of every task: ER is a ring of them, ER (Reservoir) has buffer=reservoir."""

    name = "er"
    keeps = "15 samples of every class"
    paper = "Chaudhry et al.: On tiny episodic memories in continual learning, 2019"
    parts = (Replay,)

    heads = replace(GradientLearner.heads, default=PER_TASK)

    def __init__(self, *args: Any, **settings: Any):
        super().__init__(*args, **settings)
        self.replay = Replay(self._values(Replay), self.outline.shape, self.device)
        self.pending: list[tuple[Tensor, Tensor]] = []  # a batch and its rows, until the step on it is taken

    def begin(self, lesson: Lesson) -> None:
        super().begin(lesson)
        self.replay.make_room(_counts(lesson))

    def prepare(self, lesson: Lesson) -> None:
        self.replay.attend(lesson.index, self.outputs.rows(lesson.index), _counts(lesson))
        super().prepare(lesson)

    def _active_outputs(self, lesson: Lesson) -> tuple[Outputs, Tensor, OwnTasks | None]:
        """Where the softmax runs over a task's labels, each sample's runs over those of its own task."""
        if not len(self.replay.row) or not (self.needs_task or self.loss_over == "task"):
            return super()._active_outputs(lesson)
        own, places = self.outputs.active(lesson.index, "task")
        everything, _, by_task = self.outputs.active_by_task()
        return everything, torch.where(places < 0, places, places + own.start), by_task

    def before_step(self, x: Tensor, y: Tensor) -> None:
        self.pending.append((x, y + self.active.start))

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        return super().loss(*self._beside(x, y))

    def direct(self, x: Tensor, y: Tensor) -> Tensor:
        return super().direct(*self._beside(x, y))

    def _beside(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """The batch, and behind it samples of other tasks."""
        drawn = self.replay.draw(len(x), self._source("replay"))
        if drawn is None:
            return x, y
        self.operations += len(drawn[0]) * self.sample_flops
        numbers, by_task = drawn[1] - self.active.start, self.criterion.own
        if by_task is not None and by_task.earlier:
            pairs = zip(drawn[2].tolist(), drawn[1].tolist(), strict=True)
            numbers = numbers.new_tensor([by_task.earlier.get(pair, pair[1]) for pair in pairs])
        return torch.cat([x, drawn[0]]), torch.cat([y, numbers])

    def after_step(self) -> None:
        self.replay.keep(*self.pending.pop(), self._source("reservoir"))

    def _source(self, purpose: str) -> torch.Generator:
        return generator(self.seed, purpose, self.replay.present, self.step or 0)

    def end(self, lesson: Lesson) -> None:
        self.replay.finish(len(lesson.train))

    def state(self) -> State:
        state = super().state()
        return State({**state.tensors, **self.replay.tensors()}, {**state.plain, "replay": self.replay.plain()})

    def load(self, state: State) -> None:
        super().load(state)
        self.replay.load(under("memory.", self.kept), state.plain["replay"])
        self.kept = {}


def _counts(lesson: Lesson) -> list[int]:
    """How many training samples there are of each class."""
    labels = torch.bincount(lesson.train.y.cpu(), minlength=max(lesson.classes) + 1)
    return [int(labels[label]) for label in lesson.classes]
