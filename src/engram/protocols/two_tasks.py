"""What prescient and realistic selection share (Pfülb et al. 2018): two tasks, and a grid for each of them.

The first task D1 is trained once for every network and every setting, the second (retraining on D2) goes on from there
with every `second_rate`; once, if a learner has no rate. While training, accuracies are measured every few steps, on
test and on validation data.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from engram.errors import BadSetting
from engram.learners import learner_settings
from engram.nodes import Node
from engram.protocols.measuring import PLAIN, Measuring
from engram.protocols.policy import Grid, Outcome, Protocol, grown
from engram.settings import setting

Grown = Generator[list[Node], list[Outcome], list[Node]]


def chosen_of(node: Node) -> dict[str, Any]:
    """What there was to choose for a first task: the settings of network and learner."""
    return {**node.network.settings, **node.last.settings}


class TwoTasks(Protocol):
    validation = 1 / 12  # 5,000 of MNIST's 60,000, as many as the paper's data had
    selects_networks = True
    single_head = True
    first_curve = "d1"  # what the best weights of the first task are told by

    second_rate = setting((1e-3, 1e-4, 1e-5), "rate of retraining; several make a grid", above=0, several=True)
    every = setting(50, "steps between two measurements", at_least=1)
    start = setting(
        "last",
        "retraining starts from the last weights of the first task, or from the best ones by its accuracy",
        choices=("last", "best"),
    )

    def check(self, learner: str, tasks: int, grid: Grid, measuring: Measuring = PLAIN) -> None:
        if tasks != 2:
            raise BadSetting(
                f"the protocol '{self.name}' is for streams of two tasks, this one has {tasks}; "
                "choose a stream such as d5-5a, or --protocol task-level"
            )
        if self.start == "best" and "iterations" not in learner_settings(learner):
            raise BadSetting(
                f"start=best goes back to an earlier step of the first task, which learner '{learner}' cannot; choose "
                "start=last"
            )
        if self.start == "best" and any(settings["schedule"] != "constant" for settings in grid):
            raise BadSetting(
                "start=best goes on from the middle of the first task, which with schedule=linear is not what a "
                "shorter one would be; choose schedule=constant or start=last"
            )
        if measuring != PLAIN:
            option = "--curve" if measuring.curve else "--evaluate"
            raise BadSetting(
                f"the protocol '{self.name}' has its own moments, every={self.every} steps; leave {option} out"
            )

    def beginnings(self, roots: Sequence[Node], grid: Grid) -> list[Node]:
        """The first task for every network and setting."""
        return [root.child([0], settings, every=self.every) for root in roots for settings in grid]

    def starting_points(self, nodes: Sequence[Node], outcomes: Sequence[Outcome]) -> Grown:
        """Where retraining goes on from: the nodes themselves, or what they were at their best. A learner in the middle
        of a lesson is a shorter lesson, so the best weights are those of a node with fewer steps."""
        if self.start == "last":
            return list(nodes)
        found = [self._at_best(node, outcome) for node, outcome in zip(nodes, outcomes, strict=True)]
        grown((yield found))
        return found

    def _at_best(self, node: Node, outcome: Outcome) -> Node:
        later = outcome.curves[self.first_curve][1:]
        step = outcome.steps[1 + later.index(max(later))]
        return node.parent.child([0], {**node.last.settings, "iterations": step}, every=self.every)

    def retrainings(self, start: Node, settings: Mapping[str, Any]) -> list[Node]:
        """The second task from there, with these settings and every rate."""
        return [start.child([1], {**settings, **rate}, every=self.every) for rate in self._rates(settings)]

    def rates(self, settings: Mapping[str, Any]) -> list[dict[str, float]]:
        """What retraining is chosen from, after a first task with these settings."""
        return [{"second_rate": own["rate"]} if own else {} for own in self._rates(settings)]

    def _rates(self, settings: Mapping[str, Any]) -> list[dict[str, float]]:
        return [{"rate": rate} for rate in self.second_rate] if "rate" in settings else [{}]
