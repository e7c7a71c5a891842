"""What a worker on another machine has in the place of a store: what it was given for one node, in memory. What it
finds out goes back to who asked, as messages."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from engram import checkpoint
from engram.core import Row, State
from engram.errors import EngramError
from engram.record import row_from_json, row_to_json

Message = dict[str, Any]


class Satchel:
    """States stay bytes with a digest, as they are sent and kept: whoever loads one gets tensors of their own."""

    def __init__(
        self,
        states: Mapping[str, bytes],
        rows: Mapping[str, Any],
        send: Callable[[Message], None],
        ask: Callable[[Message], bytes | None],
    ):
        """Given are the state and the row of a node's parent; under the node's own key its position inside the lesson,
        where there is one. `ask` waits for an answer."""
        self.states, self.send, self.ask = dict(states), send, ask
        self.rows: dict[str, Row] = {key: row_from_json(row) for key, row in rows.items()}

    def row(self, key: str) -> Row | None:
        return self.rows.get(key)

    def known(self, key: str) -> Row | EngramError | None:
        return self.row(key)

    def state(self, key: str) -> State | None:
        return checkpoint.decode(self.states[key], key, "a state that was sent") if self.has_state(key) else None

    def has_state(self, key: str) -> bool:
        return key in self.states

    def commit(self, key: str, spec: Any, row: Row, state: State, parent: str | None = None) -> None:
        self.states, self.rows = {key: checkpoint.encode(state, key)}, {key: row}
        self.send({"event": "learned", "key": key, "row": row_to_json(row), "state": self.states[key]})

    def fail(self, key: str, spec: Any, error: EngramError, parent: str | None = None) -> None:
        self.send({"event": "impossible", "key": key, **words(error)})

    def partial(self, key: str) -> State | None:
        return self.state(key)

    def save_partial(self, key: str, state: State) -> None:
        self.send({"event": "position", "key": key, "state": checkpoint.encode(state, key)})

    def twin(self, key: str) -> State | None:
        found = self.ask({"event": "question", "key": key})
        return None if found is None else checkpoint.decode(found, key, "a state that was sent")

    def keep_twin(self, key: str, state: State) -> None:
        self.send({"event": "twin", "key": key, "state": checkpoint.encode(state, key)})

    def lock(self, key: str, while_waiting: Callable[[], object] = lambda: None) -> contextlib.nullcontext[None]:
        """Who asked holds it."""
        return contextlib.nullcontext()


def words(error: Exception) -> Message:
    """An error as it is sent."""
    return {"kind": type(error).__name__, "error": str(error)}
