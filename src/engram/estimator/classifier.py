"""`ContinualClassifier`: a scikit-learn estimator that goes on learning, classes that nobody knew of included."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from engram.errors import BadInput
from engram.estimator import columns, labels
from engram.estimator.beginning import Wanted, begin
from engram.estimator.fixed_point import NumpyArray
from engram.estimator.knowledge import Knowledge
from engram.estimator.preparation import RawRows


class ContinualClassifier(ClassifierMixin, BaseEstimator):
    """A classifier for data that keeps arriving.

    `learner` is "auto" (see `choice_` for what was taken and why), "ridge" or "slda" (exact sums, see `forget`), or any
    of Engram's learners that need not be told the task. `memory` is the room for kept samples (bytes, or "10MB"),
    `network` the network of learners that have one, `settings` are those of the learner and of its network.

    >>> model = ContinualClassifier("slda").partial_fit([[0.0], [1.0], [0.2]], ["ash", "oak", "ash"])
    >>> model.partial_fit([[5.0], [5.5]], ["elm", "elm"]).predict([[0.1], [5.2]]).tolist()
    ['ash', 'elm']
    """

    _knowledge: Knowledge | None = None
    _before: Knowledge | None = None
    _notes: Mapping[str, Any] = {}  # plain JSON that its file keeps: how files are read for it, what tests came to
    _file: tuple[str, str | None] | None = None  # where it was last loaded from or saved to, and with which content

    def __init__(
        self,
        learner: str = "auto",
        memory: int | str | None = None,
        network: str | None = None,
        seed: int = 0,
        **settings: Any,
    ):
        self.learner = learner
        self.memory = memory
        self.network = network
        self.seed = seed
        self._settings = settings  # each is a parameter, by its own name

    # Parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The named parameters and the settings that were given."""
        return super().get_params(deep) | self._settings

    def set_params(self, **params: Any) -> ContinualClassifier:
        """Settings may be new ones: whether the learner has them is seen when it begins."""
        named = self._get_param_names()
        self._settings = self._settings | {name: value for name, value in params.items() if name not in named}
        return super().set_params(**{name: value for name, value in params.items() if name in named})

    # Learning

    def fit(self, X: Any, y: Any) -> ContinualClassifier:
        """Begin anew with these rows."""
        return self._all_or_nothing(lambda: self._learn(X, y, anew=True))

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> ContinualClassifier:
        """Learn these rows too: a session. Labels need not be known before; `classes` is accepted and not needed."""
        return self._all_or_nothing(lambda: self._learn(X, y, anew=self._knowledge is None))

    def forget(self, X: Any, y: Any) -> ContinualClassifier:
        """Make it, to the bit, what it would be without these rows, which it has learned; `ridge` and `slda` can.

        What the first session decided about tables and for random features (medians, categories, scale) stays.
        """
        return self._all_or_nothing(lambda: self._forget(X, y))

    def undo(self) -> ContinualClassifier:
        """Back to before the last session: one step."""
        check_is_fitted(self)
        if self._before is None:
            raise BadInput("there is no session to undo: only the last one can be, and only once")
        self._know(self._before, None)
        return self

    def previous(self) -> ContinualClassifier | None:
        """The classifier as it was before the last session, where that is known: `undo` makes this one that."""
        check_is_fitted(self)
        return None if self._before is None else self._remade(self._described(), self._before, None)

    def _learn(self, X: Any, y: Any, anew: bool) -> None:
        started = time.perf_counter()
        rows = self._read(X, reset=anew)
        found = labels.read(y, _count(rows))
        before = None if anew else self._knowledge
        wanted = Wanted(self.learner, self.memory, self.network, self.seed, self._settings)
        known = before or begin(rows, len(np.unique(found)), wanted)
        after = known.learned(known.preparation(rows), found, _session("learn", len(found)))
        after.history[-1]["seconds"] = round(time.perf_counter() - started, 3)
        self._know(after, before)

    def _forget(self, X: Any, y: Any) -> None:
        check_is_fitted(self)
        rows, known = self._read(X, reset=False), self._known()
        found = labels.read(y, _count(rows))
        self._know(known.forgotten(known.preparation(rows), found, _session("forget", len(found))), known)

    def _know(self, known: Knowledge, before: Knowledge | None) -> None:
        self._knowledge, self._before = known, before
        self.classes_ = known.labels.classes

    def _known(self) -> Knowledge:
        check_is_fitted(self)
        return self._knowledge  # type: ignore[return-value]

    def _all_or_nothing(self, change: Callable[[], None]) -> ContinualClassifier:
        before = dict(vars(self))
        try:
            change()
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    # Answering

    def predict(self, X: Any) -> NumpyArray:
        """The likeliest class of each row."""
        known = self._known()
        return self.classes_[known.mind.answers(known.preparation(self._read(X, reset=False)))]

    def predict_proba(self, X: Any) -> NumpyArray:
        """A row for each row, a column for each of `classes_`."""
        known = self._known()
        return known.mind.probabilities(known.preparation(self._read(X, reset=False)))

    # What is known

    def __sklearn_is_fitted__(self) -> bool:
        return self._knowledge is not None

    @property
    def choice_(self) -> dict[str, Any]:
        """The learner that was taken, its settings, the reason, and what it chose itself."""
        known = self._known()
        return {**known.choice, "chosen": dict(known.mind.chosen)}

    @property
    def counts_(self) -> NumpyArray:
        """Rows learned of each of `classes_`."""
        return self._known().counts

    @property
    def history_(self) -> list[dict[str, Any]]:
        """A line for each session: when, how many rows, which classes were new."""
        return [dict(session) for session in self._known().history]

    # As a file

    def save(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Write it to one file, whole or not at all; `engram.load` goes on from there."""
        from engram.estimator.model_file import save

        save(self, path, overwrite)

    def _described(self) -> dict[str, Any]:
        """What is in the file beside what it knows, as plain JSON."""
        names = getattr(self, "feature_names_in_", None)
        return {
            "parameters": self.get_params(),
            "features": self.n_features_in_,
            "names": None if names is None else names.tolist(),
            "notes": dict(self._notes),
        }

    @classmethod
    def _remade(cls, plain: Mapping[str, Any], known: Knowledge, before: Knowledge | None) -> ContinualClassifier:
        model = cls(**plain["parameters"])
        model.n_features_in_ = plain["features"]
        if plain["names"] is not None:
            model.feature_names_in_ = np.array(plain["names"], dtype=object)
        model._notes = plain.get("notes", {})
        model._know(known, before)
        return model

    # Reading

    def _read(self, X: Any, reset: bool) -> RawRows:
        """Rows as numbers or columns, with as many features, of the same names, as the first session's."""
        if isinstance(X, Mapping) and not hasattr(X, "shape"):  # some sparse matrices are mappings
            return self._read_by_name(X, reset)
        if columns.is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return columns.read(X)
        rows = check_array(X, dtype="numeric", allow_nd=True, ensure_all_finite=False, input_name="X", estimator=self)
        if rows.ndim == 2:
            validate_data(self, X if hasattr(X, "columns") else rows, reset=reset, skip_check_array=True)
        elif reset:
            self.n_features_in_ = int(np.prod(rows.shape[1:]))
        shape = rows.shape[1:]
        if not reset and shape != self._known().preparation.shape:
            raise BadInput(
                f"rows have the shape {shape} and had {self._known().preparation.shape} in the first session"
            )
        return rows

    def _read_by_name(self, X: Mapping[str, Any], reset: bool) -> RawRows:
        """A table without pandas or polars: {name: values}, its columns in any order."""
        if reset:
            self.feature_names_in_, self.n_features_in_ = np.array(list(X), dtype=object), len(X)
        elif not hasattr(self, "feature_names_in_"):
            raise BadInput("the first session was an array, whose columns have no names; give arrays from now on")
        return columns.by_name(X, list(self.feature_names_in_))


def _count(rows: RawRows) -> int:
    return len(rows[0].values) if isinstance(rows, list) else len(rows)


def _session(kind: str, rows: int) -> dict[str, Any]:
    return {"kind": kind, "when": datetime.now(timezone.utc).isoformat(timespec="seconds"), "rows": rows}
