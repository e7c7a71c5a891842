"""Candidates for a task's path, fitted in lockstep to the same batches: what is frozen of them is computed once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from engram.core import Split, Step
from engram.costs import BACKWARD, head_flops
from engram.networks import Outputs
from engram.parts.fit import Material, Plain, lockstep
from engram.parts.held_out import HeldOut
from engram.parts.library import Library, Path, Walk
from engram.parts.stopping import Stopping, take_out


class Candidate(Plain):
    """Frozen first modules and new ones behind them, which are trained. `score` is the validation accuracy that it is
    chosen by, once it is known."""

    def __init__(self, prefix: Path, walk: Walk, rows: Tensor, values: Mapping[str, Any]):
        network = walk.library.fresh(len(prefix), rows)
        super().__init__(network, Outputs(0, network.rows), values, None)
        self.prefix, self.walk = prefix, walk
        self.kept = len(prefix)
        self.operations = 0
        modules = walk.library.flops[self.kept :]
        head = head_flops(network, network.rows)
        self.forward_flops = sum(flops for flops, _ in modules) + head
        first = modules[0][1] if modules else head
        self.step_flops = (1 + BACKWARD) * self.forward_flops - (first if prefix else 0)

    def use(self, material: Material, held_out: HeldOut) -> None:
        self.held_out = held_out
        self.fit.use(replace(material, sample_flops=self.step_flops, direct=None))

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(self.network.training_scores(self.walk.at(x, self.prefix), self.outputs), y)

    def accuracy(self) -> float:
        self.operations += len(self.held_out.data) * self.forward_flops
        return self.held_out.accuracy(self.prefix, self._scores)

    def _scores(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            return self.network.scores(self.network.features(x))

    def scores(self, x: Tensor) -> Tensor:
        """Of samples."""
        return self._scores(Walk(self.walk.library).at(x, self.prefix))

    @property
    def so_far(self) -> float:
        """What it reached at its best look."""
        return self.fit.stopping.best

    @property
    def steps(self) -> int:
        return self.fit.step or 0

    def score(self) -> float:
        """What it is chosen by."""
        return self.so_far if self.fit.stopping else self.accuracy()

    def join(self, task: int) -> Path:
        """Its new modules join the library, for this task."""
        return self.walk.library.add(task, self.prefix, self.network)

    def tensors(self) -> dict[str, Tensor]:
        buffers = {f"buffers.{name}": value for name, value in self.network.buffers().items()}
        return {"theta": self.network.theta, **buffers, **self.fit.tensors()}

    def plain(self) -> dict[str, Any]:
        return {"prefix": list(self.prefix), **self.fit.plain()}

    def load(self, tensors: dict[str, Tensor], plain: Mapping[str, Any]) -> None:
        self.network.assign(tensors.pop("theta"))
        self.network.assign_buffers(take_out(tensors, "buffers."))
        self.fit.load(tensors, plain)


class Whole:
    """A whole path of the library, its outputs too: there is nothing to train."""

    def __init__(self, path: Path, walk: Walk, so_far: float = -1.0):
        self.path, self.walk, self.so_far = path, walk, so_far
        self.prefix, self.kept = path[:-1], len(path)
        self.operations = self.steps = 0

    def use(self, held_out: HeldOut) -> None:
        if self.so_far < 0:
            library = self.walk.library
            self.operations += len(held_out.data) * 2 * library.features * library.outputs(self.path)
            self.so_far = held_out.accuracy(self.prefix, partial(library.scores, self.path[-1]))

    def scores(self, x: Tensor) -> Tensor:
        return self.walk.library.predict(self.path, x)

    def score(self) -> float:
        return self.so_far

    def join(self, task: int) -> Path:
        return self.walk.library.add(task, self.path)

    def plain(self) -> dict[str, Any]:
        return {"path": list(self.path), "score": self.so_far}


class Search:
    """What a `GradientLearner` sees as one fit: candidates that are compared on the same batches."""

    def __init__(self, library: Library, values: Mapping[str, Any]):
        self.library, self.values = library, values
        self.stopping = Stopping(values)
        self._spent = 0
        self._clear()

    def _clear(self) -> None:
        self.walk = Walk(self.library)
        self.trained: list[Candidate] = []
        self.wholes: list[Whole] = []
        self.task: int | None = None  # for which a path is looked for
        self.held_out: HeldOut | None = None
        self._counted = False

    @property
    def candidates(self) -> list[Candidate | Whole]:
        return [*self.trained, *self.wholes]

    @property
    def step(self) -> int | None:
        """The position inside a task; None between two."""
        return max((candidate.steps for candidate in self.trained), default=None)

    @property
    def operations(self) -> int:
        own = (candidate.operations for candidate in self.candidates)
        return self._spent + self.walk.operations + sum(own) + sum(each.fit.operations for each in self.trained)

    def begin(self, task: int, prefixes: Sequence[Path], wholes: Sequence[Path], rows: Tensor) -> None:
        """Candidates that keep these first modules, with the same new ones behind them; and whole paths."""
        self.task = task
        self.trained = [Candidate(prefix, self.walk, rows, self.values) for prefix in prefixes]
        self.wholes = [Whole(path, self.walk) for path in wholes]
        for candidate in self.trained:
            candidate.fit.begin()

    def look_at(self, validation: Split, places: Tensor) -> None:
        """The data that candidates are compared on."""
        prefixes = [candidate.prefix for candidate in self.candidates]
        self.held_out = HeldOut(validation, places, self.walk, prefixes, self._counted)

    def use(self, material: Material) -> None:
        """Take this material, from the beginning or from where it was left."""
        assert self.held_out is not None
        for candidate in self.trained:
            candidate.use(material, self.held_out)
        for whole in self.wholes:
            whole.use(self.held_out)

    def run(self) -> Iterator[Step]:
        return lockstep([candidate.fit for candidate in self.trained])

    def best_so_far(self) -> Candidate | Whole:
        """By the last look; of equal ones that with fewer new modules."""
        return max(self.candidates, key=lambda each: (each.so_far, each.kept))

    def scored(self) -> list[tuple[Candidate | Whole, float]]:
        """Every candidate with the validation accuracy that it is chosen by; one that is alone needs none."""
        alone = len(self.candidates) == 1
        return [(candidate, candidate.so_far if alone else candidate.score()) for candidate in self.candidates]

    def finish(self) -> None:
        """Nothing of the candidates is kept."""
        self._spent = self.operations
        self._clear()

    def tensors(self) -> dict[str, Tensor]:
        return {
            f"candidate.{number}.{name}": value
            for number, candidate in enumerate(self.trained)
            for name, value in candidate.tensors().items()
        }

    def plain(self) -> dict[str, Any]:
        if not self.trained:
            return {"step": None}
        return {
            "step": self.step,
            "task": self.task,
            "rows": self.trained[0].network.rows,
            "candidates": [candidate.plain() for candidate in self.trained],
            "wholes": [whole.plain() for whole in self.wholes],
            "counted": self._counted if self.held_out is None else self.held_out.counted,
        }

    def load(self, tensors: dict[str, Tensor], plain: Mapping[str, Any]) -> None:
        self._clear()
        self._spent = 0
        if plain["step"] is None:
            return
        trained, rows = plain["candidates"], torch.zeros(plain["rows"], self.library.features + 1)
        self.begin(plain["task"], [tuple(each["prefix"]) for each in trained], [], rows)
        self.wholes = [Whole(tuple(each["path"]), self.walk, each["score"]) for each in plain["wholes"]]
        for number, (candidate, own) in enumerate(zip(self.trained, trained, strict=True)):
            candidate.load(take_out(tensors, f"candidate.{number}."), own)
        self._counted = plain["counted"]
