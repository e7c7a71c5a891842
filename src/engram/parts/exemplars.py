"""Exemplars: which samples of a class to keep (Chaudhry et al. 2018, section 4.2), and the memory that keeps them.

The four ways of choosing are plain functions: what is known of the samples of one class in, positions out, in order of
selection. Where fewer samples than wanted exist, all of them are chosen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from engram.core import Split, pick
from engram.errors import Diverged
from engram.networks import FlatNetwork, Outputs
from engram.transform import under

SAMPLING = {
    "uniform": "at random",
    "plane-distance": "at random, more likely near the decision plane (1/|φ·w|)",
    "entropy": "at random, more likely where the softmax is uncertain",
    "mof": "the mean of the features is followed step by step (herding)",
}
NEAREST, LEAST = 1e-8, 1e-32  # the smallest distance that counts, and what keeps an entropy of zero possible
TIE = 1e-12  # costs closer than this share of the largest are equal: rounding must not decide


def uniform(count: int, m: int, generator: torch.Generator) -> Tensor:
    """`m` of `count` positions, without replacement."""
    return torch.randperm(count, generator=generator)[:m]


def plane_distance(features: Tensor, weights: Tensor, m: int, generator: torch.Generator) -> Tensor:
    """Probability ∝ 1/|φ·w|; `weights` are the class's output weights without the bias."""
    distances = (features.double() @ weights.double()).abs()
    return _draw(1 / distances.clamp(min=NEAREST), m, generator)


def entropy(scores: Tensor, m: int, generator: torch.Generator) -> Tensor:
    """Probability ∝ the entropy of the softmax over the scores' columns; a column of −∞ takes no part."""
    uncertainty = torch.special.entr(F.softmax(scores.double(), dim=1)).sum(1)
    return _draw(uncertainty + LEAST, m, generator)


def mof(features: Tensor, m: int, normalise: bool = False) -> Tensor:
    """Mean of features, or herding (Rebuffi et al. 2017): each pick brings the mean of the picks nearest to the mean.

    The k-th is argmin ‖μ − (φ(x) + Σ φ(picked))/k‖ over what is not picked yet, the lowest position of equal ones. With
    ψ = φ − μ that is argmin ‖ψ(x) + Σ ψ(picked)‖, of which only ‖ψ(x)‖² + 2 ψ(x)·Σ ψ(picked) depends on x: one
    matrix-vector product a pick. `normalise` puts the features on the unit sphere first, as iCaRL does.

    >>> mof(torch.tensor([[0.0], [1.0], [2.0], [7.0]]), 4).tolist()
    [2, 1, 3, 0]
    """
    points = features.to(torch.float64, copy=True)
    points = F.normalize(points, dim=1) if normalise else points
    points -= points.mean(0)
    cost = _finite(points.square().sum(1))
    tie = TIE * float(cost.max()) if len(cost) else 0.0
    picked: list[int] = []
    for _ in range(min(m, len(points))):
        pick = int((cost <= cost.min() + tie).nonzero()[0])
        picked.append(pick)
        cost.add_(points @ points[pick], alpha=2)
        cost[pick] = float("inf")
    return torch.tensor(picked, dtype=torch.int64)


def select(
    kind: str, m: int, *, features: Tensor, scores: Tensor, weights: Tensor, generator: torch.Generator
) -> Tensor:
    """`m` samples of one class by a name in `SAMPLING`."""
    if kind == "uniform":
        return uniform(len(features), m, generator)
    if kind == "plane-distance":
        return plane_distance(features, weights, m, generator)
    if kind == "entropy":
        return entropy(scores, m, generator)
    if kind == "mof":
        return mof(features, m)
    raise KeyError(kind)


def _draw(likelihood: Tensor, m: int, generator: torch.Generator) -> Tensor:
    """Positions without replacement, each with a chance in proportion to what is left."""
    count = min(m, len(likelihood))
    if not count:
        return torch.empty(0, dtype=torch.int64)
    return torch.multinomial(_finite(likelihood / likelihood.sum()), count, generator=generator)


def _finite(values: Tensor) -> Tensor:
    """The values themselves. The last step before a choice can spoil the features, and no loss comes after it."""
    if not bool(values.isfinite().all()):
        value = float(values[~values.isfinite()][0])
        raise Diverged(f"what exemplars are chosen by became {value}; lower the rate")
    return values


def select_by(
    network: FlatNetwork,
    outputs: Outputs,
    place: int,
    kind: str,
    m: int,
    batches: Iterable[tuple[Tensor, Tensor]],
    generator: torch.Generator,
) -> Tensor:
    """The same by what a network says of the samples in these batches, whose class has this place among the outputs."""
    with torch.no_grad():
        features = torch.cat([network.features(x) for x, _ in batches])
        scores = network.scores(features, outputs)
        weights = network.head[outputs.start + place, :-1]
    return select(kind, m, features=features, scores=scores, weights=weights, generator=generator)


class ExemplarMemory:
    """Sets of samples, one for each class of each lesson, each in order of selection, in the format of the data.

    A class that comes back in a later lesson gets another set. `split()` is everything kept, set after set. No set is
    empty. The task of a set is None where it was not given.
    """

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.tasks: list[int | None] = []
        self._kept: Split | None = None

    def __len__(self) -> int:
        """How many samples are kept."""
        return sum(self.sizes)

    def add(self, chosen: Split, task: int | None = None) -> None:
        """Keep these samples of a class, at least one, as a set."""
        self._kept = Split.join([chosen] if self._kept is None else [self._kept, chosen])
        self.sizes.append(len(chosen))
        self.tasks.append(task)

    def sets(self) -> list[tuple[int | None, int]]:
        """The task and the class of every set."""
        if self._kept is None:
            return []
        firsts = torch.tensor([0, *self.sizes[:-1]]).cumsum(0)
        return list(zip(self.tasks, pick(self._kept.y, firsts).tolist(), strict=True))

    def reduce(self, most: Sequence[int]) -> None:
        """Cut every set to its first ones, of each at most so many; a set of which none are left is gone."""
        if self._kept is None:
            return
        places = torch.arange(len(self)).split(self.sizes)
        left = torch.cat([place[:m] for place, m in zip(places, most, strict=True)])
        sizes = [min(size, m) for size, m in zip(self.sizes, most, strict=True)]
        self._kept = Split.join([self._kept.take(left)])
        self.tasks = [task for task, size in zip(self.tasks, sizes, strict=True) if size]
        self.sizes = [size for size in sizes if size]

    def split(self) -> Split:
        """Everything kept. Ask `len` first: there is no split of nothing."""
        if self._kept is None:
            raise RuntimeError("the exemplar memory is empty; nothing has been added")
        return self._kept

    def of(self, label: int) -> Split:
        """What is kept of one class."""
        kept = self.split()
        return kept.take((kept.y == label).nonzero().squeeze(1))

    def counts(self) -> dict[int, int]:
        """How many samples are kept of each class, in order of first appearance."""
        labels = [] if self._kept is None else self._kept.y.tolist()
        return {label: labels.count(label) for label in dict.fromkeys(labels)}

    def tensors(self) -> dict[str, Tensor]:
        """What a state holds, and what counts as cost: samples, labels, and what their transform has."""
        return {} if self._kept is None else {f"exemplars.{name}": t for name, t in self._kept.tensors().items()}

    def plain(self) -> dict[str, Any]:
        """The rest of the state, as plain JSON."""
        tasks = {} if all(task is None for task in self.tasks) else {"tasks": self.tasks}
        return {"sizes": self.sizes, **tasks, **({"scale": 1.0} if self._kept is None else self._kept.plain())}

    def load(self, tensors: Mapping[str, Tensor], plain: Mapping[str, Any]) -> None:
        """Hold what `tensors` and `plain` gave; other tensors are ignored."""
        own = {name: value.clone() for name, value in under("exemplars.", tensors).items()}
        self.sizes = list(plain["sizes"])
        self.tasks = list(plain.get("tasks", [None] * len(self.sizes)))  # older states do not say
        self._kept = Split.load(own, plain) if own else None
