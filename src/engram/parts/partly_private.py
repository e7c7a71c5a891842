"""Networks of which one part is new for every task and the rest is shared (the baselines of Veniat et al. 2021).

    independent   everything is new
    new-head      the output layer is new, the trunk is shared
    new-leg       the first module is new, the rest is shared, the output layer included

theta always holds the current task's network; the private blocks of earlier tasks are kept beside it, with what their
modules keep beside parameters (the running statistics of batch normalisation).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from engram.core import Lesson, Outline
from engram.errors import BadData
from engram.networks import HEAD, Blueprint, FlatNetwork
from engram.parts.gradient import GradientLearner
from engram.parts.outputs import OutputLayer
from engram.settings import setting


class OwnOutputs(OutputLayer):
    """The head holds one task at a time: its rows are the task's classes in order."""

    def add(self, task: int, classes: Sequence[int]) -> list[tuple[int | None, int]]:
        self.open(classes)
        self.tasks[task] = tuple(classes)
        self.names = [(None, label) for label in classes]
        return self.names

    def rows(self, task: int | None) -> list[int]:
        return list(range(len(self.classes(task))))


class PartlyPrivate(GradientLearner):
    """Subclasses say which blocks of theta are private."""

    heads = "per-task"
    loss_over = "task"
    optimizer_reset = "full"
    trunk = setting(
        "freeze", "after the first task the shared part is frozen, or trained on", choices=("freeze", "finetune")
    )

    def __init__(self, *args: Any, **settings: Any):
        super().__init__(*args, **settings)
        self.outputs = OwnOutputs(self.heads, self.outline.classes, self.device)
        self._spare: FlatNetwork | None = None  # in which networks of earlier tasks are put together
        self.private()  # refuses a network that has no such blocks

    @classmethod
    def least_bytes(cls, outline: Outline, network: Blueprint, settings: Mapping[str, Any]) -> int:
        """Without outputs: theta has those of one task, and how many these are is not known."""
        return super().least_bytes(replace(outline, classes=()), network, settings)

    def private(self) -> list[str]:
        """The names of the blocks that are new for every task, in their order."""
        raise NotImplementedError

    def shared(self) -> list[str]:
        """The names of all others."""
        return [name for name in self.network.blocks if name not in self.private()]

    def finished_task(self, lesson: Lesson) -> int | None:
        """The task whose network gives way to that of a lesson, which has to be of a new task."""
        if lesson.index in self.outputs.tasks:
            raise BadData(
                f"task {lesson.index + 1} ({lesson.name}) was learned already, and learner '{self.name}' has a network "
                "of its own for every task; give what is new of it as another task"
            )
        return next(reversed(self.outputs.tasks), None)

    def begin(self, lesson: Lesson) -> None:
        last = self.finished_task(lesson)
        fresh = self.fresh_network()
        fresh.append(self._initial_rows(self.outputs.add(lesson.index, lesson.classes)))
        if last is not None:
            self.kept |= self._private_of(last)
            for name in self.shared():
                fresh.theta[fresh.blocks[name]] = self.network.theta[self.network.blocks[name]]
            fresh.assign_buffers(self.network.buffers(self.shared()))
        self.network = fresh
        self.fit.begin(anew=True)

    def _private_of(self, task: int) -> dict[str, Tensor]:
        """What is kept of a task once its network gives way to the next."""
        blocks = torch.cat([self.network.theta[self.network.blocks[name]] for name in self.private()])
        buffers = self.network.buffers(self.private()).items()
        return {f"private.{task}": blocks} | {f"private.{task}.{name}": value.clone() for name, value in buffers}

    def prepare(self, lesson: Lesson) -> None:
        frozen = self.kept and self.trunk == "freeze"
        self.network.train_only(self.private() if frozen else None)
        super().prepare(lesson)

    def changed_by(self, lesson: Lesson) -> set[int] | None:
        return {lesson.index} if self.trunk == "freeze" or not self.shared() else None

    def predict(self, x: Tensor, task: int | None = None) -> Tensor:
        self.columns(task)  # raises where the task is missing or has not been learned
        assert task is not None
        network = self.network_of(task)
        with torch.no_grad():
            return network.scores(network.features(x.to(self.device))).to(x.device)

    def network_of(self, task: int) -> FlatNetwork:
        """The network of a finished or the current task, until another finished one is asked for."""
        if f"private.{task}" not in self.kept:
            return self.network
        if self._spare is None:
            self._spare = self.fresh_network()
        self._spare.assign(torch.cat(list(self._blocks_of(self.kept[f"private.{task}"]))))
        start = f"private.{task}."
        buffers = {name[len(start) :]: value for name, value in self.kept.items() if name.startswith(start)}
        self._spare.assign_buffers({**self.network.buffers(), **buffers})
        return self._spare

    def _blocks_of(self, kept: Tensor) -> Iterator[Tensor]:
        """theta, block by block, with the private ones of an earlier task, whose head may have another size."""
        private = self.private()
        for name, span in self.network.blocks.items():
            if name not in private:
                yield self.network.theta[span]
            else:
                size = len(kept) if name == HEAD else span.stop - span.start
                yield kept[:size]
                kept = kept[size:]

    def parameters(self) -> Tensor:
        names = [f"private.{task}" for task in self.outputs.tasks]  # a checkpoint promises no order of its tensors
        earlier = [self.kept[name] for name in names if name in self.kept]
        return torch.cat([*earlier, self.network.theta])
