"""A node comes out the same however it is grown."""

from __future__ import annotations

import inspect
import json
import os
import platform
import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from paths import path_of

from engram import tree
from engram.core import State, Step
from engram.errors import Diverged, Stopped
from engram.nodes import Node
from engram.parts.gradient import GradientLearner
from engram.processor import processor
from engram.store import Store
from engram.tree import grow


def facts(row):
    return replace(row, cost=replace(row.cost, seconds=0.0))


def test_a_grown_node_is_not_grown_again(store):
    node = path_of(tasks=1)[-1]
    assert grow(node, store) == grow(node, store)
    assert store.times_grown(node.key) == 1


def test_growing_a_leaf_grows_its_ancestors(store):
    path = path_of()
    grow(path[-1], store)
    assert [store.times_grown(node.key) for node in path] == [1, 1, 1]


def test_the_order_of_growing_does_not_matter(tmp_path):
    ewc, si = path_of("ewc"), path_of("si")
    rows = []
    for number, order in enumerate([[*ewc, *si], [si[-1], ewc[-1]], [ewc[0], si[2], ewc[2]]]):
        store = Store(tmp_path / str(number))
        for node in order:
            grow(node, store)
        states = [(store.folder / "checkpoints" / f"{node.key}.engram").read_bytes() for node in (ewc[-1], si[-1])]
        rows.append([facts(store.row(node.key)) for node in (*ewc, *si)] + states)
        store.close()
    assert rows[0] == rows[1] == rows[2]


@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(path.read_bytes()[:-9])])
@pytest.mark.filterwarnings("ignore:.*is damaged")
def test_a_lost_or_damaged_checkpoint_is_grown_again_to_the_same_bits(damage, store, tmp_path):
    path = path_of()
    whole = Store(tmp_path / "whole")
    expected = facts(grow(path[-1], whole))
    whole.close()
    grow(path[1], store)
    files = [store.folder / "checkpoints" / f"{node.key}.engram" for node in path[:2]]
    before = [file.read_bytes() for file in files]
    for file in files:
        damage(file)
    assert facts(grow(path[-1], store)) == expected
    assert [file.read_bytes() for file in files] == before
    assert [store.times_grown(node.key) for node in path] == [2, 2, 1]


def test_bits_that_differ_from_the_recorded_ones_are_reported(store):
    path = path_of(tasks=2)
    row = grow(path[0], store)
    store._database.write("DELETE FROM nodes")
    store.commit(path[0].key, path[0].to_json(), replace(row, parameters_sha256="0" * 64), State({}, {}))
    (store.folder / "checkpoints" / f"{path[0].key}.engram").unlink()
    with pytest.warns(UserWarning, match="its bits differ from the recorded ones"):
        grow(path[1], store)


@pytest.mark.parametrize("stop", [0, 1, 2, 3, 4])
def test_a_lesson_can_be_left_at_any_step(stop, store, tmp_path):
    path = path_of("si", tasks=2)
    whole = Store(tmp_path / "whole")
    expected = [facts(grow(node, whole)) for node in path]
    whole.close()

    def leave(node, step):
        if step.done == min(stop, step.total) and node is path[1]:
            raise Stopped

    with pytest.raises(Stopped):
        grow(path[1], store, watch=leave)
    steps: list[Step] = []
    row = grow(path[1], store, watch=lambda node, step: steps.append(step))
    assert steps[0].done == min(stop, steps[0].total)
    assert [facts(store.row(path[0].key)), facts(row)] == expected
    assert not list((store.folder / "partial").iterdir())


def test_somebody_who_waits_for_another_process_can_stop_too(store):
    node = path_of(tasks=1)[0]

    def stop(*_):
        raise Stopped

    with store.lock(node.key), pytest.raises(Stopped):
        grow(node, store, watch=stop)


def test_a_certain_failure_is_remembered(store):
    node = path_of(tasks=2, rate=1e30)[-1]
    with pytest.raises(Diverged) as first:
        grow(node, store)
    with pytest.raises(Diverged) as second:
        grow(node, store)
    assert str(first.value) == str(second.value)
    assert "task 1" in str(first.value)


def test_parameters_that_the_last_step_spoils_are_an_error(store, monkeypatch):
    """One step in the whole task: its loss is fine, what it leaves behind is not, and no loss comes after it."""
    monkeypatch.setattr(GradientLearner, "descend", lambda learner: learner.network.theta.fill_(float("inf")))
    node = path_of(tasks=1, batch=100_000)[0]
    with pytest.raises(Diverged, match=r"a parameter became (nan|-?inf) at the end of task 1 \(digits 0-1\)"):
        grow(node, store)


def test_threads_are_as_they_were(store, monkeypatch):
    set_to = []
    monkeypatch.setattr(tree.torch, "get_num_threads", lambda: 7)
    monkeypatch.setattr(tree.torch, "set_num_threads", set_to.append)
    grow(path_of(tasks=1)[0], store)
    assert set_to == [1, 7]


def test_a_long_path_that_lost_its_checkpoints_is_grown_again(store, monkeypatch):
    """The oldest node first: lessons are no calls inside calls, of which Python allows a thousand."""
    path = path_of(tasks=1)
    for number in range(1, 60):
        path.append(path[-1].child([number % 5], path[0].path[0].settings))
    for node in path[:-1]:
        grow(node, store)
    for node in path[:-1]:
        (store.folder / "checkpoints" / f"{node.key}.engram").unlink()
    deepest, learn = 0, tree._learn

    def watched(*words):
        nonlocal deepest
        deepest = max(deepest, len(inspect.stack(0)))
        return learn(*words)

    monkeypatch.setattr(tree, "_learn", watched)
    grow(path[-1], store)
    assert [store.times_grown(node.key) for node in path] == [2] * 59 + [1]
    assert deepest < len(inspect.stack(0)) + 30


def test_the_store_holds_every_lesson_once(store):
    """What is kept about a node does not grow with its path; with its parents' it is all that makes the node."""
    path = path_of(tasks=5)
    grow(path[-1], store)
    found = store._read("SELECT key, parent, spec FROM nodes")
    entries = {key: (parent, json.loads(spec)) for key, parent, spec in found}
    assert [entries[node.key][0] for node in path] == [None, *(node.key for node in path[:-1])]
    assert len({len(json.dumps(entries[node.key][1])) for node in path[1:]}) == 1
    whole = entries[path[0].key][1]
    whole["path"] += [entries[node.key][1] for node in path[1:]]
    assert Node.from_json(whole).key == path[-1].key


GROW = """
import sys, torch
from paths import path_of
from engram.store import Store
from engram.tree import grow
print(*grow(path_of(tasks=1)[0], Store(sys.argv[1])).machine, torch.backends.cpu.get_cpu_capability(), sep="\\n")
"""


@pytest.mark.parametrize("capability", ["default", "avx2"])
def test_a_row_says_which_kind_of_machine_grew_it(capability, tmp_path):
    places = [os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "ATEN_CPU_CAPABILITY": capability, "PYTHONPATH": os.pathsep.join(places)}
    command = [sys.executable, "-c", GROW, str(tmp_path)]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()
    assert found == [found[4], torch.__version__.split("+")[0], platform.machine(), processor(), found[4]]
    assert found[4] in ("DEFAULT", capability.upper())
