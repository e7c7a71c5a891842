"""Networks of which one part is new for every task and the rest is shared (the baselines of Veniat et al. 2021).

    independent   everything is new
    new-head      the output layer is new, the trunk is shared
    new-leg       the first module is new, the rest is shared, the output layer included

theta always holds the current task's network; the private parts of earlier tasks are kept beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from engram.core import Lesson, Outline
from engram.errors import BadSetting
from engram.learners.gradient import GradientLearner
from engram.networks import Blueprint, FlatNetwork
from engram.parts.outputs import OutputLayer
from engram.settings import setting


class OwnOutputs(OutputLayer):
    """The head holds one task at a time: its rows are the task's classes in order."""

    def add(self, task: int, classes: Sequence[int]) -> list[tuple[int | None, int]]:
        self.tasks[task] = tuple(classes)
        self.names = [(None, label) for label in classes]
        return self.names

    def rows(self, task: int | None) -> list[int]:
        return list(range(len(self.classes(task))))


class PartlyPrivate(GradientLearner):
    """Subclasses say which part of theta is private (`private`) and how a new task's network begins (`renew`)."""

    heads = "per-task"
    loss_over = "task"
    optimizer_reset = "full"

    def __init__(self, *args: Any, **settings: Any):
        super().__init__(*args, **settings)
        if self.network.buffers():
            raise BadSetting(
                f"learner '{self.name}' keeps parameters for every task but not the running statistics of network "
                f"'{self.blueprint.name}'; use a network without batch normalisation"
            )
        self.outputs = OwnOutputs(self.heads, self.outline.classes)

    @classmethod
    def least_bytes(cls, outline: Outline, network: Blueprint, settings: Mapping[str, Any]) -> int:
        """Without outputs: theta has those of one task, and how many these are is not known."""
        return super().least_bytes(replace(outline, classes=()), network, settings)

    def private(self) -> slice:
        raise NotImplementedError

    def renew(self, fresh: FlatNetwork) -> None:
        """Put the private part of a freshly initialised network in the place of the present one."""
        part = self.private()
        theta = self.network.theta
        self.network.assign(torch.cat([theta[: part.start], fresh.theta[part], theta[part.stop :]]))

    def begin(self, lesson: Lesson) -> None:
        last = next(reversed(self.outputs.tasks), None)
        if last is not None:
            self.vectors[f"private.{last}"] = self.network.theta[self.private()].clone()
        fresh = self.fresh_network()
        fresh.append(self._initial_rows(self.outputs.add(lesson.index, lesson.classes)))
        if last is None:
            self.network = fresh
        else:
            self.renew(fresh)
        self.optimiser = type(self.optimiser)(self.rate, self.momentum)
        self.optimiser.fit(len(self.network.theta))

    def prepare(self, lesson: Lesson) -> None:
        super().prepare(lesson)
        frozen = self.vectors and self.shares_frozen()
        self.part = self.private() if frozen else slice(0, len(self.network.theta))
        self.network.train_only(self.part)
        if frozen:
            self.sample_flops = self.frozen_flops()

    def frozen_flops(self) -> int:
        """Operations a sample when only the private part is trained."""
        return self.sample_flops

    def shares_frozen(self) -> bool:
        """Whether what is shared stays as the first task left it."""
        return False

    def predict(self, x: Tensor, task: int | None = None) -> Tensor:
        self.columns(task)  # raises where the task is missing or has not been learned
        network = self.network_of(task)
        with torch.no_grad():
            return network.scores(network.features(x))

    def network_of(self, task: int | None) -> FlatNetwork:
        """The network of a finished or the current task."""
        if f"private.{task}" not in self.vectors:
            return self.network
        part, theta = self.private(), self.network.theta
        after = theta[part.stop :] if part.stop < len(theta) else theta[:0]
        network = self.fresh_network()
        network.assign(torch.cat([theta[: part.start], self.vectors[f"private.{task}"], after]))
        return network

    def parameters(self) -> Tensor:
        names = [f"private.{task}" for task in self.outputs.tasks]  # a checkpoint promises no order of its tensors
        kept = [self.vectors[name] for name in names if name in self.vectors]
        return torch.cat([*kept, self.network.theta])


class SharesTrunk(PartlyPrivate):
    """What is shared is frozen after the first task, or goes on training."""

    trunk = setting(
        "freeze", "after the first task the shared part is frozen, or trained on", choices=("freeze", "finetune")
    )

    def shares_frozen(self) -> bool:
        return self.trunk == "freeze"
