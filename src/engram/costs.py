"""What a learner costs, counted by one rule for all: the bytes that it must keep, the operations of its training.

Bytes are those of the tensors of its state between two tasks, which is what a checkpoint holds, itemised by the first
part of their names. Operations are 2 a multiply-add; a backward pass counts as two forward passes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from engram.core import State
from engram.networks import HEAD, FlatNetwork, Trunk
from engram.networks.expansion import Expansion

BACKWARD = 2  # forward passes that a backward pass counts as
Call = tuple[nn.Module, int]  # a layer that was called, and its operations
FISHER = 3  # and a pass for the exact diagonal Fisher information: forward, gradients of the outputs, their products


def itemise(state: State) -> dict[str, int]:
    """Bytes by item (parameters, heads, importance, …), with their `total`. A counter, as batch normalisation has one,
    takes 8 bytes in torch and counts as the 4 that it needs."""
    items: dict[str, int] = {}
    for name, tensor in state.tensors.items():
        item = name.split(".")[0]
        is_counter = not tensor.dim() and not tensor.is_floating_point()
        items[item] = items.get(item, 0) + (4 if is_counter else tensor.numel() * tensor.element_size())
    return {**items, "total": sum(items.values())}


class Counted(NamedTuple):
    """Operations, and the kinds of layers of which none were seen though they have weights to multiply by."""

    flops: int
    unseen: tuple[str, ...]


def counter() -> Any:
    """Torch's own count of the operations done inside its `with` block, as `get_total_flops()`: those of products,
    convolutions and attention, and here also of products in place and of solutions. Nothing else is counted: work on
    single elements, sums and products with one vector are small beside them."""
    from torch.utils.flop_counter import FlopCounterMode  # here, because it takes longer to import than all of Engram

    return FlopCounterMode(display=False, custom_mapping=_ALSO_COUNTED)


def count_forward(trunk: nn.Module, shape: tuple[int, ...]) -> Counted:
    """Operations for one sample: from the shapes of layers that are all known, else as torch counts them."""
    total, calls = _by_layer(trunk, shape)
    return Counted(total, tuple(dict.fromkeys(type(layer).__name__ for layer, flops in calls if not flops)))


def _by_layer(trunk: nn.Module, shape: tuple[int, ...]) -> tuple[int, list[Call]]:
    """All operations for one sample, and those of every layer that has some."""
    layers = [layer for layer in trunk.modules() if _multiplies(layer)]
    known = all(type(module).__module__.startswith(("engram.", "torch.nn.")) for module in trunk.modules())
    if known and all(isinstance(layer, (nn.Linear, nn.Conv2d, Expansion)) for layer in layers):
        calls = _from_shapes(trunk, layers, shape)
        return sum(flops for _, flops in calls), calls
    return _as_torch_counts(trunk, layers, shape)


def _from_shapes(trunk: nn.Module, layers: Sequence[nn.Module], shape: tuple[int, ...]) -> list[Call]:
    calls: list[Call] = []

    def count(layer: Any, _: object, output: Tensor) -> None:
        positions = output[0].numel() // len(layer.weight)  # each has a value of every output
        calls.append((layer, 2 * layer.weight.numel() * positions))

    with torch.no_grad(), _watched(trunk, [layer.register_forward_hook(count) for layer in layers]):
        trunk(_sample(trunk, shape))
    return calls


@contextmanager
def _watched(trunk: nn.Module, hooks: Sequence[Any]) -> Iterator[None]:
    """The trunk as it predicts, until its hooks are taken away."""
    was_training = bool(trunk.training)
    trunk.eval()
    try:
        yield
    finally:
        trunk.train(was_training)
        for hook in hooks:
            hook.remove()


def _as_torch_counts(trunk: nn.Module, layers: Sequence[nn.Module], shape: tuple[int, ...]) -> tuple[int, list[Call]]:
    seen: list[Call] = []
    before: list[int] = []
    with counter() as counted, torch.enable_grad():  # without gradients attention takes a way that torch does not count
        hooks = [layer.register_forward_pre_hook(lambda *_: before.append(_so_far(counted))) for layer in layers]
        hooks += [
            layer.register_forward_hook(lambda m, *_: seen.append((m, _so_far(counted) - before.pop())))
            for layer in layers
        ]
        with _watched(trunk, hooks):
            trunk(_sample(trunk, shape))
    return _so_far(counted), seen


def _sample(trunk: nn.Module, shape: tuple[int, ...]) -> Tensor:
    """One sample of zeros, on the trunk's device."""
    first = next(trunk.parameters(), None)
    return torch.zeros(1, *shape, device=None if first is None else first.device)


def _so_far(counted: Any) -> int:
    return int(counted.get_total_flops())


def _multiplies(layer: nn.Module) -> bool:
    """Whether a layer has a matrix of its own, and not only to look rows up in."""
    matrices = (p.dim() > 1 for p in layer.parameters(recurse=False))
    return isinstance(layer, Expansion) or (any(matrices) and not isinstance(layer, (nn.Embedding, nn.EmbeddingBag)))


def forward_flops(trunk: nn.Module, shape: tuple[int, ...]) -> int:
    """Operations of the trunk for one sample."""
    return count_forward(trunk, shape).flops


def head_flops(network: FlatNetwork, rows: int) -> int:
    """Operations of `rows` outputs for one sample."""
    return 2 * (network.row_size - 1) * rows


def step_flops(network: FlatNetwork, shape: tuple[int, ...], rows: int) -> int:
    """Operations of a training step for one sample with so many outputs, of which some blocks may be frozen: forward,
    the gradient of everything from the first trained block on, and the weights' own gradients of trained ones that
    have something to train, which a fixed expansion has not."""
    total, calls = _by_layer(network.trunk, shape)
    blocks = {name: sum(each) for name, each in _by_module(network.trunk, calls).items()}
    blocks[HEAD] = head_flops(network, rows)
    total += blocks[HEAD]
    before = itertools.takewhile(lambda name: not network.is_trained(name), blocks)
    empty = [name for name, span in network.blocks.items() if name != HEAD and span.start == span.stop]
    frozen = [name for name in blocks if name in empty or not network.is_trained(name)]
    return 3 * total - sum(blocks[name] for name in (*before, *frozen))


def module_flops(trunk: Trunk, shape: tuple[int, ...]) -> list[tuple[int, int]]:
    """For each module the operations of one sample, and of these its first layer's: which needs no gradient of what
    goes in where the modules before are frozen."""
    found = _by_module(trunk, _by_layer(trunk, shape)[1]).values()
    return [(sum(each), each[0] if each else 0) for each in found]


def _by_module(trunk: Trunk, calls: Sequence[Call]) -> dict[str, list[int]]:
    """The operations of every layer that has some, by module."""
    inside = {name: {m for layer in layers for m in layer.modules()} for name, layers in trunk.modules_by_name.items()}
    return {name: [flops for layer, flops in calls if layer in layers] for name, layers in inside.items()}


def solve_flops(size: int, columns: int) -> int:
    """A symmetric positive system of `size` unknowns for several right-hand sides: Cholesky and two substitutions."""
    return size**3 // 3 + 2 * size * size * columns


# By operation of torch: a count from the shapes of what it is given.
_ALSO_COUNTED = {
    torch.ops.aten.addmm_: lambda into, a, b, **_: 2 * math.prod(a) * b[-1],
    torch.ops.aten.linalg_cholesky_ex: lambda matrix, *_, **__: solve_flops(matrix[-1], 0),
    torch.ops.aten.cholesky_solve: lambda targets, factor, *_, **__: 2 * factor[-1] ** 2 * targets[-1],
}
