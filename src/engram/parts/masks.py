"""Masks of units: a gate behind every layer of weights, and which weights lie between units that are in use.

A unit is an output of such a layer: a channel of a convolution or a unit of a full layer. Its gate multiplies what
comes of it before the next layer of weights (after activation, dropout, pooling).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from engram.errors import BadSetting
from engram.networks import Trunk
from engram.networks.trunk import Dropout

UNIT_BY_UNIT = (nn.ReLU, nn.Tanh, nn.Sigmoid, nn.GELU, nn.MaxPool2d, nn.AvgPool2d, nn.AdaptiveAvgPool2d, Dropout)


class Gates:
    """The gates of a trunk. `open` sets them; as long as nobody does they let everything through."""

    def __init__(self, trunk: Trunk):
        self.layers: list[Any] = []  # those with weights
        gated: list[nn.Module] = []  # behind which the gates are
        for layer in trunk.layers:
            if type(layer) in (nn.Linear, nn.Conv2d) and getattr(layer, "groups", 1) == 1:
                self.layers.append(layer)
                gated.append(layer)
            elif isinstance(layer, UNIT_BY_UNIT) and gated:
                gated[-1] = layer
            elif not isinstance(layer, (*UNIT_BY_UNIT, nn.Flatten)):
                raise _unmaskable(trunk, f"layers of the kind {type(layer).__name__}")
        if not gated:
            raise _unmaskable(trunk, "no layer of weights")
        self.units = [len(layer.weight) for layer in self.layers]
        self._values: Sequence[Tensor] = ()
        for place, layer in enumerate(gated):
            layer.register_forward_hook(lambda _, __, output, place=place: self._through(place, output))

    def open(self, masks: Tensor) -> None:
        """Multiply units by these numbers from now on, one for each unit of every layer in order."""
        self._values = masks.split(self.units)

    def _through(self, place: int, output: Tensor) -> Tensor:
        if not self._values:
            return output
        return output * self._values[place].view(-1, *[1] * (output.dim() - 2))

    def between(self, masks: Tensor) -> Tensor:
        """For every parameter of the trunk the smaller one of the masks before and behind it: of a bias, and of all
        weights of the first layer, the mask behind."""
        return torch.cat([part.flatten() for part in self._between(masks.split(self.units))])

    def _between(self, masks: Sequence[Tensor]) -> Iterator[Tensor]:
        before: Tensor | None = None
        for layer, behind in zip(self.layers, masks, strict=True):
            one, inputs = behind[:, None], layer.weight.shape[1]
            if before is not None:  # of a convolution whose pixels are flattened each unit has several inputs
                one = torch.minimum(one, before.repeat_interleave(inputs // len(before))[None])
            yield one.view(*one.shape, *[1] * (layer.weight.dim() - 2)).expand(layer.weight.shape)
            if layer.bias is not None:
                yield behind
            before = behind


def _unmaskable(trunk: Trunk, found: str) -> BadSetting:
    return BadSetting(
        f"units of network '{trunk.name}' cannot be masked: it has {found}, and only chains of full and convolutional "
        "layers have units that can be; use ctrl-alexnet, or mlp with another activation than lwta"
    )
