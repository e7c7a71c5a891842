"""The search of MNTDP-S: paths are sampled, one for each example, from a distribution that learns which are good.

In turn a batch of one half of the data teaches the new modules, which all paths share, and one of the other half
teaches the distribution (REINFORCE; the reward is the negative loss). When one path is certain, or half of the steps
are done, it is the only one left, and its new modules are fitted to all data as those of any candidate are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from engram.core import Step, pick
from engram.parts.branching import Distribution, SharedModules, way
from engram.parts.candidates import Recipe, TrainedCandidate
from engram.parts.fit import Material, require_finite
from engram.parts.library import Library, Path
from engram.parts.optimisers import OPTIMISERS
from engram.parts.search import Search, planned
from engram.parts.stopping import take_out
from engram.settings import apply, declared, setting

SHARED = "shared."  # how names of what is searched with begin in a state


class Sampled(Search):
    """As long as `shared` is there it searches; then it fits the one candidate that was found."""

    gamma_rate = setting(1e-2, "size of a step of the distribution over paths", above=0, late=True)
    entropy = setting(1.0, "weight of the distribution's entropy, by which it goes on trying", at_least=0, late=True)
    start = setting(
        "paths",
        "what is equally likely at first: all paths (paths), or at every module its old and new successors (nodes)",
        choices=("paths", "nodes"),
        late=True,
    )
    certain = setting(0.99, "chance of a path at which the search ends", above=0, at_most=1, late=True)

    def __init__(self, library: Library, values: Mapping[str, Any], source: Callable[..., torch.Generator]):
        """`values` are the settings of fits, and its own; `source` gives the generator of a purpose and place."""
        apply(self, {name: values[name] for name in declared(Sampled)})
        self._source = source
        super().__init__(library, values)

    def _clear(self) -> None:
        super()._clear()
        self.shared: SharedModules | None = None
        self.done, self.chance = 0, 1.0  # steps of the search; the chance of the path that was chosen

    @property
    def step(self) -> int | None:
        if self.task is None:
            return None
        return self.done + max((candidate.steps for candidate in self.trained), default=0)

    @property
    def operations(self) -> int:
        return super().operations + (self.shared.operations if self.shared else 0)

    def begin(self, task: int, plans: Sequence[Recipe], rows: Tensor, screened: Sequence[Path] = ()) -> None:
        """Of a single plan there is nothing to be found out."""
        super().begin(task, plans if len(plans) == 1 else [], rows, screened)
        if len(plans) > 1:
            self._share(plans)

    def _share(self, plans: Sequence[Recipe]) -> None:
        ways = [way(plan, len(self.library.layers)) for plan in plans]
        self.plans = list(plans)
        self.shared = SharedModules(self.library, ways, self._rows)
        self.distribution = Distribution(ways, self.gamma_rate, self.start == "nodes")
        self.optimiser = OPTIMISERS[self.values["optimizer"]](
            *(self.values[name] for name in ("rate", "momentum", "weight_decay"))
        )
        self.optimiser.fit(len(self.shared.network.theta), self.library.device)

    def use(self, material: Material) -> None:
        self._planned = planned(self.values, material)
        self._halves = _halves(material.data.y.cpu(), self._source("halves", self.task))
        self._batches: dict[int, tuple[int, Sequence[Tensor]]] = {}  # of each half: an epoch, and its batches
        for candidate in self.trained:
            self._shorten(candidate)
        super().use(_alone(material) if self.done else material)

    def _shorten(self, candidate: TrainedCandidate) -> None:
        """The search has had its share of the steps."""
        candidate.fit.iterations = self._planned - self.done

    def run(self) -> Iterator[Step]:
        while self.shared is not None:
            if self.distribution.probabilities().max() > self.certain or self.done >= self._planned // 2:
                self._choose(self.shared)
                break
            yield Step(self.done, self._planned)
            self._take(self.shared)
        if not self.trained:
            yield Step(self.done, self.done)
        for step in super().run() if self.trained else ():
            yield Step(self.done + step.done, self.done + step.total)

    def _take(self, shared: SharedModules) -> None:
        """A step on a batch of one half for the modules, of the other for the distribution. The fit that comes after
        the search counts its own steps, so it crops, mirrors and drops by the same random numbers once more."""
        material, turn = self._material, self.done % 2
        index = self._batch(turn, self.done // 2)
        x, y = material.data.batch(index)
        x = x if material.augmented is None else material.augmented(x, index, self.done)
        if shared.network.trunk.draws:
            shared.network.trunk.reseed(material.source(self.done))
        plans = self.distribution.draw(len(x), self._source("plans", self.task, self.done))
        with torch.set_grad_enabled(turn == 0):
            losses = F.cross_entropy(
                shared.scores(x, plans, training=turn == 0), pick(material.places, y), reduction="none"
            )
        require_finite(losses.mean().item(), material.name, self.done, self.values["rate"])
        if turn:
            self.distribution.reinforce(plans, -losses.cpu(), self.entropy)
        elif shared.is_new(plans).any():
            shared.network.backward(losses.mean())
            self.optimiser.step(shared.network.theta, shared.network.grad, *shared.network.trained)
        self.done += 1

    def _batch(self, turn: int, number: int) -> Tensor:
        """Positions of the samples of a half's batch, counted from the first epoch on."""
        half, size = self._halves[turn], self.values["batch"]
        epoch, place = divmod(number, math.ceil(len(half) / size))
        if turn not in self._batches or self._batches[turn][0] != epoch:
            order = torch.randperm(len(half), generator=self._source("order", self.task, turn, epoch))
            self._batches[turn] = epoch, half[order].split(size)
        return self._batches[turn][1][place]

    def _choose(self, shared: SharedModules) -> None:
        """The likeliest plan is carried out, with the new modules as they are; of equal ones that with the fewest."""
        chances = self.distribution.probabilities().tolist()
        best = max(range(len(chances)), key=lambda place: (chances[place], len(self.plans[place].path)))
        self.chance, self._spent = chances[best], self._spent + shared.operations
        candidate = self._made(self.plans[best])
        self.candidates, self.shared = [candidate], None
        assert self.held_out is not None
        self.held_out = self.held_out.beyond([candidate.prefix])
        if isinstance(candidate, TrainedCandidate):
            self.library.hand_over(shared.network, candidate.network)
            candidate.fit.begin()
            self._shorten(candidate)
        candidate.use(_alone(self._material), self.held_out)
        del self.plans, self.distribution, self.optimiser

    def finish(self) -> None:
        super().finish()
        del self._halves, self._batches

    def scores(self, x: Tensor) -> Tensor:
        if self.shared is None:
            return super().scores(x)
        operations, best = self.shared.operations, self.distribution.probabilities().argmax()
        with torch.no_grad():
            found = self.shared.scores(x, best.expand(len(x)))
        self.shared.operations = operations  # predictions are not counted
        return found

    def tensors(self) -> dict[str, Tensor]:
        if self.shared is None:
            return super().tensors()
        network, gamma = self.shared.network, self.distribution
        found = {"theta": network.theta, "logits": gamma.logits}
        found |= {f"buffers.{name}": value for name, value in network.buffers().items()}
        found |= {f"slots.{name}": value for name, value in self.optimiser.vectors.items()}
        found |= {f"gamma.{name}": value for name, value in gamma.optimiser.vectors.items()}
        return {f"{SHARED}{name}": value for name, value in found.items()}

    def plain(self) -> dict[str, Any]:
        found = super().plain() | {"done": self.done, "chance": self.chance}
        if self.shared is None:
            return found
        steps = [self.optimiser.steps, self.distribution.optimiser.steps]
        return found | {"plans": [list(plan) for plan in self.plans], "optimiser_steps": steps}

    def load(self, tensors: dict[str, Tensor], plain: Mapping[str, Any]) -> None:
        super().load(tensors, plain)
        self.done, self.chance = plain["done"], plain["chance"]
        if "plans" not in plain:
            return
        self._share([Recipe(kind, tuple(path), first) for kind, path, first in plain["plans"]])
        assert self.shared is not None
        own = take_out(tensors, SHARED)
        self.shared.network.assign(own.pop("theta"))
        self.shared.network.assign_buffers(take_out(own, "buffers."))
        self.distribution.logits = own.pop("logits").cpu()
        self.optimiser.vectors = take_out(own, "slots.")
        self.distribution.optimiser.vectors = {name: v.cpu() for name, v in take_out(own, "gamma.").items()}
        self.optimiser.steps, self.distribution.optimiser.steps = plain["optimiser_steps"]


def _alone(material: Material) -> Material:
    """Without twins: nobody else begins with what a search came to."""
    return replace(material, twins=None)


def _halves(labels: Tensor, source: torch.Generator) -> tuple[Tensor, Tensor]:
    """Positions of two halves with equal shares of every class; of a class of one sample both have it."""
    halves: tuple[list[Tensor], list[Tensor]] = ([], [])
    for label in labels.unique().tolist():
        own = (labels == label).nonzero().squeeze(1)
        own = own[torch.randperm(len(own), generator=source)]
        middle = (len(own) + 1) // 2
        halves[0].append(own[:middle])
        halves[1].append(own[middle:] if len(own) > 1 else own)
    return torch.cat(halves[0]), torch.cat(halves[1])
