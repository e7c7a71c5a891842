"""Random features that are a function of the row alone, to the last bit: closed forms on them see more than lines.

A wave is cos(x·w + b) with random w and b (Rahimi and Recht 2007). Images are first answered by random filters:
positive and negative parts, added up over squares that overlap, as shares of their sum, of which the square root is
taken. What is added up are whole numbers below 2⁵³, so a row has the same features whatever rows are beside it. How
wide the waves are, the first session decides: a multiple of the mean squared distance between its rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from engram.estimator.fixed_point import NumpyArray
from engram.parts.kernel import is_image

WIDTH = 4.0  # of the waves, in mean squared distances
FILTERS = 64
BITS = 20  # of an input of the waves, of which 15 are behind the point
BEHIND = 15
CAP = 2.0 ** (BITS - BEHIND)
PIXEL, TAP = 1 << 8, 1 << 12  # whole numbers that make up 1
GRID = 2.0**-10  # what waves are rounded to
AT_ONCE = 512  # rows
SMALLEST = 1e-6  # spread; of rows that are all the same nothing is known


class Waves:
    """So many of them, of rows of a shape. `spread` is the mean squared distance between the rows of the first session,
    in the coordinates that the waves are of."""

    def __init__(self, count: int, shape: tuple[int, ...], seed: int, spread: float):
        self.count, self.shape, self.seed, self.spread = count, shape, seed, spread
        draw = np.random.Generator(np.random.PCG64(seed))
        self._filters = _drawn_filters(draw, shape) if is_image(shape) else None
        inputs = self.inputs(np.zeros((1, *shape), dtype=np.float32)).shape[1]
        directions = draw.standard_normal((inputs, count)) * math.sqrt(2 / (WIDTH * spread))
        room = 2.0 ** (52 - BITS - math.ceil(math.log2(inputs + 1)))
        self._unit = 2.0 ** math.floor(math.log2(room / np.abs(directions).max()))
        self._directions = np.rint(directions * self._unit)
        self._phases = draw.uniform(0, 2 * math.pi, count)

    @staticmethod
    def fitted(count: int, x: NumpyArray, seed: int) -> Waves:
        """To the prepared rows of the first session."""
        single = Waves(1, x.shape[1:], seed, 1.0)
        totals, squares = np.zeros(1), 0
        for at in range(0, len(x), AT_ONCE):
            inputs = single.inputs(x[at : at + AT_ONCE])
            totals = totals + inputs.sum(axis=0)
            squares += int((inputs**2).sum(axis=0).astype(np.int64).sum())  # columns stay below 2⁵³, all of them do not
        spread = 2 * (squares / len(x) - float(((totals / len(x)) ** 2).sum())) / (1 << BEHIND) ** 2
        return Waves(count, x.shape[1:], seed, spread if spread > SMALLEST else 1.0)

    def __call__(self, x: NumpyArray) -> NumpyArray:
        return np.concatenate([self._of(x[at : at + AT_ONCE]) for at in range(0, len(x), AT_ONCE)])

    def _of(self, x: NumpyArray) -> NumpyArray:
        products = self.inputs(x) @ self._directions
        waves = np.cos(products / (self._unit * (1 << BEHIND)) + self._phases)
        return (np.rint(waves / GRID) * GRID).astype(np.float32)

    def inputs(self, x: NumpyArray) -> NumpyArray:
        """What the waves are of, as whole numbers."""
        rows = x.reshape(len(x), -1).astype(float) if self._filters is None else self._answers(x)
        return np.rint(rows.clip(-CAP, CAP) * (1 << BEHIND))

    def _answers(self, x: NumpyArray) -> NumpyArray:
        import torch
        import torch.nn.functional as F

        side = self._filters.shape[-1]  # type: ignore[union-attr]
        stride = 2 if min(self.shape[1:]) >= 16 else 1
        whole = torch.from_numpy(np.rint(x.astype(float) * PIXEL))
        found = F.conv2d(whole, torch.from_numpy(self._filters), stride=stride, padding=side // 2)
        both = torch.cat([found.relu(), found.neg().relu()], 1)
        sums = F.avg_pool2d(both, 4, 2, padding=1, divisor_override=1).flatten(1)
        return (sums / sums.sum(1, keepdim=True).clamp(min=1)).sqrt().numpy()

    def plain(self) -> dict[str, Any]:
        return {"count": self.count, "shape": list(self.shape), "seed": self.seed, "spread": self.spread}

    @staticmethod
    def load(plain: Mapping[str, Any]) -> Waves:
        return Waves(plain["count"], tuple(plain["shape"]), plain["seed"], plain["spread"])


def _drawn_filters(draw: np.random.Generator, shape: tuple[int, ...]) -> NumpyArray:
    """Of mean 0: a filter that answers to brightness alone tells little."""
    side = max(3, min(7, min(shape[1:]) // 4 // 2 * 2 + 1))
    filters = draw.standard_normal((FILTERS, shape[0], side, side))
    filters -= filters.mean((1, 2, 3), keepdims=True)
    return np.rint(filters * TAP)
