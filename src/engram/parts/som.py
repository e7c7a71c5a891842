"""A self-organising map that learns one sample at a time, at the speed of matrix products.

The rule is w_u ← w_u + a_u (x − w_u) with a_u = ε · exp(−‖pos_u − pos_best‖² / 2σ²), for one sample after another.
Taken literally that is two passes over all weights a sample. Here a `SampleBlock` never touches them: it needs
only the squared distance D[t, u] of every sample to every unit, and by Stewart's theorem a pull towards sample s
changes these by

    D[t, u] ← (1 − a_u) D[t, u] + a_u ‖x_t − x_s‖² − a_u (1 − a_u) D[s, u].

A pull is then a few operations on the units that it reaches, and all pulls of a block are one product at its end. Up to
rounding that is the same map: `tests/parts/test_som.py` holds it against the rule written out.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

Array = np.ndarray[Any, Any]


class SelfOrganisingMap:
    """`weights` (units, inputs) of units that stand row by row on a square of `side` × `side`."""

    def __init__(self, side: int, weights: Tensor):
        self.side, self.weights = side, weights
        self.operations = 0  # of products so far

    def squared_distances(self, x: Tensor) -> Tensor:
        """Of each sample to each unit."""
        return squared_distances(x, self.weights)

    def block(self, x: Tensor) -> SampleBlock:
        """Some samples to learn from, in this order."""
        return SampleBlock(self, x)


class SampleBlock:
    """The distances of some samples as the map moves. `close` moves it: nothing of the map changes before."""

    def __init__(self, map: SelfOrganisingMap, x: Tensor):
        self.map, self.x = map, x
        side, count = map.side, len(x)
        self.rows: Array = map.squared_distances(x).numpy()  # a sample's are those after the pulls of all before it
        self._distances: Array = self.rows.reshape(count, side, side)
        self._shares = x.new_zeros(count, side, side)  # one for each pull, in order
        self._pulls: Array = self._shares.numpy()
        self._samples: list[int] = []  # that pulled
        self._between: Array | None = None
        self._tiny = torch.finfo(x.dtype).eps / 4  # a smaller share of a weight is lost when it is subtracted from 1
        map.operations += 2 * count * map.weights.numel()

    def pull(self, t: int, best: int, rate: float, radius: float) -> None:
        """Move the units around `best` towards sample `t`. Samples before it are not looked at again."""
        side, (y, x) = self.map.side, divmod(best, self.map.side)
        profile = neighbourhood(side, radius, self.x.dtype)
        reach = int(radius * math.sqrt(2 * math.log(rate / self._tiny))) if rate > self._tiny else 0
        top, bottom, left, right = max(y - reach, 0), y + reach + 1, max(x - reach, 0), x + reach + 1
        down, across = (
            profile[side - 1 - y :][top : min(bottom, side)],
            profile[side - 1 - x :][left : min(right, side)],
        )
        share: Array = np.multiply.outer(rate * down, across)
        self._pulls[len(self._samples), top:bottom, left:right] = share
        self._samples.append(t)
        kept = 1 - share
        later = self._distances[t + 1 :, top:bottom, left:right]
        change = self._between_samples()[t + 1 :, t, None, None] * share
        change -= share * kept * self._distances[t, top:bottom, left:right]
        later *= kept
        later += change

    def _between_samples(self) -> Array:
        """Squared distances between the samples, which only pulls need."""
        if self._between is None:
            self._between = squared_distances(self.x, self.x).numpy()
            self.map.operations += 2 * len(self.x) * self.x.numel()
        return self._between

    def close(self) -> None:
        """Move the map: pulled by a₁ … aₙ a weight keeps the share Π (1 − a_s), and of sample s it gets the share
        a_s · Π (1 − a_r) over the r after s."""
        count = len(self._samples)
        if not count:
            return
        shares = self._shares[:count].flatten(1)
        pulls: Array = shares.numpy()
        left = np.multiply.accumulate((1 - pulls)[::-1])  # in numpy: several times faster than torch's product
        pulls[:-1] *= left[-2::-1]
        x = self.x if count == len(self.x) else self.x[self._samples]
        self.map.weights.mul_(torch.from_numpy(left[-1]).unsqueeze(1)).addmm_(shares.t(), x)
        self.map.operations += 2 * count * self.map.weights.numel()


def squared_distances(a: Tensor, b: Tensor) -> Tensor:
    a_squares, b_squares = (torch.linalg.vector_norm(v, dim=1).square_() for v in (a, b))
    return (a_squares.unsqueeze(1) + b_squares).addmm_(a, b.t(), alpha=-2).clamp_(min=0)


@lru_cache(maxsize=64)
def neighbourhood(side: int, radius: float, dtype: torch.dtype) -> Array:
    """exp(−k² / 2 radius²) for the steps k = 1 − side … side − 1 along one side."""
    profile: Array = (_squared_steps(side, dtype) * (-0.5 / radius**2)).exp_().numpy()
    return profile


@lru_cache(maxsize=8)
def _squared_steps(side: int, dtype: torch.dtype) -> Tensor:
    return torch.arange(1 - side, side, dtype=dtype).square_()
