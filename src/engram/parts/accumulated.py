"""Learners that are sums: all that they keep of the samples are two matrices, from which they are solved.

G ← G + φᵀφ and Q ← Q + φᵀY, where φ has a column of ones and Y a one for the class of each sample. Both are plain sums
over samples, so learning tasks one after another *is* joint training. To make that hold to the last bit, φ is rounded
to multiples of 2⁻¹⁰ and capped at 32: then every product and every partial sum over up to 2²³ samples is an exact
float64 number, and no order of adding can round differently. Where features come from a map (`parts/maps.py`) they are
coarser, and the matrix of their products takes half the memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from engram.core import Learner, Lesson, Outline, Split, State, Step, canonical
from engram.errors import BadData, Diverged
from engram.networks import Blueprint
from engram.parts.exact_sums import add_products, whole
from engram.parts.maps import Map, MapSettings, made_map, rounded
from engram.parts.outputs import OutputLayer
from engram.settings import apply, declared, resolve

GRID, CAP = 2.0**-10, 32.0
CHUNK = 1000  # samples that are summed at a time
FIFTH = 5  # of each class's samples one in so many is held out for a choice


def on_grid(values: Tensor) -> Tensor:
    """Multiples of 2⁻¹⁰, in place, with a column of ones behind them."""
    return _with_ones(values.div_(GRID).round_().mul_(GRID))


def _with_ones(values: Tensor) -> Tensor:
    return torch.cat([values, values.new_ones(len(values), 1)], dim=1)


class Accumulated(Learner):
    """One pass over the samples in constant memory.

    `solve` makes the scores of the sums, given a value of what can be chosen. Where there is more than one candidate,
    the choice falls in the first lesson of several classes: a fifth of its samples are held out, and learned from after
    it. The candidate that has most of them and of the lesson's validation data right is kept for good, of equals the
    first.
    """

    parts = (MapSettings,)
    remedy: ClassVar[str] = ""  # what to do if the equations have no solution

    def __init__(self, outline: Outline, seed: int = 0, network: Blueprint | None = None, **settings: Any):
        """`network` is not used: the features are fixed."""
        apply(self, resolve(f"learner '{self.name}'", declared(type(self)), settings))
        self.outline, self.seed = outline, seed
        self.mapped = made_map(outline.shape, seed, vars(self))
        size = (self.prepare() if self.mapped is None else self.mapped.waves) + 1
        self.gram = torch.zeros(size, size, dtype=torch.float64 if self.mapped is None else torch.int32)
        self.moment = torch.zeros(size, 0, dtype=torch.float64)
        self.solution = torch.zeros(size, 0)
        self.outputs = OutputLayer("growing", outline.classes)
        self.done: int | None = None
        self.chosen: int | None = None
        self.operations = 0

    # The places where methods differ.

    def prepare(self) -> int:
        """Get ready to make features; how many there will be."""
        raise NotImplementedError

    def phi(self, x: Tensor) -> Tensor:
        """Features of samples, `on_grid`."""
        raise NotImplementedError

    def phi_flops(self) -> int:
        """Operations of one sample's features."""
        return 0

    def candidates(self) -> Sequence[Any]:
        """What is to be chosen from; one where nothing is."""
        raise NotImplementedError

    def unchosen(self) -> Any:
        """What holds until there was a choice."""
        raise NotImplementedError

    def solve(self, value: Any) -> Tensor | None:
        """Weights of the scores, a column for each class, with what is added to them in the last row; None if the
        equations have no solution."""
        raise NotImplementedError

    # What they share.

    @property
    def value(self) -> Any:
        """What was chosen."""
        candidates = self.candidates()
        if len(candidates) == 1:
            return candidates[0]
        return self.unchosen() if self.chosen is None else candidates[self.chosen]

    def sums(self) -> Tensor:
        """The matrix G in float64, to be read only."""
        return self.gram if self.mapped is None else whole(self.gram)

    def features_of(self, x: Tensor, mapped: Map | None) -> Tensor:
        """Those that scores are made of, in float32. Of a map they are not rounded: no sum depends on them."""
        return self.phi(x).float() if mapped is None else _with_ones(mapped(x))

    def features_flops(self) -> int:
        return self.phi_flops() if self.mapped is None else self.mapped.flops()

    def learn(self, lesson: Lesson) -> Iterator[Step]:
        if self.done is None:
            if not len(lesson.train):
                raise BadData(f"task {lesson.index + 1} ({lesson.name}) has no training samples")
            self._begin(lesson)
        rest, held = self._divide(lesson.train)
        before = math.ceil(len(rest) / CHUNK)
        chunks = [*rest.split(CHUNK), *(held.split(CHUNK) if len(held) else ())]
        while self.done is not None and self.done < len(chunks):
            yield Step(self.done, len(chunks))
            if self.done == before:
                self._choose(lesson, held)
            self._accumulate(lesson, chunks[self.done])
            self.done += 1
        if self.done == len(chunks):
            if not len(held):
                self._choose(lesson, held)
            self._finish(lesson)
            self.done += 1  # solved: whoever goes on from here does not do it again
        yield Step(len(chunks), len(chunks))
        self.done = None

    def _begin(self, lesson: Lesson) -> None:
        new = len(self.outputs.add(lesson.index, lesson.classes))
        self.moment = torch.cat([self.moment, self.moment.new_zeros(len(self.moment), new)], dim=1)
        self.solution = torch.cat([self.solution, self.solution.new_zeros(len(self.solution), new)], dim=1)
        if self.mapped is not None and not self.mapped.is_ready:
            self.operations += self.mapped.look(lesson.train)
        self.done = 0

    def _divide(self, train: Split) -> tuple[Tensor, Tensor]:
        """Positions of the samples to learn from first, and of those that a choice needs: none without a choice. Sums
        do not depend on the order, so that of all lessons may be the same."""
        is_held = torch.zeros(len(train), dtype=torch.bool)
        for label in train.y.unique() if len(self.candidates()) > 1 else ():
            is_held[(train.y == label).nonzero().squeeze(1)[1::FIFTH]] = True
        return (~is_held).nonzero().squeeze(1), is_held.nonzero().squeeze(1)

    def _accumulate(self, lesson: Lesson, rows: Tensor) -> None:
        x, y = lesson.train.batch(rows)
        phi = self.phi(x) if self.mapped is None else _with_ones(rounded(self.mapped(x)))
        if not phi.isfinite().all():
            raise BadData(f"task {lesson.index + 1} ({lesson.name}) has samples that are not numbers; take them out")
        targets = torch.nn.functional.one_hot(self._places(lesson, y), self.moment.shape[1]).to(phi.dtype)
        if self.mapped is None:
            self.gram.addmm_(phi.t(), phi)
            self.moment.addmm_(phi.t(), targets)
            self.operations += 2 * len(x) * len(self.gram) ** 2
        else:
            self.operations += add_products(self.gram, phi)
            self.moment.add_(phi.t() @ targets)
        self.operations += len(x) * (self.features_flops() + 2 * self.moment.numel())

    def _places(self, lesson: Lesson, y: Tensor) -> Tensor:
        return self.outputs.active(0, "all")[1][y]

    def _choose(self, lesson: Lesson, rows: Tensor) -> None:
        """Keep the candidate that has most right of these samples and the validation data, if there are any."""
        held = Split.join([lesson.train.take(rows), lesson.validation])
        if self.chosen is not None or len(self.candidates()) == 1 or len(lesson.classes) < 2 or not len(held):
            return
        solutions = [self.solve(value) for value in self.candidates()]
        right = self._count_right(lesson, solutions, held)
        self.chosen = right.index(max(right))

    def _count_right(self, lesson: Lesson, solutions: Sequence[Tensor | None], held: Split) -> list[int]:
        """How many of these samples each solution has right; −1 where there is none."""
        right = [-1 if solution is None else 0 for solution in solutions]
        for x, y in held.batches(CHUNK):
            features, places = self.features_of(x, self.mapped), self._places(lesson, y)
            for number, solution in enumerate(solutions):
                if solution is not None:
                    right[number] += int(((features @ solution).argmax(1) == places).sum())
                    self.operations += 2 * len(x) * solution.numel()
        self.operations += len(held) * self.features_flops()
        return right

    def _finish(self, lesson: Lesson) -> None:
        solution = self.solve(self.value)
        if solution is None:
            raise Diverged(
                f"the equations have no finite solution at task {lesson.index + 1} ({lesson.name}); {self.remedy}"
            )
        self.solution = canonical(solution)

    def predict(self, x: Tensor, task: int | None = None) -> Tensor:
        rows = self.outputs.rows(task)
        if self.mapped is not None and not self.mapped.is_ready:
            return torch.zeros(len(x), len(rows))
        return (self.features_of(x, self.mapped) @ self.solution)[:, rows]

    def columns(self, task: int | None = None) -> list[int]:
        return self.outputs.classes(task)

    def parameters(self) -> Tensor:
        return self.solution.flatten()

    def flops(self) -> int:
        return self.operations

    def state(self) -> State:
        tensors = {"gram": self.gram, "moment": self.moment, "parameters": self.solution}
        plain = {"done": self.done, "operations": self.operations, "outputs": self.outputs.state()}
        if self.chosen is not None:
            plain["chosen"] = self.chosen
        if self.mapped is not None:
            tensors |= self.mapped.tensors()
            plain |= self.mapped.plain()
        return State(tensors, plain)

    def load(self, state: State) -> None:
        self.gram, self.moment = state.tensors["gram"].clone(), state.tensors["moment"].clone()
        self.solution = state.tensors["parameters"].clone()
        self.done, self.operations = state.plain["done"], state.plain["operations"]
        self.chosen = state.plain.get("chosen")
        self.outputs.load(state.plain["outputs"])
        if self.mapped is not None:
            self.mapped.load(state.tensors, state.plain)
