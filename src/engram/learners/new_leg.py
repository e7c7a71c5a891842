"""A new first module for every task; all the rest is shared, the output layer included."""

from __future__ import annotations

from engram.core import Lesson
from engram.costs import forward_flops, head_flops
from engram.errors import BadData
from engram.learners.partly_private import SharesTrunk


class NewLeg(SharesTrunk):
    """Veniat et al. 2021, New-leg freeze and New-leg finetune."""

    name = "new-leg"

    def private(self) -> slice:
        return slice(0, self.network.trunk.first_size())

    def begin(self, lesson: Lesson) -> None:
        if self.outputs.tasks and len(lesson.classes) != self.network.rows:
            raise BadData(
                f"new-leg shares one output layer: task {lesson.index + 1} ({lesson.name}) has {len(lesson.classes)} "
                f"classes, the first had {self.network.rows}; use new-head"
            )
        super().begin(lesson)

    def frozen_flops(self) -> int:
        """Forward, the gradient through every layer, and weight gradients of the first module only."""
        first = forward_flops(self.network.trunk.first_module(), self.outline.shape)
        return 2 * (self.forward_flops + head_flops(self.network, self.network.rows)) + first
