"""Exemplars and nothing else: the honest floor beside every method that keeps some.

At a task's end a few samples of each class are kept. The classifier is kernel ridge regression on fixed random
convolution features of everything kept, with small affine warps of it where the samples are images. Features, warps
and solution follow from the seed and the exemplars, so the exemplars are all of the state: a map of patches (see
`parts/maps.py`) cuts them from the exemplars.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from engram.core import Learner, Lesson, Outline, Split, State, Step
from engram.errors import BadData, Diverged
from engram.networks import Blueprint
from engram.parts.augmentation import affine_copies
from engram.parts.exemplars import ExemplarMemory, mof, uniform
from engram.parts.kernel import KernelRidge, RandomFeatures, is_image
from engram.parts.maps import PLAIN, Map, MapSettings
from engram.parts.outputs import OutputLayer
from engram.randomness import generator
from engram.settings import apply, declared, resolve, setting

LOOK = 1000  # samples at a time when exemplars are chosen


def require_finite(values: Tensor, lesson: Lesson) -> None:
    if not values.isfinite().all():
        raise BadData(f"task {lesson.index + 1} ({lesson.name}) has samples that are not numbers; take them out")


class ExemplarsOnly(Learner):
    """What so many stored samples are worth by themselves."""

    name = "exemplars-only"
    keeps = "exemplars"
    paper = "Prabhu, Torr, Dokania: GDumb, a simple approach that questions our progress, ECCV 2020"

    exemplars = setting(10, "samples of every class that are kept", at_least=1)
    sampling = setting("mof", "mof (herding on the random features) or uniform", choices=("mof", "uniform"))
    augment = setting(True, "images: learn from small affine warps of the exemplars too")
    copies = setting(25, "warped copies of every exemplar", at_least=1)
    points = setting(
        8000, "exemplars and copies together: beyond it fewer copies are made (time grows with the cube)", at_least=1
    )
    filters = setting(32, "images: convolution filters", at_least=1)
    features = setting(500, "other samples: random features", at_least=1, lasting=True)
    map = MapSettings.map
    width = setting(4.0, "maps: width of the kernel, in medians of the squared distances between points", above=0)
    strength = setting(1e-2, "weight of the penalty on the solution", above=0)

    def __init__(self, outline: Outline, seed: int = 0, network: Blueprint | None = None, **settings: Any):
        """`network` is not used: the features are random."""
        apply(self, resolve(f"learner '{self.name}'", declared(type(self)), settings))
        self.outline, self.seed = outline, seed
        draw = generator(seed, "initialisation", "features")
        self.phi = RandomFeatures(outline.shape, self.filters, self.features, draw)
        self.mapped = None if self.map == PLAIN else Map(self.map, outline.shape, self.filters, 0, 1.0, seed)
        self.memory = ExemplarMemory()
        self.outputs = OutputLayer("growing", outline.classes)
        self.done: int | None = None
        self.operations = 0
        self._solution: KernelRidge | None = None  # follows from the memory; None where it has to be computed
        self._looked = 0  # operations of its map's look at the exemplars

    @classmethod
    def least_bytes(cls, outline: Outline, network: Blueprint | None, settings: Mapping[str, Any]) -> int:
        """The random weights; and with one exemplar of every class distances, kernel and factor of all its copies."""
        weights = RandomFeatures.weight_count(outline.shape, settings["filters"], settings["features"])
        copies = settings["copies"] if settings["augment"] and is_image(outline.shape) else 0
        points = min(settings["points"], len(outline.classes) * (1 + copies))
        return 4 * weights + (4 + 8 + 8) * points**2

    def learn(self, lesson: Lesson) -> Iterator[Step]:
        if self.done is None:
            if not len(lesson.train):
                raise BadData(f"task {lesson.index + 1} ({lesson.name}) has no training samples")
            self.outputs.add(lesson.index, lesson.classes)
            self.done = 0
        total = len(lesson.classes)
        for label in lesson.classes[self.done :]:
            yield Step(self.done, total)
            self._keep(lesson, label)
            self.done += 1
        yield Step(total, total)
        self._finish(lesson)
        self.done = None

    def _keep(self, lesson: Lesson, label: int) -> None:
        own = lesson.train.take((lesson.train.y == label).nonzero().squeeze(1))
        if not len(own):
            return
        chosen = own.take(self._choose(own, lesson, label))
        require_finite(chosen.batch(slice(None))[0], lesson)
        self.memory.add(chosen)
        self._solution = None

    def _choose(self, own: Split, lesson: Lesson, label: int) -> Tensor:
        """Positions of the exemplars among the samples of one class."""
        if self.sampling == "uniform":
            return uniform(len(own), self.exemplars, generator(self.seed, "exemplars", lesson.index, label))
        self.operations += len(own) * self.phi.flops()
        features = torch.cat([self.phi(x) for x, _ in own.batches(LOOK)])
        require_finite(features, lesson)
        return mof(features, self.exemplars)

    def _finish(self, lesson: Lesson) -> None:
        solution = self.solution()
        if solution is None or not solution.solved:
            raise Diverged(
                f"the equations have no finite solution at task {lesson.index + 1} ({lesson.name}); "
                f"raise the strength (now {self.strength:g})"
            )
        flops = self.phi.flops() if self.mapped is None else self.mapped.flops()
        self.operations += self._looked + len(solution.points) * flops + solution.flops()

    def solution(self) -> KernelRidge | None:
        """The classifier that the exemplars give; None while there are none."""
        if self._solution is None and len(self.memory):
            x, y = self._augmented(self.memory.split())
            columns = torch.tensor(list(self.memory.counts()))
            labels = (y[:, None] == columns).int().argmax(1)
            if self.mapped is None:
                self._solution = KernelRidge(self.phi(x), labels, len(columns), self.strength)
            else:
                self._looked = self.mapped.look(self.memory.split())
                self._solution = KernelRidge(self.mapped(x), labels, len(columns), self.strength, self.width)
        return self._solution

    def _augmented(self, kept: Split) -> tuple[Tensor, Tensor]:
        """The exemplars and their warped copies, which are warped before anything is subtracted from them."""
        x, y = kept.batch(slice(None))
        copies = min(self.copies, self.points // len(x) - 1)
        if not self.augment or not self.phi.is_image or copies < 1:
            return x, y
        offset = kept.offset()
        shift = (torch.zeros(()) if offset is None else offset).expand(x.shape)
        warped = affine_copies(x + shift, copies, generator(self.seed, "augmentation")) - shift.repeat(copies, 1, 1, 1)
        return torch.cat([x, warped]), y.repeat(copies + 1)

    def predict(self, x: Tensor, task: int | None = None) -> Tensor:
        """A class without exemplars yet scores 0."""
        columns, solution = self.columns(task), self.solution()
        scores = torch.zeros(len(x), len(columns))
        known = {label: place for place, label in enumerate(self.memory.counts())}
        if solution is not None:
            found = solution.scores(self.phi(x) if self.mapped is None else self.mapped(x))
            for k, label in enumerate(columns):
                if label in known:
                    scores[:, k] = found[:, known[label]]
        return scores

    def columns(self, task: int | None = None) -> list[int]:
        return self.outputs.classes(task)

    def parameters(self) -> Tensor:
        """The solution's coefficients."""
        solution = self.solution()
        return torch.empty(0) if solution is None else solution.coefficients.flatten()

    def flops(self) -> int:
        return self.operations

    def state(self) -> State:
        plain = {"done": self.done, "operations": self.operations, "outputs": self.outputs.state()}
        return State(self.memory.tensors(), {**plain, "exemplars": self.memory.plain()})

    def load(self, state: State) -> None:
        self.done, self.operations = state.plain["done"], state.plain["operations"]
        self.outputs.load(state.plain["outputs"])
        self.memory = ExemplarMemory()
        self.memory.load(state.tensors, state.plain["exemplars"])
        self._solution = None
