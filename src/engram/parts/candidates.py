"""Candidates for a task's path: what is frozen, what is new, and how well they do.

kind      the source's path            trained                        from Veniat et al. 2021
branch    its first modules            new ones behind them           yes, b = 0 … L - 1
whole     all of it                    nothing                        yes, b = L
warm      its first modules, or none   the others, from its values,   no
                                       and a new head
front     its last modules and head    the first ones, from its       no
                                       values
adapter   all of it                    a mixture of colours before    no
ridge     all but the head             nothing: a head on the mean    no
                                       features of all modules
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from engram.costs import BACKWARD, head_flops
from engram.networks import FlatNetwork, Outputs
from engram.networks.adapter import adapter, mixture_flops
from engram.parts.fit import Material, Plain
from engram.parts.held_out import HeldOut
from engram.parts.library import Path
from engram.parts.stopping import take_out
from engram.parts.walk import PathWalk


class Recipe(NamedTuple):
    """What a candidate is made from: its kind, the path of its source (of a branch only what it keeps) and the number
    of first modules that are kept, or renewed."""

    kind: str
    path: Path
    first: int = 0


class TrainedCandidate(Plain):
    """One that is trained. `new` is how many modules and parameters it adds, fewer of which win a tie."""

    prefix: Path = ()  # frozen modules before those that are trained
    forward_flops: int  # of a sample, beyond the prefix
    step_flops: int

    def __init__(self, plan: Recipe, walk: PathWalk, network: FlatNetwork, values: Mapping[str, Any]):
        super().__init__(network, Outputs(0, network.rows), values, None)
        self.plan, self.walk, self.library = plan, walk, walk.library
        self.is_plain = self.library.is_ours

    @property
    def new(self) -> tuple[int, int]:
        raise NotImplementedError

    def use(self, material: Material, held_out: HeldOut) -> None:
        self.held_out, self.validation = held_out, held_out.data
        self.fit.use(replace(material, sample_flops=self.step_flops, direct=None))

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(self.through(self.walk.at(x, self.prefix), training=True), y)

    def through(self, x: Tensor, training: bool = False) -> Tensor:
        """The scores of what the prefix gives."""
        raise NotImplementedError

    @property
    def look_flops(self) -> int:  # type: ignore[override]
        return len(self.held_out.data) * self.forward_flops + self.held_out.flops(self.prefix)

    def accuracy(self) -> float:
        self.operations += len(self.held_out.data) * self.forward_flops
        with torch.no_grad():
            return self.held_out.accuracy(self.prefix, self.through)

    def scores(self, x: Tensor) -> Tensor:
        """Of samples."""
        with torch.no_grad():
            return self.through(PathWalk(self.library).at(x, self.prefix))

    @property
    def steps(self) -> int:
        return self.fit.step or 0

    @property
    def so_far(self) -> float:
        """What it reached at its best look; less than 0 before the first."""
        return self.fit.stopping.best

    def score(self) -> float:
        """The validation accuracy that it is chosen by."""
        return self.so_far if self.fit.stopping else self.accuracy()

    def join(self, task: int) -> Path:
        """Its new modules join the library, for this task."""
        raise NotImplementedError

    def tensors(self) -> dict[str, Tensor]:
        buffers = {f"buffers.{name}": value for name, value in self.network.buffers().items()}
        return {"theta": self.network.theta, **buffers, **self.fit.tensors()}

    def plain(self) -> dict[str, Any]:
        return {"plan": list(self.plan), **self.fit.plain()}

    def load(self, tensors: dict[str, Tensor], plain: Mapping[str, Any]) -> None:
        self.network.assign(tensors.pop("theta"))
        self.network.assign_buffers(take_out(tensors, "buffers."))
        self.fit.load(tensors, plain)


class Branch(TrainedCandidate):
    """Frozen first modules, and behind them new ones to the end."""

    def __init__(self, plan: Recipe, walk: PathWalk, rows: Tensor, values: Mapping[str, Any]):
        network = walk.library.part(plan.first, None, plan.path[:-1] if plan.kind == "warm" else ())
        network.append(rows)
        super().__init__(plan, walk, network, values)
        self.prefix = plan.path[: plan.first]
        layers = range(plan.first, len(self.library.layers) - 1)
        head = head_flops(network, network.rows)
        self.forward_flops = sum(map(self.library.flops, layers)) + head
        first = self.library.first_flops(plan.first) if layers else head  # needs no gradient of what is frozen
        self.step_flops = (1 + BACKWARD) * self.forward_flops - (first if plan.first else 0)

    @property
    def new(self) -> tuple[int, int]:
        return len(self.library.layers) - self.plan.first, len(self.network.theta)

    @property
    def around(self) -> dict[str, Tensor]:  # type: ignore[override]
        return self.library.named_values(list(enumerate(self.prefix)))

    def through(self, x: Tensor, training: bool = False) -> Tensor:
        if training:
            return self.network.training_scores(x, self.outputs)
        return self.network.scores(self.network.features(x))

    def join(self, task: int) -> Path:
        return self.library.add(task, self.prefix, self.network)


class Before(TrainedCandidate):
    """New first modules, or an adapter, and frozen ones behind them to the end: gradients go through these."""

    def __init__(self, plan: Recipe, walk: PathWalk, rows: Tensor, values: Mapping[str, Any]):
        library, renewed = walk.library, range(plan.first)
        is_adapter = plan.kind == "adapter"
        own = adapter(library.shape, library.device) if is_adapter else library.part(0, plan.first, plan.path)
        super().__init__(plan, walk, own, values)
        self.suffix = list(enumerate(plan.path))[plan.first : -1]
        new = mixture_flops(library.shape) if is_adapter else sum(map(library.flops, renewed))
        kept = sum(library.flops(*each) for each in self.suffix) + 2 * library.features * library.outputs(plan.path)
        self.forward_flops = new + kept
        self.step_flops = (1 + BACKWARD) * new + BACKWARD * kept

    @property
    def new(self) -> tuple[int, int]:
        return max(self.plan.first, 1), len(self.network.theta)

    @property
    def around(self) -> dict[str, Tensor]:  # type: ignore[override]
        return self.library.named_values([*self.suffix, (len(self.library.layers) - 1, self.plan.path[-1])])

    def through(self, x: Tensor, training: bool = False) -> Tensor:
        x = self.network.features(x, training)
        for layer, number in self.suffix:
            x = self.library.apply(layer, number, x)
        return self.library.scores(self.plan.path[-1], x)

    def join(self, task: int) -> Path:
        if self.plan.kind == "adapter":
            return self.library.add_adapter(task, self.network.theta, self.plan.path)
        return self.library.add(task, (), self.network, self.plan.path[self.plan.first :])


class Ready:
    """One that is not trained in steps: `so_far` is found once, before the others begin."""

    new = (0, 0)
    steps = 0

    def __init__(self, plan: Recipe, walk: PathWalk):
        self.plan, self.walk, self.library = plan, walk, walk.library
        self.prefix = plan.path[:-1]
        self.so_far = -1.0
        self.operations = 0

    def use(self, material: Material, held_out: HeldOut) -> None:
        if self.so_far < 0:
            self.so_far = self.judged(material, held_out)

    def judged(self, material: Material, held_out: HeldOut) -> float:
        """Its validation accuracy."""
        raise NotImplementedError

    def score(self) -> float:
        return self.so_far

    def scores(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def join(self, task: int) -> Path:
        raise NotImplementedError

    def tensors(self) -> dict[str, Tensor]:
        return {}

    def plain(self) -> dict[str, Any]:
        return {"plan": list(self.plan), "score": self.so_far}

    def load(self, tensors: dict[str, Tensor], plain: Mapping[str, Any]) -> None:
        self.so_far = plain["score"]


class Whole(Ready):
    """A whole path, its outputs too."""

    def judged(self, material: Material, held_out: HeldOut) -> float:
        head = self.plan.path[-1]
        self.operations += len(held_out.data) * 2 * self.library.features * self.library.outputs(self.plan.path)
        return held_out.accuracy(self.prefix, partial(self.library.scores, head))

    def scores(self, x: Tensor) -> Tensor:
        return self.library.predict(self.plan.path, x)

    def join(self, task: int) -> Path:
        return self.library.add(task, self.plan.path)
