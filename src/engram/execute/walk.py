"""A run on its way through the tree: which nodes it waits for now, and what became of it."""

from __future__ import annotations

import json
from typing import Any

from engram.core import Row
from engram.errors import EngramError
from engram.nodes import Node
from engram.protocols import Outcome, outcome_of
from engram.record import Record
from engram.runs import Result, Run, record_of, result_to_json
from engram.store import Store, words


class Walk:
    """Drives a run's policy: tell it the outcome of every node in `waiting_for` and it asks for the next ones."""

    def __init__(self, run: Run):
        self.run = run
        self.result: Result | None = None
        self.error: EngramError | None = None
        self.nodes: list[Node] = []
        self.sees: frozenset[str] = frozenset()  # what of the outcomes of these nodes it may be shown
        self.asked: set[str] = set()  # keys of all nodes that the run has wanted so far
        self.turn = 0  # how often it has asked
        self._outcomes: dict[str, Outcome] = {}
        self._told: dict[tuple[str, frozenset[str]], Outcome] = {}
        self._policy = run.walk()
        self._advance(None)

    @property
    def over(self) -> bool:
        return self.result is not None or self.error is not None

    @property
    def waiting_for(self) -> list[Node]:
        waiting = {} if self.over else {node.key: node for node in self.nodes if node.key not in self._outcomes}
        return list(waiting.values())

    def outcome(self, node: Node, row: Row) -> Outcome:
        """What the run's policy may know of a grown node."""
        return outcome_of(row, self.run.head, node.depth, self.sees)

    def remembered(self, node: Node, store: Store) -> Outcome | None:
        """The same of a node that the store knows, or why it can never be grown; None where it is not known."""
        known = store.known(node.key)
        if isinstance(known, EngramError):
            return Outcome(error=known)
        return None if known is None else self.outcome(node, known)

    def tell(self, key: str, outcome: Outcome) -> None:
        self._outcomes[key] = self._told.setdefault((key, self.sees), outcome)  # what was shown once is not shown anew
        if not self.waiting_for and not self.over:
            self._advance([self._outcomes[node.key] for node in self.nodes])

    def fail(self, error: EngramError) -> None:
        self.error = error

    def _advance(self, outcomes: list[Outcome] | None) -> None:
        self._outcomes, self.turn = {}, self.turn + 1
        try:
            self.nodes, self.sees = next(self._policy) if outcomes is None else self._policy.send(outcomes)
            self.asked |= {node.key for node in self.nodes}
        except StopIteration as end:
            self.result = end.value
        except EngramError as error:
            self.error = getattr(error, "error", error)

    def ending(self) -> tuple[str, dict[str, Any], EngramError | None]:
        """How the run ended, as the store keeps it."""
        if self.result is not None:
            return "done", result_to_json(self.result), None
        return "failed", {"reached": self._reached()}, self.error

    def note(self, store: Store) -> None:
        """Write down how the run ended."""
        store.finish_run(self.run.key, *self.ending())

    def _reached(self) -> list[str]:
        """Keys of the nodes on the way to those that it waited for last, where that is one way: what it had chosen."""
        parents = {node.parent.key: node.parent for node in self.nodes}
        return [node.key for parent in parents.values() if len(parents) == 1 for node in parent.way]


def known_record(run: Run, store: Store) -> Record | None:
    """What became of a run, by the nodes that the store has; None where something is left to train. Nothing is
    written."""
    walk = Walk(run)
    while walk.waiting_for:
        for node in walk.waiting_for:
            outcome = walk.remembered(node, store)
            if outcome is None:
                return None
            walk.tell(node.key, outcome)
    status, result, error = walk.ending()
    entry = {"key": run.key, "spec": run.to_json(), "status": status, "result": result, **words(error)}
    return record_of(json.loads(json.dumps(entry, default=dict)), store)  # as it would come out of the store
