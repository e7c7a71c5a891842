"""The state of a classifier before its first session: what is prepared how, and which learner learns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engram.estimator.choosing import bytes_of, choose, is_closed
from engram.estimator.closed_mind import ClosedMind
from engram.estimator.knowledge import Knowledge
from engram.estimator.mind import Mind
from engram.estimator.preparation import Preparation, RawRows


def begin(
    rows: RawRows, learner: str, memory: int | str | None, network: str | None, seed: int, settings: Mapping[str, Any]
) -> Knowledge:
    """Before it has learned these rows, which decide what there is to decide."""
    preparation = Preparation.of(rows)
    x = preparation(rows)
    room, given, why = bytes_of(memory), dict(settings), "asked for"
    if learner == "auto":
        taken = choose(x.shape[1:], len(x), room)
        learner, given, why = taken.learner, {**taken.settings, **given}, taken.why
    if not is_closed(learner) or given.get("features"):
        preparation = preparation.scaled_by(x)
    mind: Mind
    if is_closed(learner):
        mind = ClosedMind.fresh(learner, given, x[0].size)
    else:
        from engram.estimator.network_mind import NetworkMind

        mind = NetworkMind.fresh(learner, given, x.shape[1:], network, seed, len(x))
    return Knowledge(preparation, mind, {"learner": mind.learner, "settings": given, "why": why})
