"""Sums over a group of rows, exactly: every number becomes limbs of 19 bits below the largest of its column.

Sums of up to 8,192 products of limbs, or of products of two limbs' sums, are whole numbers up to 2⁵³: products of
matrices in float64 are exact, however the processor orders them. Nearly all float32 numbers of a column fit into two
limbs; the few rows that have more are multiplied again.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engram.estimator.fixed_point import NumpyArray

GROUP = 8192  # rows: 13 bits of a sum
BLOCK = 1024  # rows that the processor's cache holds
LIMB = 19  # bits: twice 19, and 2 of the sum of two limbs, squared, are 40


class Group:
    """At most `GROUP` rows: `squares` are the parts of Σ x xᵀ, `totals` those of Σ x for each class of 0 … classes − 1;
    each with the number of limbs that it lies below the exponents of the columns."""

    def __init__(self, x: NumpyArray, y: NumpyArray, classes: int):
        self.exponents = np.frexp(np.maximum(x.max(axis=0), -x.min(axis=0)).astype(float))[1].astype(np.int64)
        self._factors = np.ldexp(1.0, LIMB - self.exponents)
        self._rest, self._limbs = np.empty((min(len(x), BLOCK), x.shape[1])), list[NumpyArray]()
        self._squares: dict[tuple[int, int], NumpyArray] = {}
        self._totals: list[NumpyArray] = []
        self._own: list[NumpyArray] = []  # of the block's limbs so far, each multiplied with itself
        self._classes = classes
        for at in range(0, len(x), BLOCK):
            self._take(x[at : at + BLOCK], y[at : at + BLOCK])

    def squares(self) -> Iterator[tuple[NumpyArray, int]]:
        for (one, other), products in self._squares.items():
            yield products, one + other + 2

    def totals(self) -> Iterator[tuple[NumpyArray, int]]:
        for limb, total in enumerate(self._totals):
            yield total, limb + 1

    def _take(self, x: NumpyArray, y: NumpyArray) -> None:
        limbs, order = self._split(x), np.argsort(y, kind="stable")
        present, starts = np.unique(y[order], return_index=True)
        for k, limb in enumerate(limbs):
            if k == len(self._totals):
                self._totals.append(np.zeros((self._classes, x.shape[1])))
            self._totals[k][present] += np.add.reduceat(limb[order], starts, axis=0)
            self._multiply(limbs, k)

    def _split(self, x: NumpyArray) -> list[NumpyArray]:
        """They lie in memory that is used again: to ask the system for it would take most of the time."""
        rest, count = np.multiply(x, self._factors, out=self._rest[: len(x)]), 0
        while not count or rest.any():
            if count == len(self._limbs):
                self._limbs.append(np.empty_like(self._rest))
            limb = np.rint(rest, out=self._limbs[count][: len(x)])
            rest -= limb
            rest *= 1 << LIMB
            count += 1
        return [limb[: len(x)] for limb in self._limbs[:count]]

    def _multiply(self, limbs: list[NumpyArray], k: int) -> None:
        """The products of a limb with itself and with those before it. A symmetric product takes half the time of
        another: ab + ba is (a + b)² − a² − b², where nearly all rows have both."""
        limb, squares = limbs[k], self._own
        some = np.flatnonzero(limb.any(axis=1)) if k else np.arange(len(limb))
        if 2 * len(some) < len(limb):
            limb, limbs = limb[some], [other[some] for other in limbs[:k]]
            squares = [other.T @ other for other in limbs]
        own = limb.T @ limb
        self._own = [*self._own[:k], own]
        self._add(k, k, own)
        for earlier, other in enumerate(limbs[:k]):
            both = other + limb
            self._add(earlier, k, both.T @ both - squares[earlier] - own)

    def _add(self, one: int, other: int, products: NumpyArray) -> None:
        before = self._squares.get((one, other))
        self._squares[one, other] = products if before is None else before + products
