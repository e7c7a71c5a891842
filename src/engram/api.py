"""Engram from Python: `engram.run` and `engram.stream`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from typing import Any

from engram.core import Stream
from engram.errors import Diverged
from engram.execute import execute
from engram.prepare import prepare
from engram.record import Record
from engram.runs import record_of
from engram.store import Store


def run(
    stream: Stream | str,
    learner: str,
    *,
    seed: int = 0,
    head: str | None = None,
    protocol: str = "sequential",
    network: str | None = None,
    epochs: int = 1,
    batch: int = 64,
    rate: float = 1e-3,
    store: str | os.PathLike[str] | None = None,
    dataset: str | None = None,
    tasks: int | None = None,
    curve: Sequence[int] = (),
    references: bool = False,
    **settings: Any,
) -> Record:
    """Train one learner on one stream and return its record.

    `stream` is a name ("split-digits", or "split" with a `dataset`) or a `Stream`; `settings` are the learner's, the
    network's or the stream's own.
    `head` is how accuracy is read: "single" (all classes seen; the default) or "multi" (the task is given; the default
    for learners that need it). With a `store` folder everything is kept and a killed run goes on where it was;
    without one a temporary folder is used. `curve` asks for the test accuracy after these numbers of steps of each
    task; `references` trains the joint and isolated models that intransigence and transfer are measured against.
    """
    shared = _understood(learner, {"epochs": epochs, "batch": batch, "rate": rate})
    wanted = prepare(
        stream,
        learner,
        seed=seed,
        head=head,
        protocol_name=protocol,
        network=network,
        dataset=dataset,
        tasks=tasks,
        curve=curve,
        references=references,
        settings={**shared, **settings},
    )
    with tempfile.TemporaryDirectory(prefix="engram-") as temporary:
        place = Store(temporary if store is None else store)
        try:
            execute([wanted], place)
            record = record_of(place.runs(wanted.key)[0], place)
        finally:
            place.close()
    if record.status == "failed":
        raise Diverged(str(record.error))
    return record


def _understood(learner: str, shared: dict[str, Any]) -> dict[str, Any]:
    """The general training settings, for a learner that has them: a closed-form one has no rate."""
    from engram.learners import learner_settings

    known = learner_settings(learner)
    return {name: value for name, value in shared.items() if name in known}
