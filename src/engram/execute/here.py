"""Grow the tree in this process, one run after another."""

from __future__ import annotations

from collections.abc import Sequence

from engram.core import Step
from engram.errors import EngramError, Stopped, StoreTrouble
from engram.execute.progress import Progress
from engram.execute.tidying import settle
from engram.execute.walk import Walk
from engram.nodes import Node
from engram.protocols import Outcome
from engram.store import Store
from engram.tree import Watch, grow


def grow_here(walks: Sequence[Walk], store: Store, progress: Progress) -> None:
    def watch(node: Node, step: Step) -> None:
        progress.check()
        progress.step(node.key, step.done / max(step.total, 1))

    surprises: list[Exception] = []
    for walk in walks:
        try:
            _grow(walk, store, progress, watch)
        except (Stopped, StoreTrouble):
            raise
        except Exception as error:  # a bug, ours or a learner's: it costs this run, the others go on, then it is shown
            walk.fail(EngramError(f"{type(error).__name__}: {error}"))
            surprises.append(error)
        settle(walk, walks, store)
    if surprises:
        raise surprises[0]


def _grow(walk: Walk, store: Store, progress: Progress, watch: Watch) -> None:
    while not walk.over:
        for node in walk.waiting_for:
            walk.tell(node.key, _outcome(node, walk, store, watch))
            progress.grown(node.key)


def _outcome(node: Node, walk: Walk, store: Store, watch: Watch) -> Outcome:
    try:
        return walk.outcome(node, grow(node, store, walk.run.taught, watch))
    except StoreTrouble:
        raise
    except EngramError as error:
        return Outcome(error=error)
