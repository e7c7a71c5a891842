"""Learners whose predictors are paths through a library of frozen modules (Veniat et al. 2021)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from engram import memory
from engram.core import Lesson, Outline, Split, State, pick
from engram.errors import BadData, TooLarge
from engram.networks import Blueprint
from engram.parts.candidates import Recipe
from engram.parts.gradient import GradientLearner
from engram.parts.library import MODULES, Library, Path
from engram.parts.nearest import accuracy, features, with_room
from engram.parts.partly_private import OwnOutputs
from engram.parts.search import Search
from engram.parts.stopping import take_out
from engram.randomness import generator
from engram.settings import setting


class Modular(GradientLearner):
    """What it keeps is its library. `network` is never trained: it is what every new one begins as. Its `fit` is a
    search, and the prior says from which past paths."""

    fit: Search  # type: ignore[assignment]
    heads = "per-task"
    loss_over = "task"
    optimizer_reset = "full"
    stop_on = "validation"  # withdraws the setting: validation data also choose the path
    freeze_bn_stats = False  # withdraws the setting: nothing that is shared is trained
    modules = setting(
        0, "modules that a network is cut into, its outputs among them; 0: as it names them", at_least=0, lasting=True
    )
    sources = setting(1, "past paths that candidates are made from, the nearest ones; 0: all", at_least=0, late=True)
    prior = setting(
        "nearest",
        "how past paths are chosen: by nearest neighbours on their features, or at random",
        choices=("nearest", "random"),
        late=True,
    )
    neighbours = setting(5, "nearest neighbours that vote", at_least=1, late=True)
    prior_samples = setting(1000, "training and validation samples that the prior looks at", at_least=1, late=True)
    most_megabytes = setting(0, "that the library may take; 0: as many as there are", at_least=0, limit=True)

    def __init__(self, *args: Any, **settings: Any):
        super().__init__(*args, **settings)
        self.outputs = OwnOutputs(self.heads, self.outline.classes, self.device)
        self.library = Library(self.blueprint, self.outline.shape, self.seed, self.modules)
        self._notes: dict[str, Any] = {}

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
        if lesson.index in self.library.paths:
            raise BadData(
                f"{name} was learned already, and '{self.name}' never changes a path; give what is new of it as another"
                " task"
            )
        if lesson.train.shape != self.outline.shape:
            raise BadData(
                f"samples of {name} have the shape {lesson.train.shape}, and modules of earlier tasks were made for "
                f"{self.outline.shape}; bring all samples into one shape"
            )
        if self.library.paths and not len(lesson.validation):
            raise BadData(
                f"{name} has no validation data for '{self.name}' to choose a path by; give a class of it at "
                "least two training samples, of which one can be held out (validation=0.1)"
            )
        needed = self.library.bytes + 4 * self.library.new_parameters(len(lesson.classes))
        what, most = f"the module library with new modules for {name}", self.most_megabytes * 10**6
        if 0 < most < needed:
            raise TooLarge(
                f"{what} would take {memory.shown(needed)}, and most_megabytes={self.most_megabytes} allows "
                f"{memory.shown(most)}; raise it, or give it 0, which is no limit"
            )
        memory.require(needed, what, "use a smaller network")

    def past_paths(self) -> list[Path]:
        """Every distinct one, the newest first: of equally good ones it is chosen."""
        return list(dict.fromkeys(reversed(self.library.paths.values())))

    def nearest_paths(self, lesson: Lesson, past: list[Path]) -> list[Path]:
        """The past paths that candidates are made from, the best first."""
        return self.ranked_paths(lesson, past)[: self.sources or None]

    def ranked_paths(self, lesson: Lesson, past: list[Path]) -> list[Path]:
        """All past paths, the best first; as they come where all of them are sources."""
        if self.prior == "random":
            order = torch.randperm(len(past), generator=generator(self.seed, "sources", lesson.index)).tolist()
            past = [past[k] for k in order]
        elif len(past) > (self.sources or len(past)):
            scores = self._nearest(lesson, past)
            past = sorted(past, key=lambda path: -scores[path])
        return past

    def _nearest(self, lesson: Lesson, paths: list[Path]) -> dict[Path, float]:
        """How well nearest neighbours do on the features of each path."""
        _, places = self.outputs.active(lesson.index, self.loss_over)
        known, asked = self.some(lesson.train, lesson, "train"), self.some(lesson.validation, lesson, "validation")
        walk, labels, truth = self.fit.walk, pick(places, known.y), pick(places, asked.y)
        found = {}
        for group in with_room(paths, (len(known) + len(asked)) * self.library.features):
            near, far = features(walk, group, known), features(walk, group, asked)
            for path in group:
                pair = near[path[:-1]], labels, far[path[:-1]], truth
                found[path], operations = accuracy(*pair, self.neighbours)
                self.operations += operations
        return found

    def some(self, data: Split, lesson: Lesson, which: str) -> Split:
        """As many samples as the prior looks at."""
        order = torch.randperm(len(data), generator=generator(self.seed, "prior", lesson.index, which))
        return data.take(order[: self.prior_samples].sort().values)

    def described(self, plan: Recipe) -> dict[str, Any]:
        """A candidate in a note: its kind, the first task (from 1) whose modules it uses and how many of them, which
        are the last ones where its kind is front."""
        count, wanted = len(self.library.layers), plan.path or None
        kept = {"front": count - plan.first, "ridge": count - 1, "branch": plan.first, "warm": plan.first}
        tasks = (task + 1 for task, path in self.library.paths.items() if path[: len(plan.path)] == wanted)
        return {"kind": plan.kind, "source": next(tasks, None), "kept": kept.get(plan.kind, count)}

    def predict(self, x: Tensor, task: int | None = None) -> Tensor:
        self.columns(task)  # raises where the task is missing or has not been learned
        if task == self.fit.task:
            return self.fit.scores(x.to(self.device)).to(x.device)
        assert task is not None
        return self.library.predict(self.library.paths[task], x.to(self.device)).to(x.device)

    def notes(self) -> Mapping[str, Any]:
        return self._notes

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
