"""Keys name what can change bits and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from dataclasses import replace

import pytest
from paths import path_of

from engram.learners import learner_class, learner_settings
from engram.networks import Blueprint, network_class
from engram.nodes import Node
from engram.request import prepare
from engram.settings import Setting

KEYS = {  # of the second node of a path, by today's code: whoever changes one makes every store train again
    ("split-digits", "finetune", "widths=12-10"): "afa41afc3075bafb5e79761799d084d97fb71d0b",
    ("permuted-digits", "ewc", "strength=10 rate=0.01"): "bc604a5cebe7766c3450d9ec4889511548b86c4f",
    ("split-digits", "icarl", "exemplars=5"): "2ec419c438c0bcf507eb13b3e70006ccd7b574db",
}


@pytest.mark.parametrize("asked", KEYS)
def test_keys_of_the_library_s_own_learners_stay_as_they_are(asked, monkeypatch):
    monkeypatch.setattr("engram.nodes.torch_version", lambda: "2.13.0")
    stream, learner, words = asked
    settings = dict(word.split("=") for word in words.split())
    run = prepare(stream, learner, tasks=5, seed=3, settings=settings)
    node = run.root.child([0], run.grid[0]).child([1], run.grid[0], evaluate="none")
    assert node.key == KEYS[asked]


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


def anew(node, **changes):
    """The same node, or one with these changes from its root on, that remembers no key."""
    return Node.from_json(node.to_json() | changes)


def test_the_curve_the_validation_share_and_the_versions_are_in_the_key(monkeypatch):
    node = path_of()[0]
    assert node.parent.child([0], node.last.settings, [0, 1]).key != node.key
    assert anew(node, validation=0.1).key != node.key
    for name, value in (("BITS", 99), ("torch_version", lambda: "2.0.0")):
        with monkeypatch.context() as patch:
            patch.setattr(f"engram.nodes.{name}", value)
            assert anew(node).key != node.key


def test_a_setting_that_a_later_version_adds_does_not_change_the_key(monkeypatch):
    node = path_of()[0]
    later = {**learner_settings(node.learner), "new": Setting(1, "added later")}
    monkeypatch.setattr("engram.nodes.learner_settings", lambda name: later)
    settings = node.last.settings
    assert node.parent.child([0], {**settings, "new": 1}).key == node.key
    assert node.parent.child([0], {**settings, "new": 2}).key != node.key


def test_where_the_data_lies_and_how_many_tasks_follow_is_not_in_the_key():
    short, long = (path_of(stream="permuted-digits", stream_tasks=count)[-1] for count in (3, 8))
    assert short.key == long.key
    assert anew(short, stream={**short.stream, "dataset": "/elsewhere/digits.npz"}).key == short.key


def test_a_limit_that_only_refuses_is_no_part_of_the_key():
    """Who raises it goes on with what was trained below it."""

    low, none = (path_of("mntdp-d", most_megabytes=value) for value in (2, 0))
    assert [node.key for node in low] == [node.key for node in none]


def test_settings_that_act_late_share_the_first_task_only():
    weak, strong = (path_of("ewc", strength=value) for value in (1, 1000))
    assert weak[0].key == strong[0].key
    assert weak[1].key != strong[1].key


def test_a_long_path_is_asked_for_its_key_at_its_end_only_and_remembers_one_lesson_a_node():
    start = path_of(tasks=1)[0]
    tracemalloc.start()
    node = start
    for task in range(1, 3000):
        node = node.child([task % 5], start.last.settings)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6  # whole paths would be 36 MB
    assert (node.depth, len(node.path), node.path[0]) == (3000, 3000, start.last)
    assert len(repr(node)) < 2000
    assert Node.from_json(node.to_json()).key == node.key


def test_a_change_of_one_method_alone_changes_its_keys_only(monkeypatch):
    ewc, finetune = (path_of(learner=name, tasks=1)[0].key for name in ("ewc", "finetune"))
    monkeypatch.setattr(learner_class("ewc"), "bits", 1)
    assert path_of(learner="ewc", tasks=1)[0].key != ewc
    assert path_of(learner="finetune", tasks=1)[0].key == finetune


def test_a_change_of_one_network_alone_changes_its_keys_only(monkeypatch):
    def keys():
        return [prepare("split-digits", "ewc", network=name).root.key for name in ("mlp", "pfuelb-conv")]

    mlp, conv = keys()
    monkeypatch.setattr(network_class("mlp"), "bits", 1)
    assert keys()[0] != mlp
    assert keys()[1] == conv


def test_a_value_that_came_to_mean_something_else_has_another_key(monkeypatch):
    """From the first lesson on, and no other value has."""

    def keys():
        root = Node("mntdp-d", Blueprint.of("mlp"), 0, {"kind": "split", "version": 1, "tasks": 2}, 0.1)
        found = []
        for search in ("paper", "wide"):
            first = root.child([0], {"search": search})
            run = prepare("split-digits", "mntdp-d", tasks=2, settings={"search": search})
            found += [first.key, first.child([1], {"search": search}).key, run.key]
        return found

    before = keys()
    setting = learner_settings("mntdp-d")["search"]
    again = replace(setting, revised=(("wide", 99),))
    monkeypatch.setattr("engram.nodes.learner_settings", lambda name: {**learner_settings(name), "search": again})
    assert [one == other for one, other in zip(before, keys(), strict=True)] == [True] * 3 + [False] * 3


def test_outputs_of_classes_to_come_are_part_of_the_key_where_more_tasks_bring_more():
    """ctrl-long has more classes with more tasks, and masked heads have them from the start."""

    def keys(kind, heads):
        found = set()
        for tasks in (2, 3):
            spec = {"kind": kind, "version": 1, "tasks": tasks, "seed": 0}
            root = Node("finetune", Blueprint.of("mlp"), 0, spec, 0.1)
            found.add(root.child([0], {"heads": heads}).key)
        return len(found)

    assert keys("ctrl-long", "masked") == 2
    assert keys("ctrl-long", "growing") == 1
    assert keys("split", "masked") == keys("permuted", "masked") == 1
