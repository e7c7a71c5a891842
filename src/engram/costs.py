"""What a learner costs, counted by one rule for all: the bytes that it must keep, the operations of its training.

Bytes are those of the tensors of its state between two tasks, which is what a checkpoint holds, itemised by the first
part of their names. Operations are 2 a multiply-add; a backward pass counts as two forward passes.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from engram.core import State
from engram.networks import FlatNetwork

BACKWARD = 2  # forward passes that a backward pass counts as


def itemise(state: State) -> dict[str, int]:
    """Bytes by item (parameters, heads, importance, …), with their `total`."""
    items: dict[str, int] = {}
    for name, tensor in state.tensors.items():
        item = name.split(".")[0]
        items[item] = items.get(item, 0) + tensor.numel() * tensor.element_size()
    return {**items, "total": sum(items.values())}


def forward_flops(trunk: nn.Module, shape: tuple[int, ...]) -> int:
    """Operations of the trunk for one sample, from the shapes of its layers: linear and convolutional ones."""
    counts: list[int] = []

    def count(layer: Any, _: object, output: Tensor) -> None:
        positions = output[0, 0].numel() if output.dim() > 2 else 1
        counts.append(2 * layer.weight.numel() * positions)

    layers = [m for m in trunk.modules() if isinstance(m, (nn.Linear, nn.Conv2d))]
    hooks = [layer.register_forward_hook(count) for layer in layers]
    was_training = bool(trunk.training)
    with torch.no_grad():
        trunk.eval()
        trunk(torch.zeros(1, *shape))
    trunk.train(was_training)
    for hook in hooks:
        hook.remove()
    return sum(counts)


def head_flops(network: FlatNetwork, rows: int) -> int:
    """Operations of `rows` outputs for one sample."""
    return 2 * (network.row_size - 1) * rows


def solve_flops(size: int, columns: int) -> int:
    """A symmetric positive system of `size` unknowns for several right-hand sides: Cholesky and two substitutions."""
    return size**3 // 3 + 2 * size * size * columns
