"""A network of its own for every task: nothing is forgotten and nothing is transferred."""

from __future__ import annotations

from engram.parts.partly_private import PartlyPrivate


class Independent(PartlyPrivate):
    """Veniat et al. 2021, the reference of the transfer metric."""

    name = "independent"
    trunk = "finetune"  # withdraws the settings: nothing is shared
    freeze_bn_stats = False

    def private(self) -> list[str]:
        return list(self.network.blocks)
