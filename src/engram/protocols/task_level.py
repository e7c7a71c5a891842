"""Task-level selection (Veniat et al. 2021): the grid on every task, the best on that task's validation data stays."""

from __future__ import annotations

from collections.abc import Sequence

from engram.nodes import Node
from engram.protocols.measuring import PLAIN, Measuring
from engram.protocols.policy import Grid, Kept, Policy, Protocol, best, decision, grown


class TaskLevel(Protocol):
    name = "task-level"
    help = "the grid under the current node for every task; keeps the best validation accuracy on the current task"

    def policy(self, roots: Sequence[Node], tasks: int, grid: Grid, measuring: Measuring = PLAIN) -> Policy:
        path, decisions = [roots[0]], []
        for task in range(tasks):
            children = [path[-1].child([task], settings, **measuring.after(task, tasks)) for settings in grid]
            outcomes = yield children
            current = [outcome.validation[-1] if outcome.validation else 0.0 for outcome in outcomes]
            chosen = best(outcomes, current)
            path.append(children[chosen])
            scores = {place: current[place] for place in grown(outcomes)}
            decisions += decision("validation accuracy on the current task", grid, scores, chosen)
        return Kept(tuple(path[1:]), decisions=tuple(decisions))
