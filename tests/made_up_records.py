"""Records that somebody made up."""

from __future__ import annotations

from typing import Any

from engram.core import Cost, Row
from engram.record import Record


def _row(accuracy: tuple[float, ...]) -> Row:
    cost = Cost(bytes={"parameters": 1000, "total": 1000}, flops=2_000_000, seconds=0.5)
    return Row(accuracy, accuracy, {}, {}, {}, cost, "0" * 64)


def made_up(final: tuple[float, float] = (0.5, 0.9), **changes: Any) -> Record:
    """A run of two tasks; `final` is the accuracy on both after the second."""
    about: dict[str, Any] = {
        "stream": "split-digits@1",
        "learner": "ewc",
        "network": "mlp",
        "settings": {"rate": 0.1, "widths": [256, 256]},
        "protocol": "sequential",
        "head": "single",
        "seed": 0,
        "key": "a" * 40,
        "status": "done",
        "error": None,
        "rows": (_row((1.0,)), _row(final)),
        "chosen": (),
    }
    return Record(**{**about, **changes})


def made_up_failure(**changes: Any) -> Record:
    return made_up(**{"status": "failed", "error": "the loss became nan", "rows": (), **changes})
