"""Kernel ridge regression on fixed random features: a classifier that is solved, not trained.

The kernel is exp(−‖a − b‖²/w) with w the median of the squared distances between the points (the median rule), or a
multiple of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from engram.costs import solve_flops

PATCH, STRIDE, POOL = 7, 2, 4  # sides of a filter, of its steps and of the (overlapping) squares that are averaged
SMALLEST = 4  # side of what is treated as an image
CHUNK = 500  # samples at a time
MOST = 1000  # points that the median is taken over


def is_image(shape: tuple[int, ...]) -> bool:
    return len(shape) == 3 and min(shape[1:]) >= SMALLEST


class RandomFeatures:
    """Random filters over an image and average pooling, or random units on a plain vector; ReLU; length 1."""

    def __init__(self, shape: tuple[int, ...], filters: int, units: int, generator: torch.Generator):
        self.shape, self.is_image = shape, is_image(shape)
        if self.is_image:
            weights = torch.randn(filters, shape[0], PATCH, PATCH, generator=generator)
            weights -= weights.mean((1, 2, 3), keepdim=True)  # a filter that answers to brightness alone tells little
            self.weights = weights / weights.flatten(1).norm(dim=1).view(-1, 1, 1, 1)
        else:
            inputs = math.prod(shape)
            self.weights = torch.randn(inputs, units, generator=generator) / math.sqrt(inputs)
            self.offsets = torch.randn(units, generator=generator)

    @staticmethod
    def weight_count(shape: tuple[int, ...], filters: int, units: int) -> int:
        return filters * shape[0] * PATCH * PATCH if is_image(shape) else math.prod(shape) * units

    def __call__(self, x: Tensor) -> Tensor:
        compute: Callable[[Tensor], Tensor] = self._convolve if self.is_image else self._multiply
        return torch.cat([F.normalize(compute(part), dim=1) for part in x.split(CHUNK)])

    def _convolve(self, x: Tensor) -> Tensor:
        maps = F.conv2d(x, self.weights, stride=STRIDE, padding=PATCH // 2).relu_()
        return F.avg_pool2d(maps, POOL, POOL // 2, padding=1).flatten(1)

    def _multiply(self, x: Tensor) -> Tensor:
        return torch.addmm(self.offsets, x.flatten(1), self.weights).relu_()

    def flops(self) -> int:
        """Operations for one sample."""
        if not self.is_image:
            return 2 * self.weights.numel()
        positions = math.ceil(self.shape[1] / STRIDE) * math.ceil(self.shape[2] / STRIDE)
        return 2 * self.weights.numel() * positions


class KernelRidge:
    """Coefficients a of Σᵢ k(x, xᵢ) aᵢ that solve (K + strength·I) a = one-hot targets."""

    def __init__(self, points: Tensor, labels: Tensor, classes: int, strength: float, medians: float = 1.0):
        """`labels` are columns 0 … classes − 1; the width is so many `medians`."""
        self.points, self.norms = points, points.square().sum(1)
        distances = self._distances(points)
        self.width = medians * median_distance(distances)
        system = torch.exp(distances.double().div_(-self.width))
        system.diagonal().fill_(1 + strength)
        factor, trouble = torch.linalg.cholesky_ex(system)
        targets = F.one_hot(labels, classes).double()
        self.coefficients = torch.cholesky_solve(targets, factor).float()
        self.solved = not trouble and bool(self.coefficients.isfinite().all())

    def scores(self, features: Tensor) -> Tensor:
        return self._distances(features).div_(-self.width).exp_() @ self.coefficients

    def _distances(self, features: Tensor) -> Tensor:
        """Squared distances to the points."""
        squares = features.square().sum(1, keepdim=True) + self.norms
        return squares.addmm_(features, self.points.t(), alpha=-2).clamp_(min=0)

    def flops(self) -> int:
        """Operations of setting it up."""
        count, size = self.points.shape
        return 2 * count * count * size + solve_flops(count, self.coefficients.shape[1])


def median_distance(distances: Tensor) -> float:
    """The median of the squared distances between different points, of at most `MOST` evenly spread ones.

    >>> median_distance(torch.tensor([[0.0, 1.0, 4.0], [1.0, 0.0, 9.0], [4.0, 9.0, 0.0]]))
    4.0
    """
    some = slice(None, None, math.ceil(len(distances) / MOST))
    part = distances[some, some]
    above = part[torch.triu(torch.ones_like(part, dtype=torch.bool), 1)]
    return (float(above.median()) or 1.0) if len(above) else 1.0
