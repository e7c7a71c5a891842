"""A first layer that mixes the colours of images, in every pixel alike; other samples have one colour."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engram.networks.blocks import Modules
from engram.networks.flat import FlatNetwork
from engram.networks.trunk import Trunk


def colours_of(shape: tuple[int, ...]) -> int:
    return shape[0] if len(shape) == 3 else 1


def mixed(x: Tensor, values: Tensor) -> Tensor:
    """Samples after a mixture: for each new colour the shares of the old ones, then an offset for each."""
    colours = colours_of(tuple(x.shape[1:]))
    shares, offsets = values[: colours * colours].view(colours, colours, 1), values[colours * colours :]
    return F.conv1d(x.reshape(len(x), colours, -1), shares, offsets).view(x.shape)


def mixture_flops(shape: tuple[int, ...]) -> int:
    """Operations for one sample."""
    return 2 * colours_of(shape) * math.prod(shape)


class Mixture(nn.Module):
    """It begins as the identity."""

    def __init__(self, colours: int):
        super().__init__()
        self.values = nn.Parameter(torch.cat([torch.eye(colours).flatten(), torch.zeros(colours)]))

    def forward(self, x: Tensor) -> Tensor:
        return mixed(x, self.values)


class Adapter(Trunk):
    """One mixture."""

    def assemble(self, shape: tuple[int, ...]) -> Modules:
        self.features = math.prod(shape)
        return {"adapter": [Mixture(colours_of(shape))]}


def adapter(shape: tuple[int, ...], device: torch.device) -> FlatNetwork:
    """One for samples of this shape, over a vector of its own."""
    return FlatNetwork(Adapter(shape, 0, {"init": "uniform"}).to(device))
