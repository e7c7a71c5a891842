"""Trunks cut between their modules: into fewer or more of them, or down to some that follow one another."""

from __future__ import annotations

import copy
from itertools import chain

import torch
from torch import nn

from engram.errors import BadSetting
from engram.networks.blocks import Modules, fold
from engram.networks.trunk import Trunk


def into_modules(trunk: Trunk, count: int) -> Trunk:
    """The same trunk in so many modules, without the output layer; 0: in those that it names itself.

    Fewer are made by joining neighbours, the last ones first; more by taking the blocks of layers one by one. None of
    them works in place, because what one gives may be given to several."""
    own = _joined_with_empty(trunk)
    parts = _blocks(own) if count > len(own) else own
    if count > len(parts):
        raise BadSetting(
            f"network '{trunk.name}' cannot be cut into {count + 1} modules, the output layer among them; give at most "
            f"{len(parts) + 1}"
        )
    trunk.modules_by_name = _merged(parts, count or len(parts))
    for layer in trunk.modules():
        if getattr(layer, "inplace", False):
            layer.inplace = False  # type: ignore[assignment]
    return trunk


def require_untouched(trunk: Trunk, shape: tuple[int, ...]) -> None:
    """Refuse modules that write into what they are given, in training or in evaluation."""
    trunk = copy.deepcopy(trunk)  # whose running statistics may change
    trunk.reseed(torch.Generator())
    with torch.random.fork_rng(devices=[]), torch.no_grad(), trunk.running():
        for training in (True, False):
            x = trunk.train(training).laid_out(torch.zeros(2, *shape, device=trunk.device))
            for name, layers in trunk.modules_by_name.items():
                given, version = x, x._version
                for layer in layers:
                    x = layer(x)
                if given._version != version:
                    raise BadSetting(
                        f"module '{name}' of network '{trunk.name}' writes into what it is given, and other modules "
                        "are given the same; let it make new values, as relu does and relu_ does not"
                    )


def _joined_with_empty(trunk: Trunk) -> Modules:
    """Modules that have something to keep, each with the empty ones after it; the whole trunk as one, where they do not
    make it up one after another."""
    modules = trunk.modules_by_name
    if list(chain.from_iterable(modules.values())) != list(trunk.layers):
        modules = {"trunk": list(trunk.layers)}
    folded = fold((name, nn.Sequential(*layers)) for name, layers in modules.items())
    return {name: list(chain.from_iterable(parts)) for name, parts in folded.items()}  # type: ignore[arg-type]


def _blocks(modules: Modules) -> Modules:
    """A module for every layer that has a matrix: what follows it, normalisation too, goes with it."""
    found: Modules = {}
    for name, layers in modules.items():
        begins = [k for k, layer in enumerate(layers) if any(p.dim() > 1 for p in layer.parameters())] or [0]
        for number, (start, stop) in enumerate(zip([0, *begins[1:]], [*begins[1:], len(layers)]), start=1):
            found[f"{name}.{number}"] = layers[start:stop]
    return found


def _merged(modules: Modules, count: int) -> Modules:
    """Neighbours joined until so many are left; where they do not come out even, the last ones have more."""
    names = list(modules)
    ends = [(k + 1) * len(names) // count for k in range(count)]
    groups = [names[start:end] for start, end in zip([0, *ends], ends)]
    return {"+".join(group): [layer for name in group for layer in modules[name]] for group in groups}


def only(trunk: Trunk, start: int, stop: int | None = None) -> Trunk:
    """The trunk cut down to its modules from `start` to `stop`; it takes what those before them give."""
    trunk.home = trunk.device
    names = list(trunk.modules_by_name)[start:stop]
    trunk.ends = stop is None or stop >= len(trunk.modules_by_name)
    for layer in trunk.layers:
        layer.eval()  # those that go stay so
    kept = {name: trunk.modules_by_name[name] for name in names}
    trunk.modules_by_name = _chained(kept) if start else kept
    trunk.layers = nn.Sequential(*chain.from_iterable(trunk.modules_by_name.values()))
    trunk.dropouts = [dropout for dropout in trunk.dropouts if dropout in set(trunk.modules())]
    trunk.begins = start
    return trunk.train()


def _chained(modules: Modules) -> Modules:
    """A chain of linear layers begins with one that flattens, see `networks.chain`; flat samples it leaves as they
    are."""
    for name, layers in modules.items():
        return {**modules, name: [nn.Flatten(), *layers]} if isinstance(layers[0], nn.Linear) else modules
    return modules
