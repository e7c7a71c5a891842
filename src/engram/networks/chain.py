"""Back-propagation through a chain of linear layers, written straight into the flat gradient.

Autograd makes a new tensor for every gradient, which then has to be brought into the flat vector. A trunk that is a
plain chain (linear layers, simple activations, dropout, LWTA, fixed expansions) is one autograd node here, together
with the outputs: its backward pass lets every matrix product write its result where it belongs. The loss behind it may
be anything, and so may the layers before it: of a convolutional trunk the full layers at its end are the chain, the
rest is its body.
Measured by benchmarks/step_cost.py: a quarter of the time of a step, where convolutions do not take most of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engram.networks.expansion import Expansion, Triggering
from engram.networks.lwta import LWTA
from engram.networks.trunk import FLOAT32, Dropout, Trunk

if TYPE_CHECKING:
    from engram.networks.flat import FlatNetwork, Outputs

# By activation: its value (in place), and the gradient with respect to its input from that value.
_ACTIVATIONS: dict[type, tuple[Callable[[Tensor], Tensor], Callable[[Tensor, Tensor], Tensor]]] = {
    nn.ReLU: (torch.relu_, lambda delta, value: torch.ops.aten.threshold_backward(delta, value, 0)),
    nn.Tanh: (torch.tanh_, lambda delta, value: delta.mul_(1 - value.square())),
    nn.Sigmoid: (torch.sigmoid_, lambda delta, value: delta.mul_(value * (1 - value))),
}
LossRule = Callable[[Tensor], tuple[Tensor, Tensor]]  # of scores a loss, and its gradient with respect to them
_MASKING = (Dropout, LWTA, Triggering)  # layers that multiply by a mask, which their backward pass needs again


def chain_start(trunk: Trunk) -> int | None:
    """Which layer of a trunk flattens the samples for the chain, so that all layers after it are known to this module.

    None if there is no such layer, or no linear one behind it, which for a trunk with a body would be no gain, or if it
    is not to be computed in float32."""
    layers = list(trunk.layers) if trunk.precision == FLOAT32 else []
    start = len(layers) - 1
    while start > 0 and isinstance(layers[start], (nn.Linear, Expansion, *_MASKING, *_ACTIVATIONS)):
        start -= 1
    if not layers or not isinstance(layers[start], nn.Flatten):
        return None
    return start if start == 0 or any(isinstance(m, nn.Linear) for m in layers[start:]) else None


def chain_scores(network: FlatNetwork, x: Tensor, outputs: Outputs) -> Tensor:
    """The training scores of a chain, for samples or what the body made of them. `network.backward` makes its backward
    pass fill `network.grad`."""
    scores: Tensor = _Chain.apply(network.trigger, network, x, outputs)
    return scores if outputs.mask is None else scores + outputs.mask


def direct_loss(network: FlatNetwork, x: Tensor, outputs: Outputs, rule: LossRule) -> Tensor:
    """The loss of a batch, with its gradient in `network.grad`: what autograd would call, called in the same order
    without it. For a chain without a body."""
    passed = _forward(network, x, outputs, has_body=False)
    loss, delta = rule(passed.scores if outputs.mask is None else passed.scores + outputs.mask)
    network.grad_is_stale = True
    _backward(network, passed, delta)
    if network.appended:
        network.grad[network.blocks["head"].stop :].zero_()
    return loss


class _Passed(NamedTuple):
    """A forward pass: its scores, and for the way back inputs of linear layers, values of activations, masks."""

    scores: Tensor
    values: list[Any]
    features: Tensor
    outputs: Outputs
    has_body: bool


class _Chain(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, trigger: Tensor, network: FlatNetwork, x: Tensor, outputs: Outputs) -> Tensor:
        """`trigger` is a leaf that only makes autograd call `backward`."""
        ctx.network, ctx.shape = network, x.shape
        ctx.passed = _forward(network, x, outputs, ctx.needs_input_grad[2])
        return ctx.passed.scores

    @staticmethod
    def backward(ctx: Any, delta: Tensor) -> tuple[None, None, Tensor | None, None]:
        delta = _backward(ctx.network, ctx.passed, delta)
        return None, None, delta.view(ctx.shape) if ctx.passed.has_body else None, None


def _forward(network: FlatNetwork, x: Tensor, outputs: Outputs, has_body: bool) -> _Passed:
    values: list[Any] = []
    h, free = x.flatten(1), False  # free: h may be overwritten, being neither x nor among the values
    for layer in network.layers:
        if isinstance(layer, nn.Linear):
            values.append(h)
            h, free = torch.addmm(layer.bias, h, layer.weight.t()), True
        elif isinstance(layer, Expansion):
            values.append(None)
            h, free = layer(h), True
        elif isinstance(layer, _MASKING):
            mask = layer.mask(h)
            values.append(mask)
            if mask is not None:
                needed = len(values) > 1 or has_body  # the mask itself, on the way back
                place = h if free else None if needed else mask
                h, free = torch.mul(h, mask, out=place), True
        else:
            h, free = _ACTIVATIONS[type(layer)][0](h if free else h.clone()), False
            values.append(h)
    h = F.pad(h, (0, 1), value=1.0)
    return _Passed(h.mm(network.head[outputs.start : outputs.stop].t()), values, h, outputs, has_body)


def _backward(network: FlatNetwork, passed: _Passed, delta: Tensor) -> Tensor:
    """Write the gradient, or add it to what another part of the loss has left; the gradient of what went in."""
    outputs, has_body = passed.outputs, passed.has_body
    put = _write if network.grad_is_stale else _add
    rows = network.head_grad[outputs.start : outputs.stop]
    if network.grad_is_stale and len(rows) < network.rows:
        network.head_grad.zero_()
    if network.grad_is_stale and has_body:
        network.grad[: network.body_size].zero_()  # autograd's gradients are added to it
    put(rows, delta, passed.features)
    delta = delta.mm(network.head[outputs.start : outputs.stop, :-1])
    for layer, value in zip(reversed(network.layers), reversed(passed.values), strict=True):
        if isinstance(layer, nn.Linear):
            put(network.grad_of(layer.weight), delta, value)
            put(network.grad_of(layer.bias), delta, None)
            if layer is network.first_linear and not has_body:
                break
            delta = delta.mm(layer.weight)
        elif isinstance(layer, Expansion):
            delta = delta.mm(layer.weight)
        elif isinstance(layer, _MASKING):
            delta = delta if value is None else delta.mul_(value)
        else:
            delta = _ACTIVATIONS[type(layer)][1](delta, value)
    network.grad_is_stale = False
    return delta


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
