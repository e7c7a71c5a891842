"""A library of modules: frozen parts of networks, layer by layer, and for every task its path through them.

    layer       stem   group1   …   head
    task 1        0       0     …     0
    task 2        0       0     …     1       shares all but the head with task 1
    task 3        1       1     …     2

A module is one vector: its parameters, then what it keeps beside them (running statistics). It never changes, so every
path computes the same for ever, and what several paths have in common is there once.

Two kinds are in no network. A first module may be an adapter, which mixes the colours of every pixel, before another
first module. And a head may be `pooled`: it is given the mean features of all modules of its path, and not only those
of the last one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from engram.costs import module_flops
from engram.errors import BadSetting
from engram.networks import HEAD, Blueprint, FlatNetwork, Trunk, head_scores
from engram.networks.adapter import mixed, mixture_flops
from engram.networks.cut import into_modules, only, require_untouched
from engram.settings import declared, revised

Path = tuple[int, ...]  # the number of a module in each layer; the beginning of one is a path too
MODULES = "modules"  # how names of modules begin in a state


class Library:
    """`layers` are their names, the head last; `modules` has for each layer its modules by number, `paths` that of
    every task. New modules begin with the values that the whole network would have."""

    def __init__(self, blueprint: Blueprint, shape: tuple[int, ...], seed: int, count: int = 0):
        """`count`: how many modules a path has, the head included; 0 is as many as the network names."""
        if count == 1:
            raise BadSetting(
                "modules=1 leaves nothing to share: a path has its outputs and at least one module before them; give 2 "
                "or more, or 0 for those that the network names"
            )
        self._blueprint, self.shape, self._seed, self._count = blueprint, shape, seed, count
        self._bench = FlatNetwork(self._trunk())  # where modules are put to compute with
        self._bench.train_only(())
        self.layers = [*self._bench.trunk.modules_by_name, HEAD]
        if len(self.layers) == 1:
            raise BadSetting(
                f"there are no modules to share in network '{blueprint.name}', which has none before its outputs; "
                "use a network with layers of its own"
            )
        _require_floats(self._bench, blueprint.name)
        require_untouched(self._bench.trunk, shape)
        self._flops = module_flops(self._bench.trunk, shape)
        self.modules: list[dict[int, Tensor]] = [{} for _ in self.layers]
        self.paths: dict[int, Path] = {}
        self.adapters: dict[int, int] = {}  # by its number: before which first module it stands
        self.pooled: set[int] = set()  # heads
        self._put: dict[int, int] = {}  # which module of each layer is on the bench

    def _trunk(self) -> Trunk:
        return into_modules(self._blueprint.trunk(self.shape, self._seed), max(self._count - 1, 0))

    @property
    def device(self) -> torch.device:
        return self._bench.theta.device

    @property
    def features(self) -> int:
        """How many numbers a head is given."""
        return self._bench.trunk.features

    def fresh(self, rows: Tensor) -> FlatNetwork:
        """A new module in each layer, with these rows of a head."""
        network = self.part(0, None)
        network.append(rows)
        return network

    def part(self, start: int, stop: int | None, like: Path = ()) -> FlatNetwork:
        """New modules from one layer to another, without a head; they begin with the values of those of a path, if one
        is given, or as new."""
        network = FlatNetwork(only(self._trunk(), start, stop))
        for layer, number in list(enumerate(like))[start : min(len(self.layers) - 1, stop or len(like))]:
            _put(network, self.layers[layer], self.modules[layer][self.plain_number(layer, number)])
        return network

    def hand_over(self, giver: FlatNetwork, taker: FlatNetwork) -> None:
        """Give a network the modules and the head of another that has all of its own and perhaps more."""
        for name in taker.blocks:
            _put(taker, name, _values(giver, name))

    @property
    def is_ours(self) -> bool:
        """Whether all code of its modules is the library's."""
        return self._bench.trunk.is_ours

    def named_values(self, modules: Iterable[tuple[int, int]]) -> dict[str, Tensor]:
        """Those of modules (layer and number) and of the adapters before them; names say what of the network they are
        and which network that is."""
        found, network = {}, " ".join(map(str, [self._blueprint.to_json(), self._count, *self._revised()]))
        for layer, number in modules:
            found[f"{network} {layer}"] = self.modules[layer][self.plain_number(layer, number)]
            while layer == 0 and number in self.adapters:
                found[f"{network} adapter {len(found)}"] = self.modules[0][number]
                number = self.adapters[number]
        return found

    def _revised(self) -> list[dict[str, int]]:
        found = revised(declared(type(self._bench.trunk)), self._blueprint.settings)
        return [found] if found else []

    def plain_number(self, layer: int, number: int) -> int:
        """The module itself, without the adapters before it."""
        while layer == 0 and number in self.adapters:
            number = self.adapters[number]
        return number

    def new_parameters(self, outputs: int) -> int:
        """How many numbers are kept of a new module in each layer."""
        names = self.layers[:-1]
        return sum(len(_values(self._bench, name)) for name in names) + outputs * (self.features + 1)

    def add(self, task: int, prefix: Path, network: FlatNetwork | None = None, suffix: Path = ()) -> Path:
        """Give a task a path: these modules, then those of the network, which join, then these."""
        path, stop = list(prefix), len(self.layers) - len(suffix)
        for layer in range(len(prefix), stop):
            assert network is not None
            path.append(self._join(layer, _values(network, self.layers[layer])))
        self.paths[task] = (*path, *suffix)
        return self.paths[task]

    def add_adapter(self, task: int, values: Tensor, path: Path) -> Path:
        """Give a task a path with an adapter before it."""
        number = self._join(0, values)
        self.adapters[number] = path[0]
        self.paths[task] = (number, *path[1:])
        return self.paths[task]

    def add_pooled(self, task: int, prefix: Path, rows: Tensor) -> Path:
        """Give a task a path with a pooled head."""
        number = self._join(len(prefix), rows.flatten())
        self.pooled.add(number)
        self.paths[task] = (*prefix, number)
        return self.paths[task]

    def _join(self, layer: int, values: Tensor) -> int:
        number = max(self.modules[layer], default=-1) + 1
        self.modules[layer][number] = values.clone()
        return number

    def apply(self, layer: int, number: int, x: Tensor) -> Tensor:
        """What a module makes of a batch of samples (the first), or of what the one before it has made of them."""
        while layer == 0 and number in self.adapters:
            x, number = mixed(x, self.modules[0][number]), self.adapters[number]
        name, trunk = self.layers[layer], self._bench.trunk
        if self._put.get(layer) != number:
            _put(self._bench, name, self.modules[layer][number])
            self._put[layer] = number
        x = x if layer else trunk.laid_out(x)
        with trunk.running():
            for each in trunk.modules_by_name[name]:
                x = each(x)
        return x.float() if layer == len(self.layers) - 2 else x  # between modules as inside a network

    def scores(self, number: int, features: Tensor) -> Tensor:
        """The outputs of a head."""
        return head_scores(features, self.modules[-1][number].view(-1, features.shape[1] + 1))

    def outputs(self, path: Path) -> int:
        """How many a whole path has; 0 where its head cannot be used with other modules."""
        return 0 if path[-1] in self.pooled else len(self.modules[-1][path[-1]]) // (self.features + 1)

    def predict(self, path: Path, x: Tensor) -> Tensor:
        """The scores of a whole path, which needs its own modules and no others."""
        found = [x]
        with torch.no_grad():
            for layer, number in enumerate(path[:-1]):
                found.append(self.apply(layer, number, found[-1]))
            features = torch.cat([pool(each) for each in found[1:]], 1) if path[-1] in self.pooled else found[-1]
            return self.scores(path[-1], features)

    def flops(self, layer: int, number: int | None = None) -> int:
        """Operations of a module for one sample, with those of the adapters before it."""
        extra = 0
        while layer == 0 and number in self.adapters:
            extra, number = extra + mixture_flops(self.shape), self.adapters[number]
        return self._flops[layer][0] + extra

    def first_flops(self, layer: int) -> int:
        """Of these, those of a module's first layer."""
        return self._flops[layer][1]

    @property
    def bytes(self) -> int:
        return sum(4 * len(values) for modules in self.modules for values in modules.values())

    def parameters(self) -> Tensor:
        """All modules, layer by layer."""
        found = [modules[number] for modules in self.modules for number in sorted(modules)]
        return torch.cat([self._bench.theta.new_empty(0), *found])

    def tensors(self) -> dict[str, Tensor]:
        return {
            f"{MODULES}.{layer}.{number}": values
            for layer, modules in enumerate(self.modules)
            for number, values in modules.items()
        }

    def plain(self) -> dict[str, Any]:
        found: dict[str, Any] = {"paths": [[task, list(path)] for task, path in self.paths.items()]}
        if self.adapters or self.pooled:
            found |= {"adapters": list(self.adapters.items()), "pooled": sorted(self.pooled)}
        return found

    def load(self, tensors: Mapping[str, Tensor], plain: Mapping[str, Any]) -> None:
        """`tensors` by the rest of their names."""
        self.modules, self._put = [{} for _ in self.layers], {}
        for name, values in tensors.items():
            layer, number = map(int, name.split("."))
            self.modules[layer][number] = values.clone()
        self.paths = {task: tuple(path) for task, path in plain["paths"]}
        self.adapters, self.pooled = dict(plain.get("adapters", ())), set(plain.get("pooled", ()))


def pool(x: Tensor) -> Tensor:
    """The mean of every feature map; features that are numbers stay."""
    return x.float().flatten(2).mean(2) if x.dim() > 2 else x.float()


def _values(network: FlatNetwork, block: str) -> Tensor:
    """A module as one vector. The number of batches that batch normalisation has seen is a float there, which holds it
    exactly up to 16 million."""
    buffers = network.buffers([block]).values()
    return torch.cat([network.theta[network.blocks[block]], *(buffer.flatten().float() for buffer in buffers)])


def _put(network: FlatNetwork, block: str, values: Tensor) -> None:
    """Make this the network's module of that name."""
    span = network.blocks[block]
    start = span.stop - span.start
    network.theta[span] = values[:start]
    for buffer in network.buffers([block]).values():
        buffer.copy_(values[start : start + buffer.numel()].view(buffer.shape))
        start += buffer.numel()


def _require_floats(network: FlatNetwork, name: str) -> None:
    for buffer, values in network.buffers().items():
        if values.dtype != torch.float32 and values.dim():
            raise BadSetting(
                f"a library keeps modules in float32, but '{buffer}' of network '{name}' is {values.dtype}; make it "
                "float32, or a parameter"
            )
