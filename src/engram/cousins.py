"""Grown once for two streams that begin alike: a life on one is that on the other, for as long as all that it was
taught and all that it is measured on is the same.

S- and S_out of Veniat et al. 2021 differ in their last task alone. A node on such a stream is known by a second key, in
which digests of the samples stand for the stream. What it came to is kept under that, with the `parts.twins`.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any

from engram.core import Row, State, Stream, Task
from engram.nodes import Node
from engram.parts.twins import Shelf, add_samples
from engram.record import row_from_json, row_to_json
from engram.streams import kinds


def are_expected(node: Node, stream: Stream) -> bool:
    """Whether another stream may have the same tasks up to this node; with the last one they part."""
    kind = kinds().get(node.stream.get("kind", ""))
    return kind is not None and kind.begins_alike and len(node.tasks) < len(stream)


def common_key(node: Node, stream: Stream, *words: Any) -> str:
    """The key that a node has on all streams that begin alike. `words` are what else can change what is measured."""
    outline = stream.outline
    return node.key_by([outline.shape, outline.classes, [_digest(stream[task]) for task in node.tasks], words])


@lru_cache(maxsize=16)
def _digest(task: Task) -> str:
    sha = hashlib.sha256(repr((task.name, task.index, task.classes)).encode())
    for split in (task.train, task.validation, task.test):
        sha.update(repr((len(split), split.shape)).encode())
        add_samples(sha, split, split.y)
    return sha.hexdigest()


def find(shelf: Shelf, key: str) -> tuple[State, Row] | None:
    """A learner's state and what was measured there, if a node with this key was grown on another stream."""
    found = shelf.twin(key)
    return None if found is None else (State(found.tensors, found.plain["learner"]), row_from_json(found.plain["row"]))


def keep(shelf: Shelf, key: str, state: State, row: Row) -> None:
    shelf.keep_twin(key, State(state.tensors, {"learner": state.plain, "row": row_to_json(row)}))
