"""Learners whose predictors are paths through a library of frozen modules (Veniat et al. 2021)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from torch import Tensor

from engram import memory
from engram.core import Lesson, Outline, State
from engram.errors import BadData
from engram.networks import Blueprint
from engram.parts.gradient import GradientLearner
from engram.parts.library import MODULES, Library
from engram.parts.partly_private import OwnOutputs
from engram.parts.stopping import take_out
from engram.settings import setting


class Modular(GradientLearner):
    """What it keeps is its library. `network` is never trained: it is what every new one begins as."""

    heads = "per-task"
    loss_over = "task"
    optimizer_reset = "full"
    stop_on = "validation"  # withdraws the setting: validation data also choose the path
    freeze_bn_stats = False  # withdraws the setting: nothing that is shared is trained
    modules = setting(0, "modules that a network is cut into, its outputs among them; 0: as it names them", at_least=0)
    most_megabytes = setting(0, "that the library may take; 0: as many as there are", at_least=0)

    def __init__(self, *args: Any, **settings: Any):
        super().__init__(*args, **settings)
        self.outputs = OwnOutputs(self.heads, self.outline.classes, self.device)
        self.library = Library(self.blueprint, self.outline.shape, self.seed, self.modules)

    @classmethod
    def least_bytes(cls, outline: Outline, network: Blueprint, settings: Mapping[str, Any]) -> int:
        """Without outputs: how many a task has is not known."""
        return super().least_bytes(replace(outline, classes=()), network, settings)

    @classmethod
    def uses_validation(cls, settings: Mapping[str, Any]) -> bool:
        return True

    def check(self, lesson: Lesson) -> None:
        """Refuse a lesson for which no path can be chosen, or for whose modules there is no room."""
        name = f"task {lesson.index + 1} ({lesson.name})"
        if lesson.train.shape != self.outline.shape:
            raise BadData(
                f"samples of {name} have the shape {lesson.train.shape}, and modules of earlier tasks were made for "
                f"{self.outline.shape}; bring all samples into one shape"
            )
        if self.library.paths and not len(lesson.validation):
            raise BadData(
                f"{name} has no validation data for '{self.name}' to choose a path by; hold some out with "
                "validation=0.1"
            )
        needed = self.library.bytes + 4 * self.library.new_parameters(0, len(lesson.classes))
        most = self.most_megabytes * 10**6 or None
        memory.require(needed, f"the module library with new modules for {name}", "raise most_megabytes", most)

    def predict(self, x: Tensor, task: int | None = None) -> Tensor:
        self.columns(task)  # raises where the task is missing or has not been learned
        assert task is not None
        return self.library.predict(self.library.paths[task], x.to(self.device)).to(x.device)

    def changed_by(self, lesson: Lesson) -> set[int]:
        return {lesson.index}

    def parameters(self) -> Tensor:
        return self.library.parameters()

    def state(self) -> State:
        plain = {**self.fit.plain(), "operations": self.flops(), "outputs": self.outputs.state()}
        return State(self.library.tensors() | self.fit.tensors(), plain | self.library.plain())

    def load(self, state: State) -> None:
        tensors = {name: value.to(self.device) for name, value in state.tensors.items()}
        self.library.load(take_out(tensors, f"{MODULES}."), state.plain)
        self.outputs.load(state.plain["outputs"])
        self.fit.load(tensors, state.plain)
        self.operations = state.plain["operations"] - self.fit.operations
