"""All that a closed-form classifier keeps of its rows: how many of each class, their sums, and the sum of x xᵀ.

Numbers are taken as float32, and everything after that is exact, so the sums are those of a set of rows: it does not
matter in which order and in how many parts they came, and rows that are forgotten leave nothing behind. A `Group` of
rows is summed up in whole numbers; `FixedPoint` adds groups up.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from engram.errors import BadInput
from engram.estimator.fixed_point import FixedPoint, NumpyArray
from engram.estimator.limbs import GROUP, LIMB, Group


class Sums:
    """Of rows with so many numbers; `counts` and `totals` have a row for each class, in the order of their numbers."""

    def __init__(self, width: int):
        self.counts = np.zeros(0, dtype=np.int64)
        self.totals = FixedPoint((0, width))
        self.squares = FixedPoint((width, width))

    @property
    def width(self) -> int:
        return self.squares.shape[0]

    def copy(self) -> Sums:
        other = Sums(self.width)
        other.counts, other.totals, other.squares = self.counts.copy(), self.totals.copy(), self.squares.copy()
        return other

    def order(self, places: NumpyArray) -> None:
        """Give classes other numbers: `places` says where each was before, −1 of one that is new."""
        self.counts = np.where(places >= 0, self.counts[places] if len(self.counts) else 0, 0)
        if not self.totals.shape[0]:
            self.totals = FixedPoint((len(places), self.width))
        else:
            self.totals = self.totals.rows(places)

    def add(self, x: NumpyArray, y: NumpyArray, sign: int = 1) -> None:
        """Learn rows of float32 with their class numbers or, with the sign −1, forget them. All or nothing."""
        counts = self.counts + sign * np.bincount(y, minlength=len(self.counts))
        if (counts < 0).any():
            raise BadInput("there are more rows to forget of a class than were learned; give rows that were learned")
        for at in range(0, len(x), GROUP):
            self._add(x[at : at + GROUP], y[at : at + GROUP], sign)
        self.counts = counts

    def _add(self, x: NumpyArray, y: NumpyArray, sign: int) -> None:
        classes, local = np.unique(y, return_inverse=True)
        group = Group(x, local, len(classes))
        pairs = group.exponents[:, None] + group.exponents
        for products, limbs in group.squares():
            self.squares.add(products, pairs - LIMB * limbs, sign)
        for total, limbs in group.totals():
            self.totals.add(total, np.broadcast_to(group.exponents - LIMB * limbs, total.shape), sign, classes)

    def tensors(self) -> dict[str, NumpyArray]:
        """The same bytes for the same rows."""
        return {
            "counts": self.counts,
            "totals": self.totals.tidy().digits,
            "squares": self.squares.tidy().digits,
            "places": np.array([self.totals.low, self.squares.low], dtype=np.int64),
        }

    @staticmethod
    def load(tensors: Mapping[str, NumpyArray]) -> Sums:
        sums = Sums(tensors["squares"].shape[-1])
        low = [int(place) for place in tensors["places"]]
        sums.counts = tensors["counts"]
        sums.totals = FixedPoint(tensors["totals"].shape[1:], low[0], tensors["totals"])
        sums.squares = FixedPoint(tensors["squares"].shape[1:], low[1], tensors["squares"])
        return sums
