"""The state of a classifier before its first session: what is prepared how, and which learner learns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from engram.errors import BadSetting
from engram.estimator.choosing import bytes_of, choose, is_closed, no_use_of
from engram.estimator.closed_mind import ClosedMind
from engram.estimator.fixed_point import NumpyArray
from engram.estimator.knowledge import Knowledge
from engram.estimator.mind import Mind
from engram.estimator.preparation import Preparation, RawRows


class Wanted(NamedTuple):
    """What was asked for: the parameters of a classifier."""

    learner: str
    memory: int | str | None
    network: str | None
    seed: int
    settings: Mapping[str, Any]


def begin(rows: RawRows, classes: int, wanted: Wanted) -> Knowledge:
    """Before it has learned these rows of so many classes, which decide what there is to decide."""
    if wanted.seed < 0:
        raise BadSetting(f"seed={wanted.seed} is below 0; give 0 or a larger whole number")
    preparation = Preparation.of(rows)
    x = preparation(rows)
    room, given, why = bytes_of(wanted.memory), dict(wanted.settings), "asked for"
    learner = wanted.learner
    if learner == "auto":
        learner, found, why = choose(x, classes, room)
        given = {**found, **given}
    if not is_closed(learner) or given.get("features"):
        preparation = preparation.scaled_by(rows)
        x = preparation(rows)
    else:
        preparation.say_if_lossy(rows)
    mind = _mind(learner, given, x, room, wanted)
    return Knowledge(preparation, mind, {"learner": mind.learner, "settings": mind.settings, "why": why})


def _mind(learner: str, given: dict[str, Any], x: NumpyArray, room: int | None, wanted: Wanted) -> Mind:
    if is_closed(learner):
        if room is not None and wanted.learner != "auto":
            raise no_use_of(room, learner)
        return ClosedMind.fresh(learner, given, x, wanted.seed)
    from engram.estimator.network_mind import NetworkMind  # here, because the closed forms do without torch's networks

    return NetworkMind.fresh(learner, given, x, wanted.network, wanted.seed, room)
