"""The named modules of a trunk, and where their parameters lie in one vector."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torch import nn

Modules = dict[str, list[nn.Module]]


def fold(named: Iterable[tuple[str, nn.Module]]) -> Modules:
    """Modules by name; one that keeps nothing (an activation, a pooling) goes with the one before it.

    >>> list(fold(nn.Sequential(nn.Flatten(), nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 2)).named_children()))
    ['1', '3']
    """
    found: Modules = {}
    ahead: list[nn.Module] = []
    for name, module in named:
        if keeps(module):
            found[name], ahead = [*ahead, module], []
        else:
            (next(reversed(found.values())) if found else ahead).append(module)
    return found


def keeps(module: nn.Module) -> bool:
    """Whether it has parameters or buffers."""
    return any(True for _ in (*module.parameters(), *module.buffers()))


def spans(trunk: nn.Module, modules: Modules) -> dict[str, slice] | None:
    """Where the parameters of each module lie among the trunk's; None if they do not follow one another in this order,
    or leave some out."""
    own: dict[int, str] = {}
    for name, layers in modules.items():
        for parameter in (p for layer in layers for p in layer.parameters()):
            own.setdefault(id(parameter), name)
    if list(own) != [id(parameter) for parameter in trunk.parameters()]:
        return None
    sizes = dict.fromkeys(modules, 0)
    for parameter in trunk.parameters():
        sizes[own[id(parameter)]] += parameter.numel()
    return follow(0, sizes)


def follow(start: int, sizes: dict[str, int]) -> dict[str, slice]:
    """Blocks of these sizes, one after another.

    >>> follow(2, {"a": 3, "b": 1})
    {'a': slice(2, 5, None), 'b': slice(5, 6, None)}
    """
    found = {}
    for name, size in sizes.items():
        found[name] = slice(start, start + size)
        start += size
    return found


def merge(parts: Sequence[slice]) -> list[slice]:
    """The same places in as few slices as there can be.

    >>> merge([slice(0, 2), slice(2, 5), slice(7, 9)])
    [slice(0, 5, None), slice(7, 9, None)]
    """
    merged: list[slice] = []
    for part in parts:
        if merged and merged[-1].stop == part.start:
            merged[-1] = slice(merged[-1].start, part.stop)
        else:
            merged.append(part)
    return merged
