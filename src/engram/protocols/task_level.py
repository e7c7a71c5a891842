"""Task-level selection (Veniat et al. 2021): the grid on every task, the best on that task's validation data stays."""

from __future__ import annotations

from collections.abc import Sequence

from engram.errors import BadSetting
from engram.learners import learner_settings
from engram.nodes import Node
from engram.protocols.measuring import PLAIN, Measuring
from engram.protocols.policy import Grid, Kept, Policy, Protocol, best, decision, grown


class TaskLevel(Protocol):
    name = "task-level"
    help = "the grid under the current node for every task; keeps the best validation accuracy on the current task"

    def check(self, learner: str, tasks: int, grid: Grid, measuring: Measuring = PLAIN) -> None:
        for name, setting in learner_settings(learner).items():
            if setting.lasting and tasks > 1 and len({str(settings[name]) for settings in grid}) > 1:
                raise BadSetting(
                    f"{name} cannot be chosen task by task, because what learner '{learner}' keeps of earlier "
                    "tasks depends on it; give it one value, or choose with --protocol stream-level"
                )

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
