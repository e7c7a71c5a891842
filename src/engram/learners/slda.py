"""Streaming linear discriminant analysis: the mean of every class and one covariance that all classes share.

Of every class the mean is kept, and one covariance that all share, each from sums over samples. A sample belongs to the
class whose mean is nearest, seen through that covariance. One pass is enough, memory is constant, and the order of the
tasks cannot matter.

Every class is a normal distribution with its own mean μ and the covariance Σ = (1 − s)·S + s·(tr S / D)·I, where S is
that of the samples around their class's mean and s the shrinkage. In the coordinates where Σ is the identity a sample
belongs to the nearest mean (`distance`: the classical rule), or to the one in the nearest direction, seen from the mean
of all samples (`angle`). With few samples a class the directions of means are known better than how far away they are.

Means and covariance follow from sums over samples (see `parts/accumulated.py`): one pass, constant memory, and nothing
depends on the order of tasks. Hayes and Kanan 2020 is the same with a fixed shrinkage and an inverse kept up to date.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import torch
from torch import Tensor

from engram.core import Outline
from engram.costs import solve_flops
from engram.networks import Blueprint
from engram.parts.accumulated import CAP, Accumulated, on_grid
from engram.parts.maps import made_map
from engram.settings import setting

SHRINKAGES = (0.1, 0.3, 0.6, 0.8, 0.9, 0.95, 0.98)
TINY = 1e-12  # what is left of a variance of 0 by rounding
DECISIONS = ("distance", "angle")


class Rule(NamedTuple):
    """What can be chosen of the analysis."""

    shrinkage: float
    decision: str


class SLDA(Accumulated):
    """On a map's features, or on the numbers of the sample itself, in steps of 2⁻¹⁰ up to ±32: standardise those of
    another size."""

    name = "slda"
    keeps = "means, one covariance"
    paper = "Hayes, Kanan: Lifelong machine learning with deep streaming linear discriminant analysis, 2020"

    features = setting(
        500, "how many of a map; without one they are the numbers of the sample", at_least=1, lasting=True
    )
    shrinkage = setting(
        0.0,
        "share of the identity in the covariance; 0: chosen in the first task, from 0.1 to 0.98",
        at_least=0,
        at_most=1,
        lasting=True,  # what was chosen is one of those that could be
    )
    decision = setting(
        "chosen",
        "a sample's class: that of the nearest mean (distance), of the one in the nearest direction (angle), or "
        "whichever does better in the first task (chosen)",
        choices=("chosen", *DECISIONS),
        lasting=True,
    )

    @classmethod
    def least_bytes(cls, outline: Outline, network: Blueprint | None, settings: Mapping[str, Any]) -> int:
        """The matrix of sums, the covariance, and its factor."""
        mapped = made_map(outline.shape, 0, settings)
        if mapped is not None:
            return mapped.least_bytes() + (4 + 8 + 8) * (settings["features"] + 1) ** 2
        return 8 * 3 * (math.prod(outline.shape) + 1) ** 2

    @property
    def remedy(self) -> str:  # type: ignore[override]
        return f"raise the shrinkage (now {self.value.shrinkage:g})"

    @property
    def deterministic(self) -> bool:
        """Nothing is drawn, but for a map."""
        return self.mapped is None

    def prepare(self) -> int:
        return math.prod(self.outline.shape)

    def phi(self, x: Tensor) -> Tensor:
        return on_grid(x.flatten(1).double().clamp_(-CAP, CAP))

    def candidates(self) -> Sequence[Rule]:
        shrinkages = (self.shrinkage,) if self.shrinkage else SHRINKAGES
        decisions = DECISIONS if self.decision == "chosen" else (self.decision,)
        return [Rule(*pair) for pair in product(shrinkages, decisions)]

    def unchosen(self) -> Rule:
        return Rule(self.shrinkage or 0.5, "distance" if self.decision == "chosen" else self.decision)

    def solve(self, value: Rule) -> Tensor | None:
        """By class number, so that the order in which classes came cannot round differently."""
        order = torch.tensor([label for _, label in self.outputs.names]).argsort()
        gram = self.sums()
        sums, counts = self.moment[:-1, order], self.moment[-1, order]
        means = sums / counts.clamp(min=1)
        centre = gram[:-1, -1:] / gram[-1, -1]
        apart = torch.where(counts > 0, means - centre, 0.0)
        factor, trouble = torch.linalg.cholesky_ex(_covariance(gram, sums, means, value.shrinkage))
        weights = torch.cholesky_solve(apart, factor)
        self.operations += solve_flops(*apart.shape) + 2 * len(sums) ** 2 * len(counts)
        squares = (apart * weights).sum(0)
        if value.decision == "angle":
            weights = torch.where(squares > 0, weights / squares.clamp(min=1e-300).sqrt(), 0.0)
            squares = torch.zeros_like(squares)
        offsets = -(centre * weights).sum(0) - squares / 2
        offsets[counts == 0] = torch.finfo(torch.float32).min  # a class without samples is no answer
        solution = torch.cat([weights, offsets[None]])[:, order.argsort()].float()
        return None if trouble or not solution.isfinite().all() else solution


def _covariance(gram: Tensor, sums: Tensor, means: Tensor, shrinkage: float) -> Tensor:
    """Shrunk; the identity where no sample is apart from its class's mean."""
    around = (gram[:-1, :-1] - sums @ means.t()) / gram[-1, -1]
    size = float(around.diagonal().clamp(min=0).mean())
    identity = torch.eye(len(around), dtype=torch.float64)
    return around.mul_(1 - shrinkage).add_(identity, alpha=shrinkage * size) if size > TINY else identity
