"""A shared trunk and a new output layer for every task."""

from __future__ import annotations

import torch

from engram.costs import BACKWARD, head_flops
from engram.learners.partly_private import SharesTrunk
from engram.networks import FlatNetwork


class NewHead(SharesTrunk):
    """Veniat et al. 2021, New-head freeze and New-head finetune."""

    name = "new-head"

    def private(self) -> slice:
        return slice(self.network.trunk_size, len(self.network.theta))

    def renew(self, fresh: FlatNetwork) -> None:
        split = self.network.trunk_size  # the new head may have more or fewer outputs than the last
        self.network.assign(torch.cat([self.network.theta[:split], fresh.theta[split:]]))

    def frozen_flops(self) -> int:
        """The trunk is only run forward."""
        return self.forward_flops + (1 + BACKWARD) * head_flops(self.network, self.network.rows)
