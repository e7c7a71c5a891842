"""A library of modules: frozen parts of networks, layer by layer, and for every task its path through them.

    layer       stem   group1   …   head
    task 1        0       0     …     0
    task 2        0       0     …     1       shares all but the head with task 1
    task 3        1       1     …     2

A module is one vector: its parameters, then what it keeps beside them (running statistics). It never changes, so every
path computes the same for ever, and what several paths begin with is there once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from engram.costs import module_flops
from engram.errors import BadSetting
from engram.networks import HEAD, Blueprint, FlatNetwork, Trunk, head_scores
from engram.networks.cut import into_modules, only

Path = tuple[int, ...]  # the number of a module in each layer; the beginning of one is a path too
MODULES = "modules"  # how names of modules begin in a state


class Library:
    """`layers` are their names, the head last; `modules` has for each layer its modules by number, `paths` that of
    every task. New modules begin with the values that the whole network would have."""

    def __init__(self, blueprint: Blueprint, shape: tuple[int, ...], seed: int, count: int = 0):
        """`count`: how many modules a path has, the head included; 0 is as many as the network names."""
        self._blueprint, self._shape, self._seed, self._count = blueprint, shape, seed, count
        self._bench = FlatNetwork(self._trunk())  # where modules are put to compute with
        self._bench.train_only(())
        self.layers = [*self._bench.trunk.modules_by_name, HEAD]
        if len(self.layers) == 1:
            raise BadSetting(
                f"there are no modules to share in network '{blueprint.name}', which has none before its outputs; "
                "use a network with layers of its own"
            )
        _require_floats(self._bench, blueprint.name)
        self.flops = module_flops(self._bench.trunk, shape)
        self.modules: list[dict[int, Tensor]] = [{} for _ in self.layers]
        self.paths: dict[int, Path] = {}
        self._put: dict[int, int] = {}  # which module of each layer is on the bench

    def _trunk(self) -> Trunk:
        return into_modules(self._blueprint.trunk(self._shape, self._seed), max(self._count - 1, 0))

    @property
    def features(self) -> int:
        """How many numbers a head is given."""
        return self._bench.trunk.features

    def fresh(self, start: int, rows: Tensor) -> FlatNetwork:
        """New modules from a layer on, with these rows of a head."""
        network = FlatNetwork(only(self._trunk(), start))
        network.append(rows)
        return network

    def new_parameters(self, start: int, outputs: int) -> int:
        """How many numbers are kept of new modules from a layer on."""
        return sum(self._size(layer) for layer in range(start, len(self.layers) - 1)) + outputs * (self.features + 1)

    def _size(self, layer: int) -> int:
        return len(_values(self._bench, self.layers[layer]))

    def add(self, task: int, prefix: Path, network: FlatNetwork | None = None) -> Path:
        """Give a task a path that begins with these modules and goes on with those of the network, which join."""
        path = list(prefix)
        for layer in range(len(prefix), len(self.layers)):
            assert network is not None
            number = max(self.modules[layer], default=-1) + 1
            self.modules[layer][number] = _values(network, self.layers[layer])
            path.append(number)
        self.paths[task] = tuple(path)
        return self.paths[task]

    def apply(self, layer: int, number: int, x: Tensor) -> Tensor:
        """What a module makes of a batch of samples (the first), or of what the one before it has made of them."""
        name, trunk = self.layers[layer], self._bench.trunk
        if self._put.get(layer) != number:
            _put(self._bench, name, self.modules[layer][number])
            self._put[layer] = number
        x = x if layer else trunk.laid_out(x)
        for each in trunk.modules_by_name[name]:
            x = each(x)
        return x

    def scores(self, number: int, features: Tensor) -> Tensor:
        """The outputs of a head."""
        return head_scores(features, self.modules[-1][number].view(-1, self.features + 1))

    def outputs(self, path: Path) -> int:
        """How many a whole path has."""
        return len(self.modules[-1][path[-1]]) // (self.features + 1)

    def predict(self, path: Path, x: Tensor) -> Tensor:
        """The scores of a whole path, which needs its own modules and no others."""
        with torch.no_grad():
            for layer, number in enumerate(path[:-1]):
                x = self.apply(layer, number, x)
            return self.scores(path[-1], x)

    def prefix_flops(self, prefix: Path) -> int:
        """Operations of some first modules for one sample."""
        return sum(flops for flops, _ in self.flops[: len(prefix)])

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
        return {"paths": [[task, list(path)] for task, path in self.paths.items()]}

    def load(self, tensors: Mapping[str, Tensor], plain: Mapping[str, Any]) -> None:
        """`tensors` by the rest of their names."""
        self.modules, self._put = [{} for _ in self.layers], {}
        for name, values in tensors.items():
            layer, number = map(int, name.split("."))
            self.modules[layer][number] = values.clone()
        self.paths = {task: tuple(path) for task, path in plain["paths"]}


class Walk:
    """Frozen modules applied to a batch, along one path after another. What the next has in common with the last one is
    not computed again: of paths in order every distinct beginning is computed once."""

    def __init__(self, library: Library):
        self.library = library
        self.operations = 0
        self.forget()

    def forget(self) -> None:
        """Hold no batch."""
        self._path: Path = ()
        self._known: list[Tensor] = []  # the batch, and what each module of the path has made of it

    def at(self, x: Tensor, prefix: Path) -> Tensor:
        """What these first modules make of a batch."""
        if not self._known or self._known[0] is not x:
            self._path, self._known = (), [x]
        common = _common(self._path, prefix)
        if common < len(prefix):
            del self._known[common + 1 :]
            self._path = prefix
        with torch.no_grad():
            for layer in range(common, len(prefix)):
                self._known.append(self.library.apply(layer, prefix[layer], self._known[-1]))
                self.operations += len(x) * self.library.flops[layer][0]
        return self._known[len(prefix)]


def beginnings(paths: Iterable[Path]) -> list[Path]:
    """Every distinct beginning of these paths without their heads, the empty one too, in the order of a `Walk`.

    >>> beginnings([(0, 0, 1), (0, 2, 3)])
    [(), (0,), (0, 0), (0, 2)]
    """
    return sorted({(), *(path[:length] for path in paths for length in range(1, len(path)))})


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """How many modules two paths begin with alike."""
    return next((k for k, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))


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
