"""A shared trunk and a new output layer for every task."""

from __future__ import annotations

from engram.networks import HEAD
from engram.parts.partly_private import PartlyPrivate


class NewHead(PartlyPrivate):
    """Veniat et al. 2021, New-head freeze and New-head finetune."""

    name = "new-head"
    bits = 1  # frozen modules are in evaluation mode

    def private(self) -> list[str]:
        return [HEAD]
