"""Small two-task runs on real digits: 2 networks × 2 first rates × 3 second rates, 40 steps a task."""

from __future__ import annotations

import json
from typing import Any

from engram.execute import execute
from engram.nodes import Growth, Node
from engram.record import Record
from engram.request import prepare
from engram.runs import Run, record_of
from engram.store import Store

GRID = {
    "widths": ["12", "10"],
    "rate": [0.05, 0.01],
    "second_rate": [0.01, 0.003, 0.001],
    "iterations": 40,
    "every": 10,
    "optimizer": "sgd",
    "momentum": 0.9,
    "optimizer_reset": "none",
}
ONE = {**GRID, "widths": "12", "rate": 0.05, "second_rate": 0.01}  # a grid of one


def two_tasks(protocol: str, stream: Any = "d5-5a-digits", learner: str = "finetune", **settings: Any) -> Run:
    return prepare(stream, learner, protocol=protocol, settings={**GRID, **settings})


def done(run: Run, store: Store, **more: Any) -> Record:
    execute([run], store, **more)
    return record_of(store.runs(run.key)[0], store)


def nodes(store: Store) -> list[Node]:
    """Every node of a store that has been grown."""
    entries = store._read("SELECT key, parent, spec FROM nodes WHERE row IS NOT NULL")
    specs = {key: (parent, json.loads(spec)) for key, parent, spec in entries}

    def node(key: str) -> Node:
        parent, spec = specs[key]
        if parent is None:
            return Node.from_json(spec)
        growth = Growth.from_json(*spec)
        return node(parent).child(growth.tasks, growth.settings, growth.curve, growth.every)

    return [node(key) for key in specs]


def first_nodes(store: Store) -> list[Node]:
    return [node for node in nodes(store) if node.depth == 1]


def second_nodes(store: Store) -> list[Node]:
    return [node for node in nodes(store) if node.depth == 2]
