"""Networks: a trunk that turns samples into features, and the flat vector that holds all its parameters.

The registry is the folder: a trunk here that has a `name` is a network. Adding one is one file.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import torch

from engram.errors import BadSetting
from engram.networks.devices import find_device
from engram.networks.flat import FREEZE_BN_STATS, HEAD, FlatNetwork, Outputs, head_scores
from engram.networks.module import Module, adopt, is_network
from engram.networks.trunk import Trunk
from engram.own import Registry, in_folder
from engram.settings import declared, resolve


@cache
def _library() -> dict[str, type[Trunk]]:
    """Those of this folder."""
    return in_folder(__name__, lambda value: isinstance(value, type) and issubclass(value, Trunk))


NETWORKS: Registry[type[Trunk]] = Registry(
    "network", _library, is_network, "torch.nn.Module or function that returns one", adopt
)

__all__ = [
    "FREEZE_BN_STATS",
    "HEAD",
    "NETWORKS",
    "Blueprint",
    "FlatNetwork",
    "Outputs",
    "Trunk",
    "find_device",
    "head_scores",
    "network_class",
    "refuse_if_of_others",
]
NEARLY = 0.8  # how alike two names are of which one is taken for a slip of the other


def network_class(name: str) -> type[Trunk]:
    return NETWORKS[name]


def refuse_if_of_others(setting: str, known: Iterable[str]) -> None:
    """Say of a setting that is not `known` which networks have it, unless it is nearly the name of one that is."""
    networks = [name for name, network in _library().items() if setting in declared(network)]
    if networks and not difflib.get_close_matches(setting, known, n=1, cutoff=NEARLY):
        raise BadSetting(
            f"{setting} is a setting of {', '.join(sorted(networks))}, and not of the network here; choose one of "
            "these, or leave it out"
        )


@dataclass(frozen=True)
class Blueprint:
    """A network by name and settings, and the device that it is on: what a learner builds its trunks from."""

    name: str
    settings: Mapping[str, Any]
    device: str = "cpu"

    @staticmethod
    def of(name: str = "mlp", **given: Any) -> Blueprint:
        """Defaults filled in and checked."""
        return Blueprint(name, resolve(f"network '{name}'", declared(network_class(name)), given))

    def to_json(self) -> list[Any]:
        return [self.name, dict(self.settings), *self.elsewhere]

    @staticmethod
    def from_json(name: str, settings: Mapping[str, Any], device: str = "cpu") -> Blueprint:
        """Refused where there is no such device."""
        return Blueprint.of(name, **settings).on(find_device(device))

    def on(self, device: str) -> Blueprint:
        return replace(self, device=device)

    @property
    def elsewhere(self) -> list[str]:
        """The device, if it is not the one that goes without saying."""
        return [] if self.device == "cpu" else [self.device]

    def parameters(self, shape: tuple[int, ...], outputs: int) -> int:
        """How many a network with so many outputs has, found without building it."""
        cls: Any = network_class(self.name)
        trunk, features = _sizes(cls, tuple(sorted(self.settings.items())), shape)
        return trunk + outputs * (features + 1)

    def build(self, shape: tuple[int, ...], seed: int) -> FlatNetwork:
        """A freshly initialised network without outputs. The same seed gives the same weights on every device."""
        return FlatNetwork(self.trunk(shape, seed))

    def trunk(self, shape: tuple[int, ...], seed: int) -> Trunk:
        """Its trunk alone."""
        return network_class(self.name)(shape, seed, self.settings).to(self.device)


@lru_cache(maxsize=4096)
def _sizes(cls: Any, settings: tuple[tuple[str, Any], ...], shape: tuple[int, ...]) -> tuple[int, int]:
    """Parameters of a trunk, and features that it gives: from a copy on a device that has shapes and no memory, which a
    module of a user's own may not know."""
    with torch.device("cpu" if issubclass(cls, Module) else "meta"):
        trunk = cls(shape, 0, dict(settings))
    return sum(parameter.numel() for parameter in trunk.parameters()), trunk.features
