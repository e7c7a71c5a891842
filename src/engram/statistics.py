"""Whether a difference is one: pure functions of numbers that come in pairs.

With the same seed two methods are given the same stream and begin alike, so they are compared seed by seed: the mean of
the differences, its 95 % interval and the p-value are those of a paired t test. Whoever picks the best of several rows
has looked at every pair of them, so p-values are corrected over all these pairs (Holm 1979): where there is no
difference at all, the chance of finding one anywhere is at most 5 %, as far as differences are about normal.

    >>> found = paired({0: 0.80, 1: 0.82, 2: 0.84}, {0: 0.70, 1: 0.75, 2: 0.71})
    >>> found.n, round(found.mean, 3), round(found.low, 3), round(found.high, 3), round(found.p, 3)
    (3, 0.1, 0.025, 0.175, 0.029)
    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

LEVEL = 0.05  # of false alarms, over all pairs together
FEWEST = 3  # pairs: of two differences next to nothing is known about how much they vary
ROUNDING = 1e-12  # values of accuracies that differ by less were counted alike

DIFFERENT = "different"
NOT_TOLD_APART = "not told apart"
TOO_FEW = "n too small to tell"
SAME = "the same at every seed"
SHIFTED = "differs by the same at every seed"
NOT_DONE = "not done"

BySeed = Mapping[int, float]  # what was measured, by seed


@dataclass(frozen=True)
class Paired:
    """The differences first − second over the `n` seeds that both have: their mean and its 95 % interval, and the
    p-value of a paired t test. Where these are too few, or do not vary, there is no interval and no p."""

    n: int
    mean: float
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan


@dataclass(frozen=True)
class Difference(Paired):
    """Between two of several rows, by their labels. `corrected` is p over all pairs that were looked at."""

    first: str = ""
    second: str = ""
    corrected: float = math.nan
    done: bool = True  # whether both rows have a seed that is finished

    @property
    def verdict(self) -> str:
        if self.n < FEWEST:
            return TOO_FEW if self.done else NOT_DONE
        if math.isnan(self.p):
            return SAME if abs(self.mean) <= ROUNDING else SHIFTED
        return DIFFERENT if self.corrected <= LEVEL else NOT_TOLD_APART


def paired(first: BySeed, second: BySeed) -> Paired:
    """Two rows, seed by seed; a seed that one of them lacks, or has no number for, is no pair."""
    from scipy.special import stdtr, stdtrit

    seeds = [seed for seed in first if seed in second and math.isfinite(first[seed]) and math.isfinite(second[seed])]
    differences = [first[seed] - second[seed] for seed in seeds]
    n = len(differences)
    mean = math.fsum(differences) / n if n else math.nan
    if n < FEWEST or not _vary(differences):
        return Paired(n, mean)
    variance = math.fsum((difference - mean) ** 2 for difference in differences) / (n - 1)
    error = math.sqrt(variance / n)
    half = float(stdtrit(n - 1, 1 - LEVEL / 2)) * error
    return Paired(n, mean, mean - half, mean + half, 2 * float(stdtr(n - 1, -abs(mean) / error)))


def _vary(differences: Sequence[float]) -> bool:
    return max(differences) - min(differences) > ROUNDING * max(1.0, *map(abs, differences))


def holm(values: Sequence[float]) -> list[float]:
    """P-values corrected over all of them: the smallest times their number, the next times one less, and so on, none
    below a smaller one. One that is nan was looked for too: it counts, and stays nan."""
    order = sorted(range(len(values)), key=lambda place: (math.isnan(values[place]), values[place]))
    corrected, so_far = [math.nan] * len(values), 0.0
    for rank, place in enumerate(order):
        if not math.isnan(values[place]):
            so_far = max(so_far, min((len(values) - rank) * values[place], 1.0))
            corrected[place] = so_far
    return corrected


def differences(rows: Mapping[str, BySeed], pairs: Sequence[tuple[str, str]]) -> list[Difference]:
    """Every pair of rows that was looked at, by their labels, with p corrected over these pairs."""
    found = [paired(rows[first], rows[second]) for first, second in pairs]
    corrected = holm([each.p for each in found])
    return [
        Difference(**vars(each), first=first, second=second, corrected=p, done=bool(rows[first] and rows[second]))
        for each, (first, second), p in zip(found, pairs, corrected, strict=True)
    ]
