"""Engram: train classifiers on data that arrives over time, and measure fairly what they forget.

    >>> import engram
    >>> record = engram.run("split-digits", "ridge", seed=0)
    >>> record.metrics()["average_accuracy"] > 0.8
    True

Names are loaded when they are first used, so that importing the package (and `engram --help`) is quick.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_PLACES = {
    "run": "engram.api",
    "compare": "engram.api",
    "advise": "engram.advising",
    "stream": "engram.streams",
    "from_arrays": "engram.streams",
    "from_files": "engram.streams",
    "Record": "engram.record",
    "Learner": "engram.core",
    "Lesson": "engram.core",
    "Store": "engram.store",
    "check_learner": "engram.checks",
    "register": "engram.api",
    "results": "engram.exports.frame",
    "report": "engram.reports.web.writing",
    "export_runs": "engram.parcel",
    "import_runs": "engram.parcel",
    "save": "engram.learner_file",
    "load": "engram.estimator",
    "ContinualClassifier": "engram.estimator",
}

__all__ = ["__version__", *_PLACES]


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(importlib.import_module(_PLACES[name]), name)
    raise AttributeError(f"module 'engram' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
