"""Grow the tree in this process, one run after another."""

from __future__ import annotations

from collections.abc import Sequence

from engram.core import Step
from engram.errors import EngramError, StoreTrouble
from engram.execute.progress import Progress
from engram.execute.walk import Walk, outcome_of
from engram.protocols import Outcome
from engram.store import Store
from engram.tree import Node, grow


def grow_here(walks: Sequence[Walk], store: Store, progress: Progress) -> None:
    def watch(node: Node, step: Step) -> None:
        progress.check()
        progress.step(node.key, step.done / max(step.total, 1))

    for walk in walks:
        while not walk.over:
            for node in walk.waiting_for:
                walk.tell(node.key, _outcome(node, walk, store, watch))
                progress.grown(node.key)
        walk.note(store)


def _outcome(node: Node, walk: Walk, store: Store, watch: object) -> Outcome:
    try:
        return outcome_of(grow(node, store, walk.run.taught, watch), walk.run.head)  # type: ignore[arg-type]
    except StoreTrouble:
        raise
    except EngramError as error:
        return Outcome((), str(error))
