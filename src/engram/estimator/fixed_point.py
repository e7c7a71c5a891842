"""Arrays of exact numbers: sums of them do not depend on the order of adding, and what was added can be taken away.

A number is Σ digit·2^(32·place), as long as it needs to be. In its tidy form every digit is from −2³¹ to 2³¹ − 1 and
the first and last places are not zero everywhere: there is one such form of every array, so equal sums are equal bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

NumpyArray = NDArray[Any]

BITS = 32
HALF = 1 << (BITS - 1)
MASK = (1 << BITS) - 1
UNTIDY = 1 << 24  # additions that int64 has room for before carries must be taken


class FixedPoint:
    """Exact numbers in an array of some shape, all zero at first."""

    def __init__(self, shape: tuple[int, ...], low: int = 0, digits: NumpyArray | None = None):
        """`digits` are those of one place after another, the least first, whose place is `low`."""
        self.low = low
        self.digits = np.zeros((0, *shape), dtype=np.int64) if digits is None else digits
        self._added = 0

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.digits.shape[1:])

    def add(self, whole: NumpyArray, exponents: NumpyArray, sign: int = 1, where: Any = slice(None)) -> None:
        """Add (or, with the sign −1, take away) whole·2^exponents, where `whole` are whole numbers below 2⁵³ in float64
        and `where` says which rows they belong to."""
        values = whole.astype(np.int64) * sign
        places, shifts = exponents >> 5, exponents & (BITS - 1)
        lower, upper = (values & MASK) << shifts, (values >> BITS) << shifts
        parts = (lower & MASK, (lower >> BITS) + (upper & MASK), upper >> BITS)
        first, last = int(places.min()), int(places.max())
        self._reach(first, last + 2)
        for place in range(first, last + 1):
            mine = places == place
            for further, part in enumerate(parts):
                self.digits[place + further - self.low, where] += part if mine.all() else np.where(mine, part, 0)
        self._added += 1
        if self._added >= UNTIDY:
            self.tidy()

    def _reach(self, first: int, last: int) -> None:
        """Make room for places."""
        if not len(self.digits):
            self.low = first
        before, after = max(self.low - first, 0), max(last + 1 - self.low - len(self.digits), 0)
        if before or after:
            widths = [(before, after), *[(0, 0)] * (self.digits.ndim - 1)]
            self.digits, self.low = np.pad(self.digits, widths), self.low - before

    def tidy(self) -> FixedPoint:
        """Bring it to the one form that its numbers have."""
        carry = np.zeros(self.shape, dtype=np.int64)
        places = []
        for digit in self.digits:
            total = digit + carry
            carry = (total + HALF) >> BITS
            places.append(total - (carry << BITS))
        while carry.any():
            total, carry = carry, (carry + HALF) >> BITS
            places.append(total - (carry << BITS))
        used = [number for number, digit in enumerate(places) if digit.any()]
        kept = places[used[0] : used[-1] + 1] if used else []
        self.low = self.low + used[0] if used else 0
        self.digits = np.stack(kept) if kept else np.zeros((0, *self.shape), dtype=np.int64)
        self._added = 0
        return self

    def pair(self) -> tuple[NumpyArray, NumpyArray]:
        """The numbers as two float64 that are added: the nearest one, nearly always, and what it leaves."""
        high, rest = np.zeros(self.shape), np.zeros(self.shape)
        tidy = self.copy().tidy()
        for number in reversed(range(len(tidy.digits))):
            high, left = two_sum(high, np.ldexp(tidy.digits[number].astype(float), BITS * (tidy.low + number)))
            rest = rest + left
        return two_sum(high, rest)

    def rows(self, order: NumpyArray) -> FixedPoint:
        """Rows in another order, where −1 is a row of zeros."""
        taken = np.where((order >= 0).reshape(-1, *[1] * (self.digits.ndim - 2)), self.digits[:, order], 0)
        return FixedPoint(self.shape, self.low, taken).tidy()

    def copy(self) -> FixedPoint:
        return FixedPoint(self.shape, self.low, self.digits.copy())


def two_sum(a: NumpyArray, b: NumpyArray) -> tuple[NumpyArray, NumpyArray]:
    """a + b as the nearest float64 and what it leaves (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: NumpyArray, b: NumpyArray) -> tuple[NumpyArray, NumpyArray]:
    """a·b as the nearest float64 and what it leaves (Dekker, with halves of 26 bits as Veltkamp makes them)."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _halves(a: NumpyArray) -> tuple[NumpyArray, NumpyArray]:
    scaled = a * 134217729.0  # 2²⁷ + 1
    high = scaled - (scaled - a)
    return high, a - high
