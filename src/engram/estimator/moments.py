"""What the closed forms need of the sums: means, covariance and correlation, without the loss of digits that comes of
subtracting two large numbers (years, prices, time stamps vary little around a large mean)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engram.estimator.fixed_point import NumpyArray, two_product, two_sum
from engram.estimator.sums import Sums

CONSTANT = 1e-14  # share of its mean square below which a column's variance is rounding


@dataclass(frozen=True)
class Moments:
    """Of all rows: their number, the share of each class, means, deviations (1 for a constant column, which is left at
    0) and correlations; `apart` are the classes' means less the mean of all, in deviations, a row for each class."""

    count: int
    shares: NumpyArray
    mean: NumpyArray
    deviation: NumpyArray
    correlation: NumpyArray
    apart: NumpyArray

    @staticmethod
    def of(sums: Sums) -> Moments:
        """Of sums of classes that each have a row or more."""
        count = int(sums.counts.sum())
        totals = sums.totals.pair()
        each = sums.counts.astype(float)[:, None]
        whole = _added_up(totals)
        mean = (whole[0] + whole[1]) / count
        apart = _minus(_times(totals, float(count)), _times(whole, each)) / (each * count)
        squares = _times(sums.squares.pair(), float(count))
        covariance = _minus(squares, _outer(whole)) / (float(count) * count)
        variance = covariance.diagonal().copy()
        varies = variance > CONSTANT * (variance + mean**2)
        deviation = np.sqrt(np.where(varies, variance, 1.0))
        correlation = np.where(varies[:, None] & varies, covariance / deviation / deviation[:, None], 0.0)
        apart = np.where(varies, apart / deviation, 0.0)
        return Moments(count, each[:, 0] / count, mean, deviation, (correlation + correlation.T) / 2, apart)

    def within(self) -> NumpyArray:
        """The covariance around the classes' own means, in deviations."""
        between = (self.apart * self.shares[:, None]).T @ self.apart
        return self.correlation - (between + between.T) / 2


TwoParts = tuple[NumpyArray, NumpyArray]  # two float64 that are added


def _added_up(rows: TwoParts) -> TwoParts:
    """The sum over rows, in their order."""
    high, low = np.zeros(rows[0].shape[1]), np.zeros(rows[0].shape[1])
    for one, rest in zip(*rows):
        high, left = two_sum(high, one)
        low = low + (left + rest)
    return two_sum(high, low)


def _times(pair: TwoParts, factor: NumpyArray | float) -> TwoParts:
    high, left = two_product(pair[0], np.asarray(factor))
    return two_sum(high, left + pair[1] * factor)


def _outer(pair: TwoParts) -> TwoParts:
    high, left = two_product(pair[0][:, None], pair[0][None, :])
    cross = pair[0][:, None] * pair[1][None, :]
    return two_sum(high, left + (cross + cross.T))


def _minus(one: TwoParts, other: TwoParts) -> NumpyArray:
    high, left = two_sum(one[0], -other[0])
    return high + (left + (one[1] - other[1]))
