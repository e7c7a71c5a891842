"""What each policy grows and keeps, on outcomes that are made up."""

from __future__ import annotations

import pytest

from engram.errors import BadSetting, Diverged, UnknownName
from engram.networks import Blueprint
from engram.nodes import Node
from engram.protocols import PROTOCOLS, Outcome, RunFailed, protocol
from engram.request import prepare

ROOT = Node("ewc", Blueprint.of("mlp"), 0, {"name": "s"}, 0.1)
GRID = [{"rate": 0.1}, {"rate": 0.01}, {"rate": 0.001}]
CURVES = dict.fromkeys(("d1", "d2", "union"), (0.5,)) | {"union_at_stop": lambda moment: 0.5}


def drive(name, tasks, grid, outcome):
    """Drive a policy with `outcome(rates of the path)`; the kept rates, and the rates of everything grown."""
    policy, grown = protocol(name).policy([ROOT], tasks, grid), []
    try:
        nodes = next(policy)
        while True:
            paths = [tuple(g.settings["rate"] for g in node.path) for node in nodes]
            grown += paths
            nodes = policy.send([outcome(path) for path in paths])
    except StopIteration as end:
        return [node.last.settings["rate"] for node in end.value.path], grown


def fine(path):
    """A node that was grown, with half of everything right."""
    return Outcome((0.5,) * len(path), curves=CURVES, steps=(0,))


def test_sequential_grows_one_child_a_task():
    kept, grown = drive("sequential", 3, GRID[:1], lambda path: Outcome(()))
    assert kept == [0.1, 0.1, 0.1]
    assert grown == [(0.1,), (0.1, 0.1), (0.1, 0.1, 0.1)]


def test_sequential_refuses_a_grid():
    with pytest.raises(BadSetting, match="'sequential' takes one value of each setting, rate has several"):
        drive("sequential", 1, GRID, lambda path: Outcome(()))


def test_task_level_keeps_the_best_on_the_current_task_only():
    """0.01 wins the first task; on the second 0.1 is best there and worst on the first, which does not count."""
    scores = {
        (0.1,): (0.5,), (0.01,): (0.9,), (0.001,): (0.7,),
        (0.01, 0.1): (0.0, 0.8), (0.01, 0.01): (1.0, 0.7), (0.01, 0.001): (1.0, 0.6),
    }  # fmt: skip
    kept, grown = drive("task-level", 2, GRID, lambda path: Outcome(scores[path]))
    assert kept == [0.01, 0.1]
    assert grown == list(scores)


def test_stream_level_keeps_the_best_mean_at_the_end():
    """0.1 leads after the first task and has the best last task, but 0.001 the best mean over both at the end."""
    ends = {0.1: (0.1, 0.9), 0.01: (0.5, 0.4), 0.001: (0.6, 0.5)}
    kept, grown = drive("stream-level", 2, GRID, lambda p: Outcome((1 - p[0],) if len(p) == 1 else ends[p[0]]))
    assert kept == [0.001, 0.001]
    assert len(grown) == 6
    assert all(len(set(path)) == 1 for path in grown)


@pytest.mark.parametrize("name", ["task-level", "stream-level"])
def test_the_earliest_of_equals_is_kept(name):
    assert drive(name, 2, GRID, lambda path: Outcome((0.5,) * len(path)))[0] == [0.1, 0.1]


@pytest.mark.parametrize("name", ["task-level", "stream-level"])
def test_settings_that_fail_are_passed_over(name):
    def outcome(path):
        return Outcome((), Diverged("diverged")) if path[-1] == 0.1 else Outcome((path[-1],) * len(path))

    kept, grown = drive(name, 2, GRID, outcome)
    assert kept == [0.01, 0.01]
    assert (0.1, 0.1) not in grown


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("failing", [1, 2])
def test_where_everything_fails_the_run_ends_with_the_reason(name, failing):
    grid = GRID if protocol(name).selects else GRID[:1]

    def outcome(path):
        return Outcome((), Diverged("loss became nan")) if len(path) == failing else fine(path)

    with pytest.raises(RunFailed, match="loss became nan"):
        drive(name, 3, grid, outcome)


@pytest.mark.parametrize("name", ["task-level", "stream-level"])
def test_nothing_is_chosen_without_validation_data(name):
    with pytest.raises(RunFailed, match="no validation samples to choose one of 3 settings by"):
        drive(name, 1, GRID, lambda path: Outcome(()))
    assert drive(name, 1, GRID[:1], lambda path: Outcome(()))[0] == [0.1]


def test_an_unknown_protocol_is_named():
    with pytest.raises(UnknownName, match="there is no protocol 'task'"):
        protocol("task")


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_size_is_the_number_of_nodes_grown(name):
    grid = GRID if protocol(name).selects else GRID[:1]
    assert protocol(name).size(1, 2, grid) == len(drive(name, 2, grid, fine)[1])


@pytest.mark.parametrize(
    "learner, setting, values",
    [
        ("er", "heads", ["growing", "per-task"]),
        ("mntdp-d", "modules", [2, 3]),
        ("pathnet", "units", [4, 8]),
        ("geppnet", "map_side", [3, 4]),
        ("ridge", "features", [10, 20]),
        ("slda", "map", ["plain", "waves"]),
        ("ridge", "filters", [8, 16]),
        ("slda", "width", [2.0, 0.2]),
        ("slda", "shrinkage", [0.0, 0.5]),
        ("slda", "decision", ["chosen", "angle"]),
        ("hat", "s_max", [1, 400]),
    ],
)
def test_what_a_state_has_the_shape_of_is_not_chosen_task_by_task(learner, setting, values):
    asked = {"tasks": 2, "settings": {setting: values}}
    with pytest.raises(BadSetting, match=f"{setting} cannot be chosen task by task"):
        prepare("split-digits", learner, protocol="task-level", **asked)
    assert len(prepare("split-digits", learner, protocol="stream-level", head="multi", **asked).grid) == 2


def test_accuracies_with_the_task_told_are_not_compared_with_others():
    asked = {"tasks": 2, "protocol": "stream-level", "settings": {"heads": ["growing", "masked", "per-task"]}}
    with pytest.raises(BadSetting, match="with heads=per-task learner 'finetune' has to be told the task, with others"):
        prepare("split-digits", "finetune", **asked)
    assert prepare("split-digits", "finetune", head="multi", **asked).head == "multi"
    alike = {**asked, "settings": {"heads": ["growing", "masked"]}}
    assert prepare("split-digits", "finetune", **alike).head == "single"
