"""A ridge regression for every task, and a guess at the task of a sample that comes without one.

What is kept of a task is its solution, its map, and the mean and variance of every number of its samples. A sample is
taken to be of the task under whose normal distribution with independent numbers it is most likely, and is answered by
that task's solution alone: nothing that was learned is ever changed. A map looks at every task anew; the penalty is
chosen in the first one. The sums that a task is solved from are gone when it is over.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from engram.core import Lesson, Outline, State, canonical
from engram.learners.ridge import Ridge
from engram.networks import Blueprint
from engram.parts.maps import Map, made_map
from engram.transform import under

LEAST = 0.01  # what is added to every variance, as a share of their mean: some numbers of a task may never change
ELSEWHERE = -1e6  # the score of classes that the guessed task does not have


class Known(NamedTuple):
    """What is left of a task."""

    task: int
    classes: tuple[int, ...]
    solution: Tensor
    statistics: Tensor  # mean and variance of every number
    mapped: Map | None

    def unlikelihood(self, x: Tensor) -> Tensor:
        """Of each flat sample: −2 log of the density, but for what is the same in all tasks."""
        mean, variance = self.statistics.double()
        variance = variance + (LEAST * variance.mean() or 1.0)
        distances = (x.square() - 2 * mean * x) @ (1 / variance) + (mean.square() / variance).sum()
        return distances + variance.log().sum()


class RidgeEach(Ridge):
    """As many solutions as lessons."""

    name = "ridge-each"
    keeps = "a solution for every task"

    def __init__(self, outline: Outline, seed: int = 0, network: Blueprint | None = None, **settings: Any):
        super().__init__(outline, seed, network, **settings)
        self.known: list[Known] = []
        self._size = len(self.gram)
        self._clear(0, 0)

    def _clear(self, size: int, classes: int) -> None:
        """Sums over no samples."""
        self.gram = self.gram.new_zeros(size, size)
        self.moment = self.moment.new_zeros(size, classes)
        self.solution = self.solution.new_zeros(size, classes)
        self.totals = torch.zeros(3, math.prod(self.outline.shape) if size else 0, dtype=torch.float64)

    def _begin(self, lesson: Lesson) -> None:
        super()._begin(lesson)
        self._clear(self._size, len(lesson.classes))

    def _accumulate(self, lesson: Lesson, rows: Tensor) -> None:
        super()._accumulate(lesson, rows)
        x = lesson.train.batch(rows)[0].flatten(1).double()
        self.totals += torch.stack([torch.ones_like(x[0]) * len(x), x.sum(0), x.square().sum(0)])

    def _places(self, lesson: Lesson, y: Tensor) -> Tensor:
        places = torch.full((max(lesson.classes) + 1,), -1)
        places[list(lesson.classes)] = torch.arange(len(lesson.classes))
        return places[y]

    def _finish(self, lesson: Lesson) -> None:
        super()._finish(lesson)
        count, sums, squares = self.totals
        mean = sums / count
        statistics = torch.stack([mean, (squares / count - mean.square()).clamp(min=0)]).float()
        self.known.append(Known(lesson.index, tuple(lesson.classes), self.solution, statistics, self.mapped))
        self._clear(0, 0)
        self.mapped = made_map(self.outline.shape, self.seed, vars(self))  # which has looked at nothing

    def predict(self, x: Tensor, task: int | None = None) -> Tensor:
        """Of classes that the guessed task does not have the score is very low; nothing is known of a task before its
        end."""
        columns = self.columns(task)
        known = self.known if task is None else [each for each in self.known if each.task == task][-1:]
        scores = torch.zeros(len(x), len(columns)) if not known else torch.full((len(x), len(columns)), ELSEWHERE)
        guesses = self.guess(x, known)
        for number, each in enumerate(known):
            rows = (guesses == number).nonzero().squeeze(1)
            places = torch.tensor([columns.index(label) for label in each.classes])
            if len(rows):
                scores[rows[:, None], places] = self.features_of(x[rows], each.mapped) @ each.solution
        return scores

    def guess(self, x: Tensor, known: list[Known]) -> Tensor:
        """The number of the task among those known that each sample is likeliest under."""
        flat = x.flatten(1).double()
        return torch.stack([each.unlikelihood(flat) for each in known]).argmin(0) if known else torch.empty(0)

    def parameters(self) -> Tensor:
        return torch.cat([torch.empty(0), *(each.solution.flatten() for each in self.known)])

    def state(self) -> State:
        state = super().state()
        tensors = {**state.tensors, "totals": self.totals}
        plain = []
        for k, each in enumerate(self.known):
            tensors |= {f"solutions.{k}": each.solution, f"statistics.{k}": each.statistics}
            tensors |= {f"maps.{k}.{name}": own for name, own in (each.mapped.tensors() if each.mapped else {}).items()}
            plain.append([each.task, list(each.classes), each.mapped.plain() if each.mapped else {}])
        return State(tensors, {**state.plain, "known": plain})

    def load(self, state: State) -> None:
        super().load(state)
        self.totals = state.tensors["totals"].clone()
        self.known = [self._loaded(state.tensors, k, *known) for k, known in enumerate(state.plain["known"])]

    def _loaded(self, tensors: Mapping[str, Tensor], k: int, task: int, classes: list[int], plain: Any) -> Known:
        mapped = made_map(self.outline.shape, self.seed, vars(self))
        if mapped is not None:
            mapped.load(under(f"maps.{k}.", tensors), plain)
        solution, statistics = (canonical(tensors[f"{name}.{k}"].clone()) for name in ("solutions", "statistics"))
        return Known(task, tuple(classes), solution, statistics, mapped)
