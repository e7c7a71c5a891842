"""How much features repeat each other: symmetric uncertainty and the fast correlation based filter (FCBF).

Yu and Liu 2003; Kemker et al. 2018, equations 5 to 8. Features are cut into levels first. Of two variables

    SU(X, Y) = 2 IG(X | Y) / (H(X) + H(Y)),    IG(X | Y) = H(X) + H(Y) − H(X, Y)    (entropies in bits)

is 1 where one tells the other and 0 where neither says anything about the other. The filter takes features in the order
of what they tell about the class, and drops each that an earlier one tells more about than it tells about the class.

All joint histograms of two blocks of features are one product of matrices of zeros and ones.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from engram import memory
from engram.errors import BadData, BadSetting, UnknownName

if TYPE_CHECKING:
    from torch import Tensor

    from engram.core import Dataset

CUTS = ("frequency", "width")
BINS = 10
_MOST_BINS = 256
_FEATURES = 128  # in a block: a product of two blocks keeps a core busy, and its counts fit into its caches
_SAMPLES = 2048
_DIGITS = 12  # what is equal but for rounding is equal: a copy of the class is removed, whatever the order of sums
_CONSTANT = 1e-9  # bits: two constants have as much by rounding, one sample of a million that differs has 2e-5


@dataclass(frozen=True)
class Redundancy:
    """`matrix[f, g]` and `relevance[f]` (to the class) are symmetric uncertainties; `kept` are the features that are
    not redundant, the most relevant first."""

    dataset: str
    cut: str
    bins: int
    delta: float
    matrix: np.ndarray
    relevance: np.ndarray
    kept: tuple[int, ...]

    @property
    def features(self) -> int:
        return len(self.relevance)

    def sentence(self) -> str:
        bins = f"{self.bins} bins of equal {self.cut}"
        count = f"{len(self.kept)} of {self.features} features ({100 * len(self.kept) / self.features:.1f} %)"
        return f"{self.dataset}: {count} are not redundant by FCBF ({bins}, delta {self.delta:g})"

    def to_json(self) -> dict[str, Any]:
        """Everything but the matrix, of which the mean beside the diagonal."""
        off = self.matrix.sum() - np.trace(self.matrix)
        return {
            "dataset": self.dataset,
            "cut": self.cut,
            "bins": self.bins,
            "delta": self.delta,
            "features": self.features,
            "non_redundant": len(self.kept),
            "percentage": 100 * len(self.kept) / self.features,
            "kept": list(self.kept),
            "relevance": self.relevance.tolist(),
            "mean_uncertainty": float(off / max(self.features * (self.features - 1), 1)),
        }


def of_dataset(
    dataset: Dataset,
    bins: int = BINS,
    delta: float = 0.0,
    cut: str = "frequency",
    told: Callable[[float], None] | None = None,
) -> Redundancy:
    """The redundancy of a dataset's training samples; `told` hears which share of the work is done."""
    x, y = dataset.x_train.flatten(1).numpy(), dataset.y_train.numpy()
    _check(dataset.name, x, y, bins, delta)
    levels = discretise(x, bins, cut)
    matrix = symmetric_uncertainty(levels, told=told)
    relevance = symmetric_uncertainty(levels, y[:, None])[:, 0]
    kept = fcbf(matrix, relevance, delta)
    return Redundancy(dataset.name, cut, bins, delta, matrix, relevance, kept)


def _check(name: str, x: np.ndarray, y: np.ndarray, bins: int, delta: float) -> None:
    if not 2 <= bins <= _MOST_BINS:
        raise BadSetting(f"bins={bins} is out of range; choose from 2 to {_MOST_BINS}")
    if not 0 <= delta < 1:
        raise BadSetting(f"delta={delta:g} is out of range; choose from 0 to less than 1")
    if len(np.unique(y)) < 2:
        raise BadData(f"all {len(y)} training samples of {name} are of one class; nothing can be relevant to it")
    if not np.isfinite(x).all():
        raise BadData(f"{name} has samples that are not finite; leave them out or fill them in")
    memory.require(
        x.size + 16 * x.shape[1] ** 2, f"the redundancy of {x.shape[1]} features", "give it fewer features or samples"
    )


def discretise(x: np.ndarray, bins: int = BINS, cut: str = "frequency") -> np.ndarray:
    """Samples × features as levels 0, 1, … of every feature, none of them empty.

    `frequency`: as many samples in each of `bins` as equal values allow, which are never parted. `width`: `bins` equal
    steps from the smallest to the largest value of all features; 2 is a threshold.

    >>> discretise(np.array([[0.0], [0.1], [0.2], [9.0]]), bins=2).T
    array([[0, 0, 1, 1]], dtype=uint8)
    >>> discretise(np.array([[0.0], [0.1], [0.2], [9.0]]), bins=2, cut="width").T
    array([[0, 0, 0, 1]], dtype=uint8)
    """
    if cut not in CUTS:
        raise UnknownName("cut called", cut, CUTS)
    low, high = float(x.min()), float(x.max())
    columns = np.empty(x.shape, np.uint8)
    for feature in range(x.shape[1]):
        values, inverse, counts = np.unique(x[:, feature], return_inverse=True, return_counts=True)
        if cut == "frequency":
            share = (np.cumsum(counts) - counts / 2) / len(x)  # the middle of the ranks that a value takes
        else:
            share = (values.astype(float) - low) / max(high - low, np.finfo(float).tiny)
        levels = np.minimum(np.floor(bins * share), bins - 1)
        columns[:, feature] = np.cumsum(np.diff(levels, prepend=levels[0]) > 0)[inverse]
    return columns


def symmetric_uncertainty(
    left: np.ndarray, right: np.ndarray | None = None, told: Callable[[float], None] | None = None
) -> np.ndarray:
    """SU of every column of `left` with every column of `right` (without it: with each other), which are levels.

    >>> x, y = np.array([[0], [0], [1], [1]]), np.array([[0], [0], [0], [1]])
    >>> symmetric_uncertainty(x, y).round(5)
    array([[0.34371]])
    """
    other = left if right is None else right
    result = np.zeros((left.shape[1], other.shape[1]))
    rows, columns = _blocks(left.shape[1]), _blocks(other.shape[1])
    pairs = [(r, c) for r in rows for c in columns if right is not None or c.start >= r.start]
    for count, (r, c) in enumerate(pairs, 1):
        result[r, c] = _uncertainty(left[:, r], other[:, c])
        if told is not None:
            told(count / len(pairs))
    if right is None:
        upper = np.triu(result)
        result = upper + np.triu(upper, 1).T
    return result


def _blocks(count: int) -> list[slice]:
    return [slice(start, min(start + _FEATURES, count)) for start in range(0, count, _FEATURES)]


def _uncertainty(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    own, others = _Columns(left), _Columns(right)
    products = (a.T @ b for a, b in zip(own.indicators(), others.indicators(), strict=True))
    counts = reduce(operator.add, products)
    single = own.entropies(), others.entropies()
    joint = _entropy(others.summed(own.summed(_n_log_n(counts)).T).T, len(left))
    both = single[0][:, None] + single[1]
    gain = both - joint
    known = both > _CONSTANT
    found = known * 2 * gain / both.where(known, both.new_ones(()))
    return found.numpy().round(_DIGITS).clip(0, 1)


class _Columns:
    """Some features as zeros and ones: a column for each level of each."""

    def __init__(self, levels: np.ndarray):
        import torch

        self.levels = torch.from_numpy(levels.astype(np.int64))
        sizes = self.levels.amax(0) + 1
        self.offsets = sizes.cumsum(0) - sizes
        self.width = int(sizes.sum())
        self.feature = torch.arange(len(sizes)).repeat_interleave(sizes)

    def indicators(self) -> Iterator[Tensor]:
        """Chunks of samples; sums of up to 2²⁴ zeros and ones are exact."""
        import torch

        for chunk in self.levels.split(_SAMPLES):
            yield torch.zeros(len(chunk), self.width).scatter_(1, chunk + self.offsets, 1.0)

    def summed(self, values: Tensor) -> Tensor:
        """Rows that belong to one feature, added up."""
        return values.new_zeros(len(self.offsets), *values.shape[1:]).index_add_(0, self.feature, values)

    def entropies(self) -> Tensor:
        counts = (self.levels + self.offsets).flatten().bincount(minlength=self.width)
        return _entropy(self.summed(_n_log_n(counts)), len(self.levels))


def _n_log_n(counts: Tensor) -> Tensor:
    import torch

    exact = counts.double()
    return torch.xlogy(exact, exact)


def _entropy(sums: Tensor, samples: int) -> Tensor:
    """In bits, from the sums of n log n over the cells of a histogram."""
    return (np.log(samples) - sums / samples) / np.log(2)


def fcbf(matrix: np.ndarray, relevance: np.ndarray, delta: float = 0.0) -> tuple[int, ...]:
    """The features that are kept, the most relevant first; of equally relevant ones the first is first.

    >>> fcbf(np.array([[1, 1, 0.1], [1, 1, 0.1], [0.1, 0.1, 1]]), np.array([0.3, 0.3, 0.2]))
    (0, 2)
    """
    waiting = [int(f) for f in np.argsort(-relevance, kind="stable") if relevance[f] > delta]
    kept = []
    while waiting:
        best, *others = waiting
        kept.append(best)
        waiting = [g for g in others if matrix[best, g] < relevance[g]]
    return tuple(kept)
