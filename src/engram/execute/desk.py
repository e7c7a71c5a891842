"""The desk in the process that asks: it alone has the store. It gives out what can be grown now, as plain bytes, and
takes back what came. Who carries them is not its business."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from engram import checkpoint
from engram.core import Stream
from engram.errors import of_kind
from engram.execute.freight import Sender, describe
from engram.execute.news import Teller
from engram.execute.satchel import Message
from engram.nodes import Node
from engram.own import pack
from engram.record import row_from_json, row_to_json
from engram.runs import Run
from engram.store import Store
from engram.tree import compare, leave


@dataclass
class Errand:
    """A node that is with a worker, and the ancestors whose checkpoints are gone, which it grows again on the way."""

    node: Node
    lost: list[Node]  # the oldest last
    locks: contextlib.ExitStack

    def find(self, key: str) -> Node:
        return next(node for node in (self.node, *self.lost) if node.key == key)


@dataclass
class Told:
    """What one worker knows already."""

    teller: Teller = field(default_factory=Teller)
    tasks: set[tuple[str, float, int]] = field(default_factory=set)
    places: set[str] = field(default_factory=set)


class Desk:
    def __init__(self, store: Store, put: Callable[[bytes], Any]):
        self.store, self.sender = store, Sender(put)
        self.parcels: dict[str, dict[str, Any]] = {}

    def open(self, node: Node) -> Errand:
        """Take the right to grow a node, or raise `Elsewhere`. Whoever grows lost ancestors of it has that of the
        oldest: those of two nodes that share any share this one."""
        with contextlib.ExitStack() as locks:
            locks.enter_context(self.store.lock(node.key, leave))
            if self.store.known(node.key) is not None:
                leave()
            lost: list[Node] = []
            parent = node.parent
            while parent.depth and not self.store.has_state(parent.key):
                lost.append(parent)
                parent = parent.parent
            if lost:
                locks.enter_context(self.store.lock(lost[-1].key, leave))
            return Errand(node, lost, locks.pop_all())

    def pack(self, errand: Errand, stream: Stream, told: Told) -> Message:
        """All that a worker needs for an errand and does not have."""
        node, name = errand.node, name_of(stream.spec)
        start = errand.lost[-1].parent if errand.lost else node.parent
        states = self._states(start, node)
        row = self.store.row(start.key) if start.depth else None
        return {
            "key": node.key,
            "news": told.teller.news(node),
            "states": states,
            "rows": {start.key: row_to_json(row)} if row else {},
            "code": self._code(node, told),
            "stream": describe(name, stream),
            "lots": self._lots(name, stream, node.tasks, told),
        }

    def _states(self, start: Node, node: Node) -> dict[str, bytes]:
        """That of the node to start from, and a position inside the lesson if there is one."""
        state, partial = self.store.state(start.key) if start.depth else None, self.store.partial(node.key)
        if start.depth and state is None:  # it was damaged, and is gone now: look again
            leave()
        found = {start.key: state, node.key: partial}
        return {key: checkpoint.encode(state, key) for key, state in found.items() if state is not None}

    def _code(self, node: Node, told: Told) -> dict[str, Any]:
        """Code of users by its place, told once. It is read once, too: a file may be edited while runs go on."""
        places = {origin.place for origin in node.own.values() if origin.place}
        for place in places - self.parcels.keys():
            self.parcels[place] = pack(place)
        news, told.places = places - told.places, told.places | places
        return {place: self.parcels[place] for place in news}

    def _lots(self, name: str, stream: Stream, tasks: Iterable[int], told: Told) -> dict[int, Any]:
        new = [task for task in tasks if (name, stream.validation, task) not in told.tasks]
        told.tasks |= {(name, stream.validation, task) for task in new}
        return {task: self.sender.lot(name, stream, task) for task in new}

    def take(self, errand: Errand, message: Message) -> None:
        """Keep what a worker has found out, if it is of that kind."""
        event, key = message["event"], message.get("key", "")
        if event == "twin":
            self.store.keep_twin(key, checkpoint.decode(message["state"], key, "a state that a worker sent"))
        if event not in ("learned", "impossible", "position"):
            return
        node = errand.find(key)
        spec, parent = node.stored()
        if event == "impossible":
            self.store.fail(key, spec, of_kind(message["kind"], message["error"]), parent)
            return
        state = checkpoint.decode(message["state"], key, "a state that a worker sent")
        if event == "position":
            self.store.save_partial(key, state)
        else:
            row = row_from_json(message["row"])
            compare(self.store.row(key), row)
            self.store.commit(key, spec, row, state, parent)

    def twin(self, key: str) -> bytes | None:
        """What a plain fit, or a node on another stream, came to that began like this, if somebody knows."""
        found = self.store.twin(key)
        return None if found is None else checkpoint.encode(found, key)

    def still_needed(self, runs: Iterable[Run]) -> set[str]:
        """Let go of the data of all other runs: which streams those were."""
        return self.sender.keep({name_of(run.stream.spec) for run in runs})


def name_of(spec: Mapping[str, Any]) -> str:
    """What a stream goes by among the lots: every byte of it follows from its spec."""
    return hashlib.sha256(json.dumps(spec, sort_keys=True, default=dict).encode()).hexdigest()[:16]
