"""What `learner="auto"` takes: a rule about the first session, with no search. `engram advise` tries things out."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from engram.errors import BadSetting
from engram.estimator.closed_forms import CLOSED_FORMS
from engram.estimator.fixed_point import NumpyArray
from engram.parts.kernel import is_image

MANY = 100  # rows of a first session from which on the scale of random features is known well enough
OF_ROWS, OF_IMAGES = 500, 1000  # random features
KEPT = 1000  # images of each class that a network should be able to rehearse
MOST_DIGITS = 30  # of a number of bytes
UNITS = {"kB": 10**3, "MB": 10**6, "GB": 10**9, "B": 1}


class Taken(NamedTuple):
    """A learner with settings that were not given, and the reason in a sentence."""

    learner: str
    settings: dict[str, Any]
    why: str


def choose(x: NumpyArray, classes: int, room: int | None) -> Taken:
    """For the prepared rows of a first session that has so many classes, with so many bytes for kept samples."""
    shape, each = x.shape[1:], x[0].nbytes
    kept = 0 if room is None else room // each
    if is_image(shape) and kept >= KEPT * classes:
        return Taken("finetune", {}, f"a network that rehearses: images, and room for {kept} of them")
    if is_image(shape):
        why = f"solved from exact sums of {OF_IMAGES} random features of images"
        return Taken("slda", {"features": OF_IMAGES}, why)
    if len(x) >= MANY:
        why = f"solved from exact sums of {OF_ROWS} random features: {len(x)} rows are enough for more than lines"
        return Taken("slda", {"features": OF_ROWS}, why)
    return Taken("slda", {}, f"solved from exact sums of the numbers themselves: {len(x)} rows are few")


def is_closed(learner: str) -> bool:
    return learner in CLOSED_FORMS


def bytes_of(memory: int | str | None) -> int | None:
    """A number of bytes as people write it.

    >>> bytes_of("10MB"), bytes_of("100 kB"), bytes_of(5000), bytes_of("5000")
    (10000000, 100000, 5000, 5000)
    """
    if memory is None or (isinstance(memory, int) and memory >= 0):
        return memory
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+) *(kB|MB|GB|B|)", str(memory).strip())
    if found is not None and len(found[1]) <= MOST_DIGITS:
        return int(float(found[1]) * UNITS[found[2] or "B"])
    raise BadSetting(f"memory={memory!r} is not a number of bytes; for example memory='10MB'")


def no_use_of(room: int, learner: str) -> BadSetting:
    """Why a learner that was named cannot be given room for samples."""
    return BadSetting(
        f"memory={room} is room for rows that are kept, and learner '{learner}' keeps none by their bytes; leave it "
        "out, or name one that has the setting 'exemplar_budget' ('engram list learners NAME')"
    )
