"""What a worker is told of a node: not more and more as paths grow longer."""

from __future__ import annotations

import io
import json
from types import SimpleNamespace

from engram.execute.news import Listener, Teller
from engram.execute.processes import _Process
from engram.networks import Blueprint
from engram.nodes import Node

ROOT = Node("finetune", Blueprint.of("mlp"), 0, {"name": "s"}, 0.1)


def process():
    """A worker's end of the pipe that keeps what was said."""
    made = object.__new__(_Process)
    made.teller, made.inbox, made.process = Teller(), io.BytesIO(), SimpleNamespace(wait=lambda: None)
    return made


def lines(made):
    return [json.loads(line) for line in made.inbox.getvalue().splitlines()]


def path(length, rate=0.1):
    nodes = [ROOT]
    for task in range(length):
        nodes.append(nodes[-1].child([task], {"rate": rate}, evaluate="none"))
    return nodes[1:]


def test_every_node_is_told_by_its_last_lesson():
    made, nodes = process(), path(300)
    for node in nodes:
        made.give(node)
    sizes = [len(json.dumps(line)) for line in lines(made)]
    assert max(sizes[1:]) < 200
    worker = Listener()
    assert [worker.node(*line).key for line in lines(made)] == [node.key for node in nodes]


def test_a_worker_is_told_what_it_does_not_know():
    made, nodes, others = process(), path(4), path(3, rate=0.2)
    for node in (nodes[3], others[1], nodes[0], others[2]):
        made.give(node)
    assert [len(growths) for _, growths in lines(made)] == [4, 2, 0, 1]
    worker = Listener()
    found = [worker.node(*line) for line in lines(made)]
    assert [node.key for node in found] == [node.key for node in (nodes[3], others[1], nodes[0], others[2])]
    assert found[0].to_json() == nodes[3].to_json()


def test_another_worker_is_told_all_of_it():
    node = path(4)[3]
    for made in (process(), process()):
        made.give(node)
        ((root, growths),) = lines(made)
        assert (root["path"], len(growths)) == ([], 4)
