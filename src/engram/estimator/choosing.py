"""What `learner="auto"` takes: a rule about the first session, with no search. `engram advise` tries things out."""

from __future__ import annotations

from typing import Any, NamedTuple

from engram.errors import BadSetting
from engram.estimator.closed_forms import CLOSED_FORMS

UNITS = {"kB": 10**3, "MB": 10**6, "GB": 10**9, "B": 1}


class Taken(NamedTuple):
    """A learner with settings that were not given, and the reason in a sentence."""

    learner: str
    settings: dict[str, Any]
    why: str


def choose(shape: tuple[int, ...], rows: int, room: int | None) -> Taken:
    """For rows of this shape, of which the first session has so many, within so many bytes for kept samples."""
    return Taken("slda", {}, "solved from exact sums of the rows: forgets nothing, needs no tuning")


def is_closed(learner: str) -> bool:
    return learner in CLOSED_FORMS


def bytes_of(memory: int | str | None) -> int | None:
    """A number of bytes as people write it.

    >>> bytes_of("10MB"), bytes_of("100 kB"), bytes_of(5000)
    (10000000, 100000, 5000)
    """
    if memory is None or (isinstance(memory, int) and memory >= 0):
        return memory
    text = str(memory).strip()
    for unit, size in UNITS.items():
        number = text.removesuffix(unit).strip()
        if text.endswith(unit) and number.replace(".", "", 1).isdigit():
            return int(float(number) * size)
    raise BadSetting(f"memory={memory!r} is not a number of bytes; for example memory='10MB'")
