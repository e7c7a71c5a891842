"""Ridge regression on fixed random features, accumulated: a learner without gradients that forgets nothing.

G ← G + φᵀφ and Q ← Q + φᵀY, solved at a task's end. Both are plain sums over samples, so learning tasks one after
another *is* joint training. To make that hold to the last bit, φ is rounded to multiples of 2⁻¹⁰ and capped at 32:
then every product and every partial sum over up to 2²³ samples is an exact float64 number, and no order of adding
can round differently.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from engram.core import Learner, Lesson, Outline, State, Step, canonical
from engram.costs import solve_flops
from engram.errors import BadData, Diverged
from engram.networks import Blueprint
from engram.parts.outputs import OutputLayer
from engram.randomness import generator
from engram.settings import apply, declared, resolve, setting

GRID, CAP = 2.0**-10, 32.0


class Ridge(Learner):
    """One-hot targets, random ReLU features of the flattened sample, a bias column."""

    name = "ridge"

    features = setting(500, "random features", at_least=1)
    strength = setting(1.0, "weight of the penalty on the solution", above=0)

    def __init__(self, outline: Outline, seed: int = 0, network: Blueprint | None = None, **settings: Any):
        """`network` is not used: the features are random."""
        apply(self, resolve(f"learner '{self.name}'", declared(type(self)), settings))
        self.outline, self.seed = outline, seed
        inputs = math.prod(outline.shape)
        draw = generator(seed, "initialisation", "features")
        self.weights = torch.randn(inputs, self.features, generator=draw, dtype=torch.float64) / math.sqrt(inputs)
        self.offsets = torch.randn(self.features, generator=draw, dtype=torch.float64)
        size = self.features + 1
        self.gram = torch.zeros(size, size, dtype=torch.float64)
        self.moment = torch.zeros(size, 0, dtype=torch.float64)
        self.solution = torch.zeros(size, 0)
        self.outputs = OutputLayer("growing", outline.classes)
        self.done: int | None = None
        self.operations = 0

    @classmethod
    def least_bytes(cls, outline: Outline, network: Blueprint | None, settings: Mapping[str, Any]) -> int:
        """The random weights; and the matrix of the equations, with its penalty, and its factor."""
        size = settings["features"] + 1
        return 8 * size * (math.prod(outline.shape) + 3 * size)

    def learn(self, lesson: Lesson) -> Iterator[Step]:
        if self.done is None:
            if not len(lesson.train):
                raise BadData(f"task {lesson.index + 1} ({lesson.name}) has no training samples")
            self._begin(lesson)
        size = 1000
        total = math.ceil(len(lesson.train) / size)
        while self.done is not None and self.done < total:
            yield Step(self.done, total)
            self._accumulate(lesson, slice(self.done * size, (self.done + 1) * size))
            self.done += 1
        yield Step(total, total)
        self._solve(lesson)
        self.done = None

    def _begin(self, lesson: Lesson) -> None:
        new = len(self.outputs.add(lesson.index, lesson.classes))
        self.moment = torch.cat([self.moment, self.moment.new_zeros(len(self.moment), new)], dim=1)
        self.solution = torch.cat([self.solution, self.solution.new_zeros(len(self.solution), new)], dim=1)
        self.done = 0

    def phi(self, x: Tensor) -> Tensor:
        """Random features on the exact grid, with a column of ones."""
        values = (x.flatten(1).double() @ self.weights + self.offsets).clamp_(0, CAP)
        values = values.div_(GRID).round_().mul_(GRID)
        return torch.cat([values, values.new_ones(len(values), 1)], dim=1)

    def _accumulate(self, lesson: Lesson, rows: slice) -> None:
        x, y = lesson.train.batch(rows)
        phi = self.phi(x)
        if not phi.isfinite().all():
            raise BadData(f"task {lesson.index + 1} ({lesson.name}) has samples that are not numbers; take them out")
        _, places = self.outputs.active(0, "all")
        targets = torch.nn.functional.one_hot(places[y], self.moment.shape[1]).double()
        self.gram.addmm_(phi.t(), phi)
        self.moment.addmm_(phi.t(), targets)
        size = len(self.gram)
        self.operations += 2 * len(x) * size * (self.weights.shape[0] + size + targets.shape[1])

    def _solve(self, lesson: Lesson) -> None:
        penalised = self.gram + self.strength * torch.eye(len(self.gram), dtype=torch.float64)
        factor, trouble = torch.linalg.cholesky_ex(penalised)
        solution = torch.cholesky_solve(self.moment, factor).float()
        if trouble or not solution.isfinite().all():
            raise Diverged(
                f"the equations have no finite solution at task {lesson.index + 1} ({lesson.name}); "
                f"raise the strength (now {self.strength:g})"
            )
        self.solution = canonical(solution)  # it comes column by column
        self.operations += solve_flops(len(self.gram), self.moment.shape[1])

    def predict(self, x: Tensor, task: int | None = None) -> Tensor:
        return (self.phi(x).float() @ self.solution)[:, self.outputs.rows(task)]

    def columns(self, task: int | None = None) -> list[int]:
        return self.outputs.classes(task)

    def parameters(self) -> Tensor:
        return self.solution.flatten()

    def flops(self) -> int:
        return self.operations

    def state(self) -> State:
        tensors = {"gram": self.gram, "moment": self.moment, "parameters": self.solution}
        return State(tensors, {"done": self.done, "operations": self.operations, "outputs": self.outputs.state()})

    def load(self, state: State) -> None:
        self.gram, self.moment = state.tensors["gram"].clone(), state.tensors["moment"].clone()
        self.solution = state.tensors["parameters"].clone()
        self.done, self.operations = state.plain["done"], state.plain["operations"]
        self.outputs.load(state.plain["outputs"])
