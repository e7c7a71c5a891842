"""Ridge regression on fixed random features, accumulated: a learner without gradients that forgets nothing.

Features are fixed: random ones, or the sample itself. Of all samples only two sums are kept, products of features with
each other and with the labels, from which the best linear readout follows exactly. The order of the tasks cannot
matter, so there is nothing to forget.

G ← G + φᵀφ and Q ← Q + φᵀY, solved as (G + strength·I)⁻¹Q at a task's end: see `parts/accumulated.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from engram.core import Outline
from engram.costs import solve_flops
from engram.networks import Blueprint
from engram.parts.accumulated import CAP, Accumulated, on_grid
from engram.parts.maps import made_map
from engram.randomness import generator
from engram.settings import setting

STRENGTHS = (1.0, 10.0, 100.0, 1e3, 1e4, 1e5)
OF_MAPS = (0.01, 0.1, 1.0, 10.0, 100.0)  # whose features are at most 1


class Ridge(Accumulated):
    """One-hot targets, a bias column, and features: a map's, random ReLU units of the flattened sample, or itself."""

    name = "ridge"
    keeps = "two sums over samples"
    paper = "Hoerl, Kennard: Ridge regression, biased estimation for nonorthogonal problems, 1970"

    features = setting(500, "random features; 0: the numbers of the sample itself, up to ±32", at_least=0, lasting=True)
    strength = setting(
        1.0,
        "weight of the penalty on the solution; 0: chosen in the first task, from 1 to 1e5, with a map 0.01 to 100",
        at_least=0,
    )

    @classmethod
    def least_bytes(cls, outline: Outline, network: Blueprint | None, settings: Mapping[str, Any]) -> int:
        """The random weights; and the matrix of the equations, with its penalty, and its factor."""
        mapped = made_map(outline.shape, 0, settings)
        if mapped is not None:
            return mapped.least_bytes() + (4 + 8 + 8) * (settings["features"] + 1) ** 2
        inputs = math.prod(outline.shape)
        size = (settings["features"] or inputs) + 1
        return 8 * size * ((inputs if settings["features"] else 0) + 3 * size)

    @property
    def remedy(self) -> str:  # type: ignore[override]
        return f"raise the strength (now {self.value:g})"

    def prepare(self) -> int:
        inputs = math.prod(self.outline.shape)
        if not self.features:
            return inputs
        draw = generator(self.seed, "initialisation", "features")
        self.weights = torch.randn(inputs, self.features, generator=draw, dtype=torch.float64) / math.sqrt(inputs)
        self.offsets = torch.randn(self.features, generator=draw, dtype=torch.float64)
        return self.features

    def phi(self, x: Tensor) -> Tensor:
        """Random features on the exact grid, with a column of ones."""
        if not self.features:
            return on_grid(x.flatten(1).double().clamp_(-CAP, CAP))
        return on_grid((x.flatten(1).double() @ self.weights + self.offsets).clamp_(0, CAP))

    def phi_flops(self) -> int:
        return 2 * self.weights.shape[0] * len(self.gram) if self.features else 0

    def candidates(self) -> Sequence[float]:
        return (self.strength,) if self.strength else STRENGTHS if self.mapped is None else OF_MAPS

    def unchosen(self) -> float:
        return 1.0

    def solve(self, value: float) -> Tensor | None:
        penalised = self.sums().clone()
        penalised.diagonal().add_(value)
        factor, trouble = torch.linalg.cholesky_ex(penalised)
        solution = torch.cholesky_solve(self.moment, factor).float()
        self.operations += solve_flops(len(self.gram), self.moment.shape[1])
        return None if trouble or not solution.isfinite().all() else solution
