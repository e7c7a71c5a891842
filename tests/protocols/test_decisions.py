"""What a policy says about its choice: the candidates, what each reached of what it was shown, and which it took."""

from __future__ import annotations

import pytest
from made_up import World

from engram.networks import Blueprint
from engram.nodes import Node
from engram.protocols import Outcome, protocol

ROOT = Node("ewc", Blueprint.of("mlp"), 0, {"name": "s"}, 0.1)
GRID = [{"rate": 0.1, "batch": 4}, {"rate": 0.01, "batch": 4}, {"rate": 0.001, "batch": 4}]
RATES = ({"rate": 0.1}, {"rate": 0.01}, {"rate": 0.001})


def decisions(name, tasks, grid, outcome):
    policy = protocol(name).policy([ROOT], tasks, grid)
    try:
        nodes = next(policy)
        while True:
            nodes = policy.send([outcome([growth.settings["rate"] for growth in node.path]) for node in nodes])
    except StopIteration as end:
        return end.value.decisions


def test_task_level_decides_once_a_task():
    first, second = decisions("task-level", 2, GRID, lambda path: Outcome((0.9,) * (len(path) - 1) + (path[-1],)))
    assert first.candidates == second.candidates == RATES
    assert first.scores == second.scores == (0.1, 0.01, 0.001)
    assert (first.chosen, second.chosen) == (0, 0)
    assert first.by == "validation accuracy on the current task"


def test_stream_level_decides_once():
    (only,) = decisions("stream-level", 2, GRID, lambda path: Outcome((1.0, 1 - path[-1])[: len(path)]))
    assert only.candidates == RATES
    assert only.scores == pytest.approx((0.95, 0.995, 0.9995))
    assert only.chosen == 2


@pytest.mark.parametrize("name", ["task-level", "stream-level"])
def test_what_failed_has_no_score(name):
    found = decisions(name, 1, GRID, lambda path: Outcome((), "diverged") if path == [0.1] else Outcome((path[-1],)))
    assert [decision.scores for decision in found] == [(None, 0.01, 0.001)]


@pytest.mark.parametrize("name", ["sequential", "task-level", "stream-level"])
def test_where_there_is_nothing_to_choose_there_is_no_decision(name):
    assert decisions(name, 2, GRID[:1], lambda path: Outcome((0.5,) * len(path))) == ()


TEST, HELD_OUT = "test data", "held-out data"


def two_task_world():
    world = World()
    world.first[6, 0.01] = {"d1": (0.1, 0.9), "d1_validation": (0.1, 0.8)}
    for rate, end in ((0.03, 0.5), (0.02, 0.7), (0.01, 0.6)):
        curves = {"d2": (0.1, end), "d2_validation": (0.1, end / 2), "union": (0.9, end - 0.1)}
        world.second[6, 0.01, rate] = curves
    return world


@pytest.mark.parametrize(
    "strict, data, firsts, seconds",
    [(False, TEST, (0.5, 0.5, 0.5, 0.9), (0.4, 0.6, 0.5)), (True, HELD_OUT, (0.5, 0.5, 0.5, 0.8), (0.25, 0.35, 0.3))],
)
def test_realistic_decides_by_the_first_task_and_then_among_second_rates(strict, data, firsts, seconds):
    world = two_task_world()
    settings = {"second_rate": list(world.second_rates), "strict": strict}
    first, second = world.drive(protocol("realistic", **settings)).decisions
    assert first.candidates[-1] == {"widths": (6,), "rate": 0.01}
    assert (first.scores, first.chosen) == (firsts, 3)
    assert second.candidates == tuple({"second_rate": rate} for rate in world.second_rates)
    assert (second.scores, second.chosen) == (pytest.approx(seconds), 1)
    assert first.by.endswith(data)
    assert second.by.endswith(data)


def test_prescient_decides_once_among_everything():
    world = two_task_world()
    (only,) = world.drive(protocol("prescient", second_rate=list(world.second_rates))).decisions
    assert len(only.candidates) == 12
    assert only.candidates[only.chosen] == {"widths": (6,), "rate": 0.01, "second_rate": 0.03}
    assert max(only.scores) == only.scores[only.chosen] == 0.9
    assert only.by.endswith(TEST)
