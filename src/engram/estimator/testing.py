"""What a test of a model says: accuracy by class, what the last session cost, what is forgotten since each session.

Of earlier sessions only the last state is kept, so what was right after each of them is known where somebody tested
with the same rows then: a few numbers of every test stay with the model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from engram.errors import BadInput
from engram.estimator.classifier import ContinualClassifier
from engram.estimator.labels import kind_of
from engram.estimator.own_files import about
from engram.readers import Sheet
from engram.readers.sheet import RowPlace

MOST_KEPT = 200  # tests


@dataclass(frozen=True)
class Examined:
    """`classes` has for every label (rows, rows answered rightly); `flips` are the rows that were right before
    the last session and are wrong now, `gains` the other way; None where there is no session before."""

    rows: int
    classes: Mapping[Any, tuple[int, int]]
    flips: tuple[int, ...] | None
    gains: tuple[int, ...] | None
    sessions: tuple[Mapping[str, Any], ...]
    unlearned: tuple[Any, ...]

    @property
    def accuracy(self) -> float:
        return sum(right for _, right in self.classes.values()) / self.rows

    def to_json(self, place: RowPlace) -> dict[str, Any]:
        """With the rows by their places."""
        return {
            "rows": self.rows,
            "accuracy": self.accuracy,
            "classes": [{"label": c, "rows": n, "accuracy": right / n} for c, (n, right) in self.classes.items()],
            "never_learned": list(self.unlearned),
            "negative_flips": None if self.flips is None else [place(row) for row in self.flips],
            "positive_flips": None if self.gains is None else [place(row) for row in self.gains],
            "sessions": [dict(line) for line in self.sessions],
        }


def examine(model: ContinualClassifier, sheet: Sheet) -> Examined:
    """Test a model with labelled rows, and keep what came of it in the model's notes."""
    y = sheet.known_labels()
    kind = model._known().labels.kind
    if kind_of(y) != kind:
        raise BadInput(f"{sheet.where}: labels of the model are {kind} and these are {kind_of(y)} (like {y[0]!r})")
    with about(sheet):
        right = model.predict(sheet.rows()) == y
        before = _right_before(model, sheet, y)
    classes = {label: (int((y == label).sum()), int(right[y == label].sum())) for label in np.unique(y).tolist()}
    earlier = _earlier(model, _digest(sheet), classes)
    _keep(model, _digest(sheet), classes)
    return Examined(
        len(y),
        classes,
        None if before is None else tuple(np.flatnonzero(before & ~right).tolist()),
        None if before is None else tuple(np.flatnonzero(~before & right).tolist()),
        tuple(earlier),
        tuple(label for label in classes if label not in set(model.classes_.tolist())),
    )


def _right_before(model: ContinualClassifier, sheet: Sheet, y: np.ndarray) -> np.ndarray | None:
    """Which rows the model before the last session got right."""
    previous = model.previous()
    return None if previous is None else np.asarray(previous.predict(sheet.rows()) == y)


def _earlier(model: ContinualClassifier, rows: str, now: Mapping[Any, tuple[int, int]]) -> list[dict[str, Any]]:
    """A line for each session: how many of these rows, of classes that were known then, were right then and are now."""
    kept = {(test["session"], test["when"]): test for test in model._notes.get("tests", ()) if test["rows"] == rows}
    lines: list[dict[str, Any]] = []
    known: set[Any] = set()
    for number, session in enumerate(model.history_, 1):
        known = (known | set(session.get("new", ()))) - set(session.get("gone", ()))
        line = {"session": number, "kind": session["kind"], "file": session.get("file"), "then": None, "now": None}
        test = kept.get((number, session["when"]))
        if test is not None and number < len(model.history_):
            then = {label: right for label, right in test["right"] if label in known}
            count = sum(now[label][0] for label in then)
            line["then"] = sum(then.values()) / count if count else None
            line["now"] = sum(now[label][1] for label in then) / count if count else None
        lines.append(line)
    return lines


def _keep(model: ContinualClassifier, rows: str, classes: Mapping[Any, tuple[int, int]]) -> None:
    """So that a later test with the same rows can say what was forgotten since."""
    session, when = len(model.history_), model.history_[-1]["when"]
    others = [t for t in model._notes.get("tests", ()) if (t["rows"], t["session"]) != (rows, session)]
    right = [[label, count] for label, (_, count) in classes.items()]
    test = {"rows": rows, "session": session, "when": when, "right": right}
    model._notes = {**model._notes, "tests": [*others, test][-MOST_KEPT:]}


def _digest(sheet: Sheet) -> str:
    """Of a sheet's labels and values: the same rows in the same order."""
    sha = hashlib.sha256(repr(sheet.known_labels().tolist()).encode())
    for name, field in sheet.columns.items():
        sha.update(f"{name} {field.kind}".encode())
        sha.update(repr(field.values.tolist()).encode() if field.values.dtype == object else field.values.tobytes())
    if sheet.x is not None:
        sha.update(np.ascontiguousarray(sheet.x).tobytes())
    return sha.hexdigest()[:16]
