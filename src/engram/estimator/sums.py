"""All that a closed-form classifier keeps of its rows: how many of each class, their sums, and the sum of x xᵀ.

Numbers are taken as float32, and everything after that is exact, so the sums are those of a set of rows: it does not
matter in which order and in how many parts they came, and rows that are forgotten leave nothing behind.

A column of a block of rows is written as limbs of 20 bits below its largest number. Products of limbs, summed over 1024
rows, are whole numbers below 2⁵³: matrix products in float64 are exact. `FixedPoint` adds them up over blocks.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from engram.errors import BadInput
from engram.estimator.fixed_point import FixedPoint, NumpyArray

ROWS = 1024  # of a block
LIMB = 20  # bits: 2·20 of a product, 10 of its sum over a block, 1 of the sum of two such products: below 53


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
        block, room = np.empty((min(len(x), ROWS), self.width)), list[NumpyArray]()
        for start in range(0, len(x), ROWS):
            part = x[start : start + ROWS]
            block[: len(part)] = part
            limbs, exponents = split(block[: len(part)], room)
            self._add_block(limbs, exponents, y[start : start + ROWS], sign)
        self.counts = counts

    def _add_block(self, limbs: list[NumpyArray], exponents: NumpyArray, y: NumpyArray, sign: int) -> None:
        order = np.argsort(y, kind="stable")
        classes, starts = np.unique(y[order], return_index=True)
        pairs = exponents[:, None] + exponents[None, :]
        for k, one in enumerate(limbs):
            total = np.add.reduceat(one[order], starts, axis=0)
            shifts = np.broadcast_to(exponents - LIMB * (k + 1), total.shape)
            self.totals.add(total, shifts, sign, classes)
            rows = slice(None) if k == 0 else np.flatnonzero(one.any(axis=1))  # of later limbs few have any
            for earlier, other in enumerate(limbs[: k + 1]):
                product = other[rows].T @ one[rows]
                both = product if earlier == k else product + product.T
                self.squares.add(both, pairs - LIMB * (k + earlier + 2), sign)

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


def split(x: NumpyArray, room: list[NumpyArray]) -> tuple[list[NumpyArray], NumpyArray]:
    """Limbs of a block, whole numbers up to ±2²⁰, and for each column an exponent e: x = Σ limbₖ·2^(e − 20·(k+1)).

    They lie in the arrays of `room`, to be used again: to ask the system for memory would take most of the time.
    """
    exponents = np.frexp(np.maximum(x.max(axis=0), -x.min(axis=0)))[1]
    rest = np.multiply(x, np.ldexp(1.0, LIMB - exponents), out=x)
    limbs: list[NumpyArray] = []
    while not limbs or rest.any():
        if len(room) == len(limbs):
            room.append(np.empty((ROWS, x.shape[1])))
        limbs.append(np.rint(rest, out=room[len(limbs)][: len(x)]))
        rest -= limbs[-1]
        rest *= 1 << LIMB
    return limbs, exponents.astype(np.int64)
