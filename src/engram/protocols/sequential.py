"""Sequential: one child per task, nothing is selected."""

from __future__ import annotations

from collections.abc import Sequence

from engram.nodes import Node
from engram.protocols.measuring import PLAIN, Measuring
from engram.protocols.policy import Grid, Kept, Policy, Protocol, best, one_of


class Sequential(Protocol):
    name = "sequential"
    help = "one setting, task after task; nothing is selected by validation data"
    validation = 0.0
    selects = False

    @property
    def sees(self) -> frozenset[str]:
        return frozenset()

    def policy(self, roots: Sequence[Node], tasks: int, grid: Grid, measuring: Measuring = PLAIN) -> Policy:
        settings, path = one_of(grid, self.name), [roots[0]]
        for task in range(tasks):
            path.append(path[-1].child([task], settings, **measuring.after(task, tasks)))
            outcomes = yield [path[-1]]
            best(outcomes, [0.0])
        return Kept(tuple(path[1:]))
