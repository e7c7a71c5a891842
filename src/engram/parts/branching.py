"""Where a new path leaves the old ones: a distribution that learns, and new modules that all paths share.

Old paths are a tree of frozen modules. At each of its nodes a path goes on with one of the old modules behind it, or
with a new one, and then all that follow are new too. Every node has a categorical distribution of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import torch
import torch.nn.functional as F
from torch import Tensor

from engram.core import pick
from engram.costs import BACKWARD, head_flops
from engram.parts.candidates import Recipe
from engram.parts.library import Library, Path
from engram.parts.optimisers import Adam

NEW = -1  # in the place of a module's number
Portion = tuple[Tensor, Tensor]  # positions in a batch, and what was made of the samples there


def way(plan: Recipe, layers: int) -> list[int]:
    """The modules that it decides for, one for each layer."""
    kept = plan.path if plan.kind == "whole" else plan.path[: plan.first]
    return [*kept, *[NEW] * (layers - len(kept))]


class Distribution:
    """Γ: the chances of every plan, from the logits of each node's choices. At first all plans have equal chances, or
    (`by_node`) all choices at a node."""

    def __init__(self, ways: Sequence[Sequence[int]], rate: float, by_node: bool = False):
        decisions = [self._decisions(one) for one in ways]
        nodes: dict[Path, list[int]] = {}
        for node, choice in dict.fromkeys(chain.from_iterable(decisions)):
            nodes.setdefault(node, []).append(choice)
        self._sizes = [len(choices) for choices in nodes.values()]
        edges = [(node, choice) for node, choices in nodes.items() for choice in choices]
        self._passes = torch.tensor([[float(edge in one) for edge in edges] for one in decisions])
        self.logits = torch.zeros(len(edges)) if by_node else self._passes.sum(0).log()
        self.optimiser = Adam(rate)
        self.optimiser.fit(len(edges))

    @staticmethod
    def _decisions(way: Sequence[int]) -> list[tuple[Path, int]]:
        """Every node on the way, and what is chosen there; none after the first new module."""
        stop = way.index(NEW) + 1 if NEW in way else len(way)
        return [(tuple(way[:k]), way[k]) for k in range(stop)]

    def probabilities(self) -> Tensor:
        return (self._passes @ torch.cat(self._by_node(self.logits))).exp()

    def _by_node(self, logits: Tensor) -> list[Tensor]:
        """The logarithms of the chances of each node's choices."""
        return [F.log_softmax(part, 0) for part in logits.split(self._sizes)]

    def draw(self, count: int, source: torch.Generator) -> Tensor:
        """The numbers of so many plans."""
        return torch.multinomial(self.probabilities(), count, replacement=True, generator=source)

    def reinforce(self, plans: Tensor, rewards: Tensor, entropy_weight: float) -> None:
        """A step along  E[(r − mean r) ∇ log Γ(plan)] + weight · ∇ mean entropy of the nodes."""
        logits = self.logits.clone().requires_grad_()
        by_node = self._by_node(logits)
        chosen = (self._passes @ torch.cat(by_node))[plans]
        entropies = [-(each.exp() * each).sum() for each in by_node if len(each) > 1]
        gain = ((rewards - rewards.mean()) * chosen).mean() + entropy_weight * torch.stack(entropies).mean()
        self.optimiser.step(self.logits, -torch.autograd.grad(gain, logits)[0], slice(None))


class SharedModules:
    """One new module for each layer, of use to every plan; `scores` lets each sample of a batch go its own way."""

    def __init__(self, library: Library, ways: Sequence[Sequence[int]], rows: Tensor):
        self.library, self.network = library, library.fresh(rows)
        self._ways = torch.tensor(ways)
        self._new_from = (self._ways == NEW).int().argmax(1) + len(library.layers) * (self._ways != NEW).all(1)
        self.operations = 0

    def is_new(self, plans: Tensor) -> Tensor:
        """Which of these plans have new modules."""
        return self._new_from[plans] < len(self.library.layers)

    def scores(self, x: Tensor, plans: Tensor, training: bool = False) -> Tensor:
        """Of a batch, each sample by its own plan."""
        trunk, last = self.network.trunk, len(self.library.layers) - 1
        alone = any(int((self._new_from[plans] <= layer).sum()) == 1 for layer in range(last))
        trunk.train(training and not alone)  # one sample cannot be normalised by itself
        old: dict[Path, Portion] = {(): (torch.arange(len(x)), x)}
        new: list[Portion] = []
        with trunk.running():
            for layer in range(last):
                old, leaving = self._onwards(layer, old, plans)
                new = self._renewed(layer, new, leaving, training)
        ends, leaving = self._onwards(last, old, plans)
        entering = [*new, *leaving]
        if entering:
            where, features = _joined(entering)
            ends[()] = where, self.network.scores(features)
            passes = _passes(training) - (training and not new)  # no gradient of what frozen modules gave
            self.operations += len(where) * head_flops(self.network, self.network.rows) * passes
        where, scores = _joined(list(ends.values()))
        return pick(scores, where.argsort())

    def _onwards(
        self, layer: int, old: dict[Path, Portion], plans: Tensor
    ) -> tuple[dict[Path, Portion], list[Portion]]:
        """What the old modules of a layer make of the samples that stay on old paths; and those that leave them."""
        onwards: dict[Path, Portion] = {}
        leaving: list[Portion] = []
        for prefix, (where, x) in old.items():
            choices = self._ways[plans[where], layer]
            for number in choices.unique().tolist():
                some = (choices == number).nonzero().squeeze(1)
                rows = where[some], pick(x, some)
                if number == NEW:
                    leaving.append(rows)
                else:
                    longer = (*prefix, number)
                    onwards[longer] = rows[0], self._old(layer, number, rows[1])
        return onwards, leaving

    def _old(self, layer: int, number: int, x: Tensor) -> Tensor:
        library = self.library
        with torch.no_grad():
            if layer == len(library.layers) - 1:
                self.operations += len(x) * head_flops(self.network, self.network.rows)
                return library.scores(number, x)
            self.operations += len(x) * library.flops(layer, number)
            return library.apply(layer, number, x)

    def _renewed(self, layer: int, new: list[Portion], leaving: list[Portion], training: bool) -> list[Portion]:
        """What the new module of a layer makes of the samples that came to it, from new modules and from old ones."""
        if not new and not leaving:
            return []
        where, x = _joined([*new, *leaving])
        trunk = self.network.trunk
        flops = self.library.flops(layer) * _passes(training)
        flops -= self.library.first_flops(layer) if training and not new and layer else 0
        self.operations += len(x) * flops
        x = x if layer else trunk.laid_out(x)
        for each in trunk.modules_by_name[self.library.layers[layer]]:
            x = each(x)
        return [(where, x.float())]


def _joined(rows: Sequence[Portion]) -> Portion:
    where, x = zip(*rows)
    return (where[0], x[0]) if len(rows) == 1 else (torch.cat(where), torch.cat(x))


def _passes(training: bool) -> int:
    return 1 + BACKWARD if training else 1
