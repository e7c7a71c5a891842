"""All that a classifier knows between two sessions, as one value that never changes: a session makes a new one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from engram.estimator.closed_forms import CLOSED_FORMS
from engram.estimator.closed_mind import ClosedMind
from engram.estimator.fixed_point import NumpyArray
from engram.estimator.labels import Labels
from engram.estimator.mind import Mind
from engram.estimator.preparation import Preparation
from engram.transform import under

Session = dict[str, Any]


@dataclass(frozen=True)
class Knowledge:
    """`counts` are the rows learned of each class; `history` has a line of plain JSON for each session; `choice` says
    which learner was taken, with its settings, and why."""

    preparation: Preparation
    mind: Mind
    choice: dict[str, Any]
    labels: Labels = field(default_factory=Labels)
    counts: NumpyArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    history: tuple[Session, ...] = ()

    def learned(self, x: NumpyArray, y: NumpyArray, session: Session) -> Knowledge:
        """After rows that are prepared, with their labels."""
        labels, places = self.labels.with_those_of(y)
        numbers = labels.numbers(y)
        before = np.where(places >= 0, self.counts[places] if len(self.counts) else 0, 0)
        return replace(
            self,
            mind=self.mind.learned(x, numbers, places),
            labels=labels,
            counts=before + np.bincount(numbers, minlength=len(places)),
            history=(*self.history, {**session, "new": labels.classes[places < 0].tolist()}),
        )

    def forgotten(self, x: NumpyArray, y: NumpyArray, session: Session) -> Knowledge:
        """As if these rows had never come."""
        self.labels.require(y)
        numbers = self.labels.numbers(y)
        mind = self.mind.forgotten(x, numbers)
        counts = self.counts - np.bincount(numbers, minlength=len(self.counts))
        kept = np.flatnonzero(counts)
        gone = self.labels.classes[counts == 0].tolist()
        return replace(
            self,
            mind=mind,
            labels=self.labels.only(kept),
            counts=counts[kept],
            history=(*self.history, {**session, "gone": gone}),
        )

    def tensors(self) -> dict[str, NumpyArray]:
        """All its arrays, for a file."""
        prepared = {f"preparation.{name}": values for name, values in self.preparation.tensors().items()}
        return {**prepared, "counts": self.counts, **{f"mind.{n}": v for n, v in self.mind.tensors().items()}}

    def plain(self) -> dict[str, Any]:
        """The rest of it, as plain JSON."""
        return {
            "preparation": self.preparation.plain(),
            "mind": self.mind.plain(),
            "choice": self.choice,
            "labels": self.labels.plain(),
            "history": list(self.history),
        }

    @staticmethod
    def load(tensors: Mapping[str, NumpyArray], plain: Mapping[str, Any], path: Path) -> Knowledge:
        """What `tensors` and `plain` were of, read from this path."""
        return Knowledge(
            Preparation.load(under("preparation.", tensors), plain["preparation"]),
            _mind(plain["choice"]["learner"], under("mind.", tensors), plain["mind"], path),
            plain["choice"],
            Labels.load(plain["labels"]),
            tensors["counts"],
            tuple(plain["history"]),
        )


def _mind(learner: str, tensors: dict[str, NumpyArray], plain: Mapping[str, Any], path: Path) -> Mind:
    if learner in CLOSED_FORMS:
        return ClosedMind.load(learner, tensors, plain)
    from engram.estimator.network_mind import NetworkMind

    return NetworkMind.load(tensors, plain, path)
