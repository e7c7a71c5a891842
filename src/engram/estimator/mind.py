"""What learns behind a `ContinualClassifier`. A mind never changes: learning makes another one, so that a session that
fails leaves the classifier as it was, and one can go back to before a session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engram.errors import BadSetting
from engram.estimator.fixed_point import NumpyArray


class Mind:
    """Rows are float32; classes are numbers in the sorted order of their labels."""

    learner: str  # its name
    settings: Mapping[str, Any]
    chosen: Mapping[str, float] = {}  # what it decided itself

    def learned(self, x: NumpyArray, y: NumpyArray, places: NumpyArray) -> Mind:
        """One that has learned these rows too; `places` says where each class stood before, −1 of a new one."""
        raise NotImplementedError

    def forgotten(self, x: NumpyArray, y: NumpyArray) -> Mind:
        """One that never saw these rows, where that is possible."""
        from engram.estimator.closed_forms import CLOSED_FORMS

        can = " or ".join(f"learner='{name}'" for name in CLOSED_FORMS)
        raise BadSetting(
            f"learner '{self.learner}' cannot forget rows: what they taught it cannot be told apart from the rest; "
            f"use {can}, or train it again without them"
        )

    def probabilities(self, x: NumpyArray) -> NumpyArray:
        """A row each, a column for each class."""
        raise NotImplementedError

    def answers(self, x: NumpyArray) -> NumpyArray:
        """The likeliest class of each row."""
        return self.probabilities(x).argmax(axis=1)

    def ready(self) -> None:
        """Do what is left to do before the first answer."""

    def tensors(self) -> dict[str, NumpyArray]:
        """Arrays from which, with `plain`, `load` of its class makes it again."""
        raise NotImplementedError

    def plain(self) -> dict[str, Any]:
        """Plain JSON."""
        raise NotImplementedError
