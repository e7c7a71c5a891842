"""Labels as people have them (text, whole numbers, true or false) and the classes that they name, in sorted order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engram.errors import BadInput
from engram.estimator.fixed_point import NumpyArray

MOST = 50_000  # classes
KINDS = {"text": str, "whole numbers": np.int64, "true or false": np.bool_}
_SHOWN = 3


@dataclass(frozen=True)
class Labels:
    """The classes seen so far, all of one kind."""

    kind: str = ""
    classes: NumpyArray = field(default_factory=lambda: np.array([], dtype=np.int64))

    def with_those_of(self, y: NumpyArray) -> tuple[Labels, NumpyArray]:
        """The labels with those of `y` among them; and where each class stood before, −1 if it is new."""
        kind = kind_of(y)
        if self.kind and kind != self.kind:
            raise BadInput(
                f"labels were {self.kind} ({_some(self.classes)}) and are now {kind} ({_some(y)}); "
                "give them as they were"
            )
        classes = np.union1d(self.classes, y) if self.kind else np.unique(y)
        if len(classes) > MOST:
            raise BadInput(
                f"there would be {len(classes):,} different labels ({_some(classes)}) and at most {MOST:,} can be; "
                "is the label column a number or a name of each row?"
            )
        return Labels(kind, classes), self._places(classes)

    def _places(self, classes: NumpyArray) -> NumpyArray:
        if not self.kind:
            return np.full(len(classes), -1)
        places = np.searchsorted(self.classes, classes).clip(max=len(self.classes) - 1)
        return np.where(self.classes[places] == classes, places, -1)

    def only(self, kept: NumpyArray) -> Labels:
        """The labels at these places."""
        return Labels(self.kind, self.classes[kept])

    def numbers(self, y: NumpyArray) -> NumpyArray:
        """The place of each label, all of which are known."""
        return np.searchsorted(self.classes, y)

    def require(self, y: NumpyArray) -> None:
        """Refuse labels that were never learned."""
        unknown = np.setdiff1d(y, self.classes) if kind_of(y) == self.kind else np.unique(y)
        if len(unknown):
            raise BadInput(f"no row with the label {_some(unknown)} was learned; give rows as they were learned")

    def plain(self) -> dict[str, Any]:
        return {"kind": self.kind, "classes": self.classes.tolist()}

    @staticmethod
    def load(plain: dict[str, Any]) -> Labels:
        return Labels(plain["kind"], np.array(plain["classes"], dtype=KINDS[plain["kind"]]))


def kind_of(y: NumpyArray) -> str:
    return {"U": "text", "b": "true or false"}.get(y.dtype.kind, "whole numbers")


def read(y: Any, rows: int) -> NumpyArray:
    """One label for each of so many rows: text, int64 or bool."""
    from sklearn.utils import column_or_1d

    if y is None:
        raise BadInput("this estimator requires y to be passed, but the target y is None; give a label for each row")
    labels = column_or_1d(np.asarray(y), warn=True)
    if len(labels) != rows:
        raise BadInput(f"there are {rows} rows and {len(labels)} labels; give one label a row")
    return _of_objects(labels) if labels.dtype.kind == "O" else _of_one_type(labels)


def _of_one_type(labels: NumpyArray) -> NumpyArray:
    kind = labels.dtype.kind
    if kind in "bU":
        return labels
    if kind in "iu" and (not len(labels) or int(labels.max()) < 2**63):
        return labels.astype(np.int64)
    if kind != "f":
        raise BadInput(f"Unknown label type: {labels.dtype}; give text, whole numbers or true and false")
    if np.isnan(labels).any():
        raise BadInput(f"y contains NaN: row {int(np.isnan(labels).argmax())} has no label; leave such rows out")
    if np.isinf(labels).any() or (labels != np.rint(labels)).any() or (np.abs(labels) >= 2.0**53).any():
        raise BadInput(
            f"Unknown label type: continuous ({_some(labels)}); a class is text, a whole number, or true or false: "
            "round the numbers or put them into intervals"
        )
    return labels.astype(np.int64)  # whole numbers that were read as floats


def _of_objects(labels: NumpyArray) -> NumpyArray:
    for row, label in enumerate(labels):
        if label is None or label != label or type(label).__name__ == "NAType":
            raise BadInput(f"y contains NaN or None: row {row} has no label; leave such rows out")
    for types, dtype in (((str,), str), ((bool, np.bool_), bool)):
        if all(isinstance(label, types) for label in labels):
            return labels.astype(dtype)
    if any(isinstance(label, (str, bool, np.bool_)) for label in labels):
        raise BadInput(f"labels are of several types ({_some_types(labels)}); make them all text or all whole numbers")
    if not all(isinstance(label, (int, float, np.number)) for label in labels):
        raise BadInput(f"Unknown label type: {_some_types(labels)}; give text, whole numbers or true and false")
    return _of_one_type(np.array(labels.tolist()))


def _some(labels: NumpyArray) -> str:
    shown = [repr(label) for label in dict.fromkeys(labels[: 4 * _SHOWN].tolist())]
    return ", ".join(shown[:_SHOWN]) + (", …" if len(shown) > _SHOWN else "")


def _some_types(labels: NumpyArray) -> str:
    return ", ".join(f"{name} like {value!r}" for name, value in {type(v).__name__: v for v in labels}.items())
