"""What there is to say about a model, as plain JSON."""

from __future__ import annotations

from typing import Any

from engram.estimator.classifier import ContinualClassifier
from engram.estimator.columns import CATEGORY
from engram.estimator.preparation import Preparation


def described(model: ContinualClassifier) -> dict[str, Any]:
    known, choice = model._known(), model.choice_
    return {
        "learner": choice["learner"],
        "why": choice["why"],
        "settings": choice["settings"],
        "chosen": choice["chosen"],
        "label": model._notes.get("label"),
        "columns": [_column(dict(column)) for column in known.preparation.columns],
        "without": model._notes.get("without", []),
        "shape": list(known.preparation.shape),
        "sessions": model.history_,
        "can_undo": model._before is not None,
        "classes": [{"label": c, "rows": n} for c, n in zip(model.classes_.tolist(), model.counts_.tolist())],
        "rows": int(model.counts_.sum()),
        "bytes_of": {name: int(values.nbytes) for name, values in known.mind.tensors().items()},
    }


def kept_bytes(model: ContinualClassifier) -> int:
    """What a model takes, with all that it keeps: also what it knew before its last session, for `undo`."""
    known = [model._known(), model._before]
    return sum(values.nbytes for each in known if each is not None for values in each.tensors().values())


def row_bytes(X: Any) -> int:
    """What one of these rows takes when it is prepared as those of a first session are."""
    rows = ContinualClassifier()._read(X, reset=True)
    return int(Preparation.of(rows)(rows)[0].nbytes)


def _column(column: dict[str, Any]) -> dict[str, Any]:
    more = {"categories": len(column["categories"])} if column["kind"] == CATEGORY else {}
    return {"name": column["name"], "kind": column["kind"], **more}
