"""Keys name what can change bits and nothing else; a node comes out the same however it is grown."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from engram import tree
from engram.core import State, Step
from engram.errors import Diverged, Stopped
from engram.learners import learner_class, learner_settings
from engram.learners.gradient import GradientLearner
from engram.request import prepare
from engram.settings import Setting
from engram.store import Store
from engram.tree import Node, grow

SMALL = {"widths": "12-10", "batch": 96}


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "store")
    yield store
    store.close()


def path_of(learner="finetune", tasks=3, stream="split-digits", stream_tasks=5, seed=0, **settings):
    run = prepare(stream, learner, tasks=stream_tasks, seed=seed, settings={**SMALL, **settings})
    nodes = [run.root]
    for task in range(tasks):
        nodes.append(nodes[-1].child([task], run.grid[0]))
    return nodes[1:]


def facts(row):
    return replace(row, cost=replace(row.cost, seconds=0.0))


def test_a_key_is_the_same_in_every_process():
    script = (
        "from engram.request import prepare\n"
        "run = prepare('split-digits', 'ewc', seed=3, settings={'widths': '12-10'})\n"
        "print(run.key, run.root.child([0], run.grid[0]).child([1], run.grid[0]).key)"
    )
    run = prepare("split-digits", "ewc", seed=3, settings={"widths": "12-10"})
    here = [run.key, run.root.child([0], run.grid[0]).child([1], run.grid[0]).key]
    for environment in (
        {"PYTHONHASHSEED": "1"},
        {"PYTHONHASHSEED": "77", "TZ": "Pacific/Kiritimati", "LC_ALL": "tr_TR.UTF-8"},
    ):
        found = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=True,
        )
        assert found.stdout.split() == here


def test_a_node_that_went_through_json_has_its_key():
    node = path_of()[-1]
    assert Node.from_json(node.to_json()).key == node.key


def test_a_long_path_went_through_json_too():
    node = path_of(tasks=1)[0]
    for task in range(1, 1200):
        node = node.child([task], node.path[0].settings)
        assert node.key
    assert Node.from_json(node.to_json()).key == node.key


@pytest.mark.parametrize(
    "change",
    [
        {"learner": "si"},
        {"seed": 1},
        {"stream": "permuted-digits"},
        {"stream_tasks": 2},
        {"rate": 0.5},
        {"epochs": 2},
        {"batch": 95},
        {"widths": "12-11"},
        {"optimizer": "sgd"},
        {"heads": "masked"},
        {"loss_over": "task"},
        {"tasks": 2},
    ],
)
def test_whatever_can_change_bits_changes_the_key(change):
    assert path_of(**change)[-1].key != path_of()[-1].key


def test_the_curve_the_validation_share_and_the_versions_are_in_the_key(monkeypatch):
    node = path_of()[0]
    assert node.parent.child([0], node.path[-1].settings, [0, 1]).key != node.key
    assert replace(node, validation=0.1).key != node.key
    for name, value in (("BITS", 99), ("torch.__version__", "2.0.0")):
        with monkeypatch.context() as patch:
            patch.setattr(f"engram.tree.{name}", value)
            assert replace(node).key != node.key


def test_a_setting_that_a_later_version_adds_does_not_change_the_key(monkeypatch):
    node = path_of()[0]
    later = {**learner_settings(node.learner), "new": Setting(1, "added later")}
    monkeypatch.setattr("engram.tree.learner_settings", lambda name: later)
    settings = node.path[-1].settings
    assert node.parent.child([0], {**settings, "new": 1}).key == node.key
    assert node.parent.child([0], {**settings, "new": 2}).key != node.key


def test_where_the_data_lies_and_how_many_tasks_follow_is_not_in_the_key():
    short, long = (path_of(stream="permuted-digits", stream_tasks=count)[-1] for count in (3, 8))
    assert short.key == long.key
    assert replace(short, stream={**short.stream, "dataset": "/elsewhere/digits.npz"}).key == short.key


def test_settings_that_act_late_share_the_first_task_only():
    weak, strong = (path_of("ewc", strength=value) for value in (1, 1000))
    assert weak[0].key == strong[0].key
    assert weak[1].key != strong[1].key


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
    store._write("DELETE FROM nodes")
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


def test_a_change_of_one_method_alone_changes_its_keys_only(monkeypatch):
    ewc, finetune = (path_of(learner=name, tasks=1)[0].key for name in ("ewc", "finetune"))
    monkeypatch.setattr(learner_class("ewc"), "bits", 1)
    assert path_of(learner="ewc", tasks=1)[0].key != ewc
    assert path_of(learner="finetune", tasks=1)[0].key == finetune


def test_threads_are_as_they_were(store, monkeypatch):
    set_to = []
    monkeypatch.setattr(tree.torch, "get_num_threads", lambda: 7)
    monkeypatch.setattr(tree.torch, "set_num_threads", set_to.append)
    grow(path_of(tasks=1)[0], store)
    assert set_to == [1, 7]


def test_a_long_path_has_a_key_in_another_process():
    node = path_of(tasks=1)[0]
    for task in range(1, 2000):
        node = node.child([task % 5], node.path[0].settings)
        assert node.key
    assert Node.from_json(node.to_json()).key == node.key


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
