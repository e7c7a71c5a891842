"""Networks: a trunk that turns samples into features, and the flat vector that holds all its parameters.

Adding a network is one file with a class that declares its settings and is listed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engram.networks.cnn import PfuelbConv, RWalkCNN
from engram.networks.flat import FlatNetwork, Outputs
from engram.networks.mlp import MLP
from engram.networks.module import adopt, is_network
from engram.networks.resnet import ResNet18Reduced
from engram.networks.trunk import Trunk
from engram.own import Registry
from engram.settings import declared, resolve

_LIBRARY: dict[str, type[Trunk]] = {cls.name: cls for cls in (MLP, RWalkCNN, PfuelbConv, ResNet18Reduced)}
NETWORKS: Registry[type[Trunk]] = Registry(
    "network", lambda: _LIBRARY, is_network, "torch.nn.Module or function that returns one", adopt
)

__all__ = ["NETWORKS", "Blueprint", "FlatNetwork", "Outputs", "Trunk", "network_class"]


def network_class(name: str) -> type[Trunk]:
    return NETWORKS[name]


@dataclass(frozen=True)
class Blueprint:
    """A network by name and settings: what a learner builds its trunks from."""

    name: str
    settings: Mapping[str, Any]

    @staticmethod
    def of(name: str = "mlp", **given: Any) -> Blueprint:
        """Defaults filled in and checked."""
        return Blueprint(name, resolve(f"network '{name}'", declared(network_class(name)), given))

    def build(self, shape: tuple[int, ...], seed: int) -> FlatNetwork:
        """A freshly initialised network without outputs. The same seed gives the same weights."""
        return FlatNetwork(network_class(self.name)(shape, seed, self.settings))
