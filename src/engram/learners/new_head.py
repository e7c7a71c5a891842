"""A shared trunk with new outputs for every task.

The first task trains a network, and every later one gets only outputs of its own on the same features. With a frozen
trunk nothing is forgotten, but later tasks have to do with what the first one taught. With `trunk=finetune` the
features go on learning, and earlier outputs suffer.
"""

from __future__ import annotations

from engram.networks import HEAD
from engram.parts.partly_private import PartlyPrivate


class NewHead(PartlyPrivate):
    """Veniat et al. 2021, New-head freeze and New-head finetune."""

    name = "new-head"
    keeps = "outputs of every task"
    paper = "Veniat et al.: Efficient continual learning with modular networks and task-driven priors, ICLR 2021"
    bits = 1  # frozen modules are in evaluation mode

    def private(self) -> list[str]:
        return [HEAD]
