"""A new first module for every task; all the rest is shared, the output layer included."""

from __future__ import annotations

from engram.core import Lesson
from engram.errors import BadData, BadSetting
from engram.networks import HEAD
from engram.parts.partly_private import PartlyPrivate


class NewLeg(PartlyPrivate):
    """Veniat et al. 2021, New-leg freeze and New-leg finetune."""

    name = "new-leg"
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

    def begin(self, lesson: Lesson) -> None:
        if self.outputs.tasks and len(lesson.classes) != self.network.rows:
            raise BadData(
                f"new-leg shares one output layer: task {lesson.index + 1} ({lesson.name}) has {len(lesson.classes)} "
                f"classes, the first had {self.network.rows}; use new-head"
            )
        super().begin(lesson)
