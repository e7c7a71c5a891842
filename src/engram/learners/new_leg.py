"""A new first module for every task; all the rest is shared, the output layer included.

Every task gets a first module of its own, which translates its samples for the rest of the network. All the rest is
shared, and frozen after the first task unless it is asked to go on learning. It suits tasks that differ in how samples
look and not in what is to be told apart.
"""

from __future__ import annotations

from collections.abc import Iterable

from engram.core import Lesson, Task
from engram.errors import BadData, BadSetting
from engram.networks import HEAD
from engram.parts.partly_private import PartlyPrivate


class NewLeg(PartlyPrivate):
    """Veniat et al. 2021, New-leg freeze and New-leg finetune."""

    name = "new-leg"
    keeps = "a module of every task"
    paper = "Veniat et al.: Efficient continual learning with modular networks and task-driven priors, ICLR 2021"
    bits = 1  # frozen modules are in evaluation mode; the first module is one that the network names

    def private(self) -> list[str]:
        """The first module that has parameters."""
        first = next(name for name, span in self.network.blocks.items() if name == HEAD or span.stop > span.start)
        if first == HEAD:
            raise BadSetting(
                f"new-leg renews the first module, but network '{self.blueprint.name}' has none before its outputs; "
                "use a network with layers of its own"
            )
        return [first]

    @classmethod
    def require_tasks(cls, tasks: Iterable[Task | Lesson], seen: int = 0) -> None:
        outputs = None
        for task in tasks:
            outputs = outputs or len(task.classes)
            _require_as_many(task, outputs)

    def begin(self, lesson: Lesson) -> None:
        if self.outputs.tasks:
            _require_as_many(lesson, self.network.rows)
        super().begin(lesson)


def _require_as_many(task: Task | Lesson, outputs: int) -> None:
    if len(task.classes) != outputs:
        raise BadData(
            f"new-leg shares one output layer: task {task.index + 1} ({task.name}) has {len(task.classes)} classes, "
            f"the first had {outputs}; use new-head"
        )
