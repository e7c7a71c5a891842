"""Back-propagation through a chain of linear layers, written straight into the flat gradient.

Autograd makes a new tensor for every gradient, which then has to be brought into the flat vector. For a trunk that is
a plain chain (linear layers, simple activations, dropout, LWTA) the whole network is one autograd node here: its
backward pass lets every matrix product write its result where it belongs. The loss behind it may be anything.
Measured by benchmarks/step_cost.py: a quarter of the time of a step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engram.networks.lwta import LWTA
from engram.networks.trunk import Dropout, Trunk

if TYPE_CHECKING:
    from engram.networks.flat import FlatNetwork, Outputs

# By activation: its value (in place), and the gradient with respect to its input from that value.
_ACTIVATIONS: dict[type, tuple[Callable[[Tensor], Tensor], Callable[[Tensor, Tensor], Tensor]]] = {
    nn.ReLU: (torch.relu_, lambda delta, value: torch.ops.aten.threshold_backward(delta, value, 0)),
    nn.Tanh: (torch.tanh_, lambda delta, value: delta.mul_(1 - value.square())),
    nn.Sigmoid: (torch.sigmoid_, lambda delta, value: delta.mul_(value * (1 - value))),
}
_MASKING = (Dropout, LWTA)  # layers that multiply by a mask, which their backward pass needs again


def is_chain(trunk: Trunk) -> bool:
    """Whether a trunk consists of nothing but what this module knows."""
    layers = list(trunk.layers)
    known = (nn.Linear, *_MASKING, *_ACTIVATIONS)
    return bool(layers) and isinstance(layers[0], nn.Flatten) and all(isinstance(m, known) for m in layers[1:])


def chain_scores(network: FlatNetwork, x: Tensor, outputs: Outputs) -> Tensor:
    """The training scores of a chain. `network.backward` makes its backward pass fill `network.grad`."""
    scores: Tensor = _Chain.apply(network.trigger, network, x, outputs)  # type: ignore[no-untyped-call]
    return scores if outputs.mask is None else scores + outputs.mask


class _Chain(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, trigger: Tensor, network: FlatNetwork, x: Tensor, outputs: Outputs) -> Tensor:
        """`trigger` is a leaf that only makes autograd call `backward`."""
        values: list[
            Any
        ] = []  # what each layer's backward needs: inputs of linear layers, values of activations, masks
        h = x.flatten(1)
        for layer in network.layers:
            if isinstance(layer, nn.Linear):
                values.append(h)
                h = torch.addmm(layer.bias, h, layer.weight.t())
            elif isinstance(layer, _MASKING):
                mask = layer.mask(h)
                values.append(mask)
                h = h if mask is None else h * mask
            else:
                h = _ACTIVATIONS[type(layer)][0](h)
                values.append(h)
        h = F.pad(h, (0, 1), value=1.0)
        ctx.network, ctx.values, ctx.features, ctx.outputs = network, values, h, outputs
        return h.mm(network.head[outputs.start : outputs.stop].t())

    @staticmethod
    def backward(ctx: Any, delta: Tensor) -> tuple[None, None, None, None]:  # type: ignore[override]
        network, outputs = ctx.network, ctx.outputs
        put = _write if network.grad_is_stale else _add
        rows = network.head_grad[outputs.start : outputs.stop]
        if network.grad_is_stale and len(rows) < network.rows:
            network.head_grad.zero_()
        put(rows, delta, ctx.features)
        delta = delta.mm(network.head[outputs.start : outputs.stop, :-1])
        for layer, value in zip(reversed(network.layers), reversed(ctx.values), strict=True):
            if isinstance(layer, nn.Linear):
                put(network.grad_of(layer.weight), delta, value)
                put(network.grad_of(layer.bias), delta, None)
                if layer is network.first_linear:
                    break
                delta = delta.mm(layer.weight)
            elif isinstance(layer, _MASKING):
                delta = delta if value is None else delta * value
            else:
                delta = _ACTIVATIONS[type(layer)][1](delta, value)
        network.grad_is_stale = False
        return None, None, None, None


def _write(place: Tensor, delta: Tensor, inputs: Tensor | None) -> None:
    """The gradient of a weight (δᵀ·inputs) or, without inputs, of a bias."""
    if inputs is None:
        torch.sum(delta, 0, out=place)
    else:
        torch.mm(delta.t(), inputs, out=place)


def _add(place: Tensor, delta: Tensor, inputs: Tensor | None) -> None:
    """The same on top of what an earlier part of the loss has left."""
    if inputs is None:
        place.add_(delta.sum(0))
    else:
        place.addmm_(delta.t(), inputs)
