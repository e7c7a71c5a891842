"""A mind that is sums over rows, solved when it is first asked: see `sums.py` and `closed_forms.py`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from engram import memory
from engram.errors import BadInput
from engram.estimator.closed_forms import CLOSED_FORMS, Scores
from engram.estimator.features import Waves
from engram.estimator.fixed_point import NumpyArray
from engram.estimator.limbs import GROUP
from engram.estimator.mind import Mind
from engram.estimator.moments import Moments
from engram.estimator.sums import Sums
from engram.transform import under

AT_ONCE = 1 << 18  # scores that are computed at a time


class ClosedMind(Mind):
    """`ridge` or `slda`. One partial_fit or a hundred, in any order: the same bits."""

    def __init__(self, learner: str, settings: Mapping[str, Any], sums: Sums, waves: Waves | None = None):
        self.learner, self.settings = learner, dict(settings)
        self.form = CLOSED_FORMS[learner](**settings)
        self.sums, self.waves = sums, waves

    @staticmethod
    def fresh(learner: str, settings: Mapping[str, Any], x: NumpyArray, seed: int) -> ClosedMind:
        """Before it learns these rows, to which random features are fitted."""
        count = CLOSED_FORMS[learner](**settings).features
        width = count or x[0].size
        memory.require(8 * 5 * width * width, f"learner '{learner}' on {width} numbers a row", "give it fewer of them")
        return ClosedMind(learner, settings, Sums(width), Waves.fitted(count, x, seed) if count else None)

    def learned(self, x: NumpyArray, y: NumpyArray, places: NumpyArray) -> ClosedMind:
        sums = self.sums.copy()
        sums.order(places)
        self._add(sums, x, y, 1)
        return ClosedMind(self.learner, self.settings, sums, self.waves)

    def _add(self, sums: Sums, x: NumpyArray, y: NumpyArray, sign: int) -> None:
        for at in range(0, len(x), GROUP):
            sums.add(self._features(x[at : at + GROUP]), y[at : at + GROUP], sign)

    def _features(self, x: NumpyArray) -> NumpyArray:
        return x.reshape(len(x), -1) if self.waves is None else self.waves(x)

    def forgotten(self, x: NumpyArray, y: NumpyArray) -> ClosedMind:
        """Classes of which no row is left are gone."""
        sums = self.sums.copy()
        self._add(sums, x, y, -1)
        kept = np.flatnonzero(sums.counts)
        if sums.totals.tidy().digits[:, sums.counts == 0].any():
            raise BadInput(
                "these rows are not those that were learned of their classes; give them exactly as they were"
            )
        if not len(kept):
            raise BadInput("these are all rows that were ever learned; begin anew instead of forgetting them")
        if (np.diag(sums.squares.pair()[0]) < 0).any():
            raise BadInput("these rows are not among those that were learned; give them exactly as they were")
        sums.order(kept)
        return ClosedMind(self.learner, self.settings, sums, self.waves)

    @cached_property
    def scores(self) -> Scores:
        return self.form.solve(Moments.of(self.sums))

    @property
    def chosen(self) -> Mapping[str, float]:  # type: ignore[override]
        return self.scores.chosen

    def probabilities(self, x: NumpyArray) -> NumpyArray:
        return np.concatenate([self.form.probabilities(scores) for scores in self._scores(x)])

    def answers(self, x: NumpyArray) -> NumpyArray:
        return np.concatenate([scores.argmax(axis=1) for scores in self._scores(x)])

    def _scores(self, x: NumpyArray) -> Iterator[NumpyArray]:
        rows = max(1, AT_ONCE // max(len(self.sums.counts), self.sums.width))
        for at in range(0, len(x), rows):
            yield self.scores.of(self._features(x[at : at + rows]))

    def ready(self) -> None:
        _ = self.scores

    def tensors(self) -> dict[str, NumpyArray]:
        """With the solution, if there is one yet: another machine would find it with other last bits."""
        solved = self.scores.tensors() if "scores" in vars(self) else {}
        return {**self.sums.tensors(), **{f"scores.{name}": values for name, values in solved.items()}}

    def plain(self) -> dict[str, Any]:
        chosen = self.scores.chosen if "scores" in vars(self) else {}
        waves = None if self.waves is None else self.waves.plain()
        return {"settings": self.settings, "chosen": chosen, "waves": waves}

    @staticmethod
    def load(learner: str, tensors: Mapping[str, NumpyArray], plain: Mapping[str, Any]) -> ClosedMind:
        waves = None if plain["waves"] is None else Waves.load(plain["waves"])
        mind = ClosedMind(learner, plain["settings"], Sums.load(tensors), waves)
        solved = under("scores.", tensors)
        if solved:
            mind.scores = Scores(solved["mean"], solved["weights"], solved["offsets"], plain["chosen"])
        return mind
