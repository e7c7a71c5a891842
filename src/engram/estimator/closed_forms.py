"""Classifiers that are solved from sums: what they are is a function of the set of rows that they learned.

That holds for what they choose too. The penalty of `ridge` is the one with the least generalised cross-validation error
(Golub, Heath and Wahba 1979), the shrinkage of `slda` that of Chen, Wiesel, Eldar and Hero 2010 (OAS): both follow from
the sums, so nothing was decided by the rows that happened to come first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import linalg

from engram.estimator.fixed_point import NumpyArray
from engram.estimator.moments import Moments
from engram.settings import apply, declared, resolve, setting

PENALTIES = np.logspace(-6, 2, 33)  # shares of a feature's variance
FEATURES = setting(
    0, "random features made of the numbers of a row, which the first session scales; 0: the numbers", at_least=0
)


@dataclass(frozen=True)
class Scores:
    """(x − mean) @ weights + offsets, a column for each class; `chosen` is what followed from the sums."""

    mean: NumpyArray
    weights: NumpyArray
    offsets: NumpyArray
    chosen: dict[str, float]

    def of(self, x: NumpyArray) -> NumpyArray:
        return (x - self.mean) @ self.weights + self.offsets

    def tensors(self) -> dict[str, NumpyArray]:
        return {"mean": self.mean, "weights": self.weights, "offsets": self.offsets}


class ClosedForm:
    """Of standardised numbers; a column that never varied has no weight."""

    name: ClassVar[str]
    features = FEATURES

    def __init__(self, **settings: Any):
        apply(self, resolve(f"learner '{self.name}'", declared(type(self)), settings))

    def solve(self, moments: Moments) -> Scores:
        raise NotImplementedError

    def probabilities(self, scores: NumpyArray) -> NumpyArray:
        raise NotImplementedError


class RidgeForm(ClosedForm):
    """Least squares on one-hot targets with a penalty on the weights."""

    name = "ridge"
    strength = setting(0.0, "penalty on the weights, as if so many rows said 0; 0: follows from the sums", at_least=0)

    def solve(self, moments: Moments) -> Scores:
        values, vectors = linalg.eigh(moments.correlation)
        values = values.clip(min=0)
        targets = vectors.T @ (moments.apart * moments.shares[:, None]).T
        penalty = self.strength / moments.count or self._least_error(moments, values, targets)
        weights = vectors @ (targets / (values + penalty)[:, None])
        chosen = {"strength": penalty * moments.count}
        return Scores(moments.mean, weights / moments.deviation[:, None], moments.shares, chosen)

    @staticmethod
    def _least_error(moments: Moments, values: NumpyArray, targets: NumpyArray) -> float:
        """Of equals the greatest."""
        spread, squares = float((moments.shares * (1 - moments.shares)).sum()), (targets**2).sum(axis=1)
        best, least = PENALTIES[-1], np.inf
        for penalty in reversed(PENALTIES):
            inverse = 1 / (values + penalty)
            missed = spread - float((squares * inverse * (2 - values * inverse)).sum())
            free = 1 - (1 + float((values * inverse).sum())) / moments.count
            if free > 0 and max(missed, 0.0) / free**2 < least:
                best, least = penalty, max(missed, 0.0) / free**2
        return float(best)

    def probabilities(self, scores: NumpyArray) -> NumpyArray:
        """The scores estimate them and sum to 1; what is below 0 counts as 0."""
        positive = scores.clip(min=0)
        return positive / positive.sum(axis=1, keepdims=True)


class SLDAForm(ClosedForm):
    """Every class a normal distribution around its mean, all with one covariance."""

    name = "slda"
    shrinkage = setting(0.0, "share of the identity in the covariance; 0: follows from the sums", at_least=0, at_most=1)
    prior = setting(
        "counts",
        "how likely classes are before a row is seen: as often as they came, or equally",
        choices=("counts", "equal"),
    )

    def solve(self, moments: Moments) -> Scores:
        within = moments.within()
        size = float(within.trace()) / len(within)
        shrinkage = self.shrinkage or _oracle_approximating(within, moments.count)
        covariance = (1 - shrinkage) * within + max(shrinkage * size, 1e-9) * np.eye(len(within))
        weights = linalg.solve(covariance, moments.apart.T, assume_a="pos")
        prior = np.log(moments.shares) if self.prior == "counts" else np.zeros(len(moments.shares))
        offsets = prior - (moments.apart.T * weights).sum(axis=0) / 2
        return Scores(moments.mean, weights / moments.deviation[:, None], offsets, {"shrinkage": shrinkage})

    def probabilities(self, scores: NumpyArray) -> NumpyArray:
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)


def _oracle_approximating(covariance: NumpyArray, count: int) -> float:
    """Equation 23 of Chen et al. 2010; 1 where all rows lie on their class's mean."""
    size = len(covariance)
    trace, squares = float(covariance.trace()), float((covariance**2).sum())
    above = (1 - 2 / size) * squares + trace**2
    below = (count + 1 - 2 / size) * (squares - trace**2 / size)
    return 1.0 if below <= 0 or trace <= 1e-12 else min(1.0, above / below)


CLOSED_FORMS: dict[str, type[ClosedForm]] = {form.name: form for form in (RidgeForm, SLDAForm)}
