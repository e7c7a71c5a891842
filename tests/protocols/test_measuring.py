"""After which tasks which ones are measured, and what policies hand on of it."""

from __future__ import annotations

import pytest

from engram.errors import BadSetting
from engram.networks import Blueprint
from engram.nodes import Growth, Node
from engram.protocols import Measuring, Outcome, protocol, read_evaluate

ROOT = Node("finetune", Blueprint.of("mlp"), 0, {"name": "s"}, 0.1)


@pytest.mark.parametrize(
    "evaluate, expected",
    [
        ("all", ["all", "all", "all", "all", "all"]),
        ("diagonal", ["current", "current", "current", "current", "all"]),
        ("last", ["none", "none", "none", "none", "all"]),
        ("every 2", ["none", "all", "none", "all", "all"]),
        ("every 9", ["none", "none", "none", "none", "all"]),
    ],
)
@pytest.mark.parametrize("name", ["sequential", "task-level", "stream-level"])
def test_every_policy_measures_what_is_asked_for(name, evaluate, expected):
    policy = protocol(name).policy([ROOT], 5, [{"rate": 0.1}], Measuring((3,), evaluate))
    next(policy)
    try:
        while True:
            policy.send([Outcome((0.5,))])
    except StopIteration as end:
        path = end.value.path
    assert [node.last.evaluate for node in path] == expected
    assert {node.last.curve for node in path} == {(3,)}


def test_the_option_is_written_in_one_way():
    assert [read_evaluate(text) for text in ("last", " every  010 ", "every 1")] == ["last", "every 10", "all"]


@pytest.mark.parametrize("given", ["every", "every 0", "every -1", "every 2.5", "some", "", None, 5, ["all"]])
def test_anything_else_is_refused_with_the_way_out(given):
    with pytest.raises(BadSetting, match="all, diagonal, last and every N"):
        read_evaluate(given)


@pytest.mark.parametrize("name", ["prescient", "realistic"])
def test_a_protocol_with_its_own_moments_takes_no_others(name):
    with pytest.raises(BadSetting, match="leave --evaluate out"):
        protocol(name).check("finetune", 2, [{"schedule": "constant"}], Measuring(evaluate="last"))


def test_a_growth_without_the_option_is_written_as_it_always_was():
    assert Growth((0,), {}, (1, 2)).measured() == [1, 2]
    assert Growth((0,), {}, (1, 2), 5).measured() == [1, 2, {"every": 5}]


@pytest.mark.parametrize("growth", [Growth((0,), {}, (1, 2), 5, "none"), Growth((1,), {}, (), 0, "current")])
def test_a_growth_comes_back_from_json(growth):
    assert Growth.from_json(*growth.to_json()) == growth


def test_places_are_those_of_the_current_tasks_among_all_seen():
    node = ROOT.child([3], {}).child([1], {}).child([3, 0], {}, evaluate="current")
    assert (node.tasks, node.measured) == ((3, 1, 0), (0, 2))
    assert node.parent.measured is None
    assert node.parent.child([2], {}, evaluate="none").measured == ()
