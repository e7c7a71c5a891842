"""A network of its own for every task: nothing is forgotten and nothing is transferred."""

from __future__ import annotations

from engram.learners.partly_private import PartlyPrivate
from engram.networks import FlatNetwork


class Independent(PartlyPrivate):
    """Veniat et al. 2021, the reference of the transfer metric."""

    name = "independent"

    def private(self) -> slice:
        return slice(0, len(self.network.theta))

    def renew(self, fresh: FlatNetwork) -> None:
        self.network.assign(fresh.theta)  # it may have more outputs than the last task's network
