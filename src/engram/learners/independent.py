"""A network of its own for every task: nothing is forgotten and nothing is transferred.

Every task trains a fresh network, and is predicted by it alone. So nothing can be forgotten, and nothing that was
learned before is of any help. Memory grows by a whole network a task; what other methods do better on their last task
is their transfer.
"""

from __future__ import annotations

from engram.parts.partly_private import PartlyPrivate


class Independent(PartlyPrivate):
    """Veniat et al. 2021, the reference of the transfer metric."""

    name = "independent"
    keeps = "a network for every task"
    paper = "Veniat et al.: Efficient continual learning with modular networks and task-driven priors, ICLR 2021"
    trunk = "finetune"  # withdraws the settings: nothing is shared
    freeze_bn_stats = False

    def private(self) -> list[str]:
        return list(self.network.blocks)
