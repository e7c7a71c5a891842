"""Columns of a progressive network: a trunk of its own for every task, which also looks at those of all tasks before.

    h_t^l = act( own^l(h_t^(l−1)) + Σ_{j<t} lateral_j^l(h_j^(l−1)) )

A lateral module is of the same kind as the own one beside it, whole, with biases and normalisation. The first module
has none, the output layer has. What a module does after its last layer that has parameters is done to the sum.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engram.costs import module_flops
from engram.errors import BadSetting
from engram.networks import Blueprint, FlatNetwork, Trunk
from engram.networks.blocks import keeps
from engram.networks.cut import into_modules, only, require_untouched
from engram.randomness import derived_seed

LATERAL = "lateral"  # how names of lateral modules begin
Layers = Sequence[nn.Module]
Hidden = list[Tensor]  # what each module of a column gives


def build(blueprint: Blueprint, shape: tuple[int, ...], seed: int, earlier: Sequence[FlatNetwork]) -> FlatNetwork:
    """The next column, without outputs. The first one is the network itself, and each own trunk begins as it does."""
    seeds = [derived_seed(seed, LATERAL, len(earlier), j) for j in range(len(earlier))]
    own, *laterals = (into_modules(blueprint.trunk(shape, each), 0) for each in (seed, *seeds))
    if not own.modules_by_name:
        raise BadSetting(
            f"a column of network '{blueprint.name}' would have no modules, because it has none before its outputs; "
            "use a network with layers of its own"
        )
    require_untouched(own, shape)
    if not earlier:
        return FlatNetwork(own)
    return FlatNetwork(LateralColumn(own, [only(lateral, 1) for lateral in laterals], [each.trunk for each in earlier]))


class LateralColumn(Trunk):
    """A trunk, and beside it one without its first module for each earlier column. Its features are its own, and then
    of each earlier column the features and a one, for the bias of the lateral output layer."""

    def __init__(self, own: Trunk, laterals: Sequence[Trunk], earlier: Sequence[Trunk]):
        nn.Module.__init__(self)
        self.own, self.laterals = own, nn.ModuleList(laterals)
        columns = (each if isinstance(each, LateralColumn) else LateralColumn(each, [], []) for each in earlier)
        self.earlier = [column.eval() for column in columns]  # in a list, so that they are not its own
        self.layers = nn.Sequential()  # it is no sequence
        self.home = own.home
        self.features = own.features + len(laterals) * (own.features + 1)
        self.modules_by_name = dict(own.modules_by_name)
        for number, lateral in enumerate(laterals):
            parts = lateral.modules_by_name.items()
            self.modules_by_name |= {f"{LATERAL}{number}.{name}": layers for name, layers in parts}
        self._stages = _stages(own, laterals)

    def forward(self, x: Tensor) -> Tensor:
        self.own.check(x)
        x = self.own.laid_out(x)
        past: list[Hidden] = []
        with self.own.running():
            with torch.no_grad():
                for column in self.earlier:
                    past.append(column.hidden(x, past))
            own = self.hidden(x, past)[-1]
        return torch.cat([own, *(F.pad(each[-1], (0, 1), value=1.0) for each in past)], 1).float()

    def hidden(self, x: Tensor, past: Sequence[Hidden]) -> Hidden:
        """What each module gives for a batch, from what those of the columns before this one gave."""
        found: Hidden = []
        for (own, *laterals), after in self._stages:
            total = _through(own, found[-1] if found else x)
            for lateral, theirs in zip(laterals, past):
                total = total + _through(lateral, theirs[len(found) - 1])
            found.append(_through(after, total))
        return found

    @property
    def draws(self) -> bool:
        return self.own.draws

    def reseed(self, generator: torch.Generator) -> None:
        self.own.reseed(generator)

    def head_rows(self, rows: int, generator: torch.Generator) -> Tensor:
        """Those of a network of its own, and beside them lateral ones, each with its bias."""
        own, *others = (self.own.head_rows(rows, generator) for _ in range(1 + len(self.laterals)))
        return torch.cat([own[:, :-1], *others, own[:, -1:]], 1)


def _stages(own: Trunk, laterals: Sequence[Trunk]) -> list[tuple[list[Layers], Layers]]:
    """For each place in a column the layers before the sum, its own and the lateral ones, and those after it."""
    beside = [[_divided(layers)[0] for layers in each.modules_by_name.values()] for each in laterals]
    found = []
    for place, layers in enumerate(own.modules_by_name.values()):
        weighted, after = _divided(layers)
        found.append(([weighted, *(modules[place - 1] for modules in beside if place)], after))
    return found


def _divided(layers: Layers) -> tuple[Layers, Layers]:
    """A module's layers up to the last one that keeps something, and what comes after it."""
    last = max(place for place, layer in enumerate(layers) if keeps(layer))
    return layers[: last + 1], layers[last + 1 :]


def _through(layers: Layers, x: Tensor) -> Tensor:
    for layer in layers:
        x = layer(x)
    return x


def column_flops(network: FlatNetwork, shape: tuple[int, ...]) -> int:
    """Operations of a column's features for one sample, those of all columns before it included."""
    return sum(own_flops(trunk, shape) for trunk in (network.trunk, *getattr(network.trunk, "earlier", ())))


def own_flops(trunk: Trunk, shape: tuple[int, ...]) -> int:
    """Those of its own modules and of lateral ones."""
    return sum(flops for flops, _ in module_flops(trunk, shape))


def spared_flops(network: FlatNetwork, shape: tuple[int, ...]) -> int:
    """Operations that a backward pass does not have: nobody needs a gradient of what goes into a lateral module."""
    by_name = zip(network.trunk.modules_by_name, module_flops(network.trunk, shape), strict=True)
    return sum(first for name, (_, first) in by_name if name.startswith(LATERAL))
