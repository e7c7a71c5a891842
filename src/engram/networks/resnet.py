"""The reduced ResNet-18 of the GEM comparison: a third of the usual width, for images of 32×32 pixels."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from engram.errors import BadSetting
from engram.networks.blocks import Modules
from engram.networks.cnn import image_shape
from engram.networks.trunk import PRECISION, Trunk
from engram.settings import setting

FEW = 8  # channels; see `Block`
NARROW = tuple((width, 1) for width in range(1, FEW))  # widths whose shortcuts are computed in another way than once


class Residual(Trunk):
    """What trunks of residual blocks share: one sample alone cannot be normalised where a feature map has one pixel."""

    def end_with(self, block: nn.Module, sides: list[int]) -> None:
        """Its last block, and how large the map is that this makes."""
        self.last = [block]  # in a list, so that it is registered once
        self.lonely = max(sides) == 1

    def check(self, x: Tensor) -> None:
        if self.lonely and len(x) == 1 and self.last[0].training:
            raise BadSetting(
                f"network '{self.name}' cannot normalise a batch of one sample whose last feature map is 1×1; choose "
                "a batch that leaves no single sample over, or larger images"
            )


class ResNet18Reduced(Residual):
    """Lopez-Paz and Ranzato 2017: a 3×3 convolution, four groups of two residual blocks, average pooling over 4×4."""

    name = "resnet18-reduced"
    bits = 1  # channels last
    channels_last = True

    width = setting(
        20,
        "channels of the first group; the others have 2, 4 and 8 times as many",
        at_least=1,
        at_most=10_000,
        revised=NARROW,
    )
    precision = PRECISION

    def assemble(self, shape: tuple[int, ...]) -> Modules:
        inputs, *sides = image_shape(self.name, shape, 4)
        modules: Modules = {"stem": [convolution(inputs, self.width, 3, 1), nn.BatchNorm2d(self.width), nn.ReLU()]}
        inputs = self.width
        for number, stride in enumerate((1, 2, 2, 2)):
            channels = 2**number * self.width
            modules[f"group{number + 1}"] = [Block(inputs, channels, stride), Block(channels, channels, 1)]
            sides = [-(-side // stride) for side in sides]
            inputs = channels
        self.end_with(modules["group4"][-1], sides)
        pool = [min(4, side) for side in sides]
        self.features = inputs * (sides[0] // pool[0]) * (sides[1] // pool[1])
        modules["group4"] += [nn.AvgPool2d((pool[0], pool[1])), nn.Flatten()]
        return modules


class Block(nn.Module):
    """Two 3×3 convolutions around which the input goes on as it is, or projected where its shape changes.

    A projection of few channels is given only the pixels that its stride leaves. Given all, oneDNN writes beyond its
    memory on processors without AVX-512: the gradient of the weights of a 1×1 convolution with a stride, of fewer than
    eight channels that lie pixel by pixel.
    """

    def __init__(self, inputs: int, channels: int, stride: int):
        super().__init__()
        self.first = nn.Sequential(convolution(inputs, channels, 3, stride), nn.BatchNorm2d(channels), nn.ReLU())
        self.second = nn.Sequential(convolution(channels, channels, 3, 1), nn.BatchNorm2d(channels))
        self.shortcut = nn.Sequential()
        self.ahead = stride if inputs < FEW else 1  # the stride, where it is taken ahead of the projection
        if stride != 1 or inputs != channels:
            left = stride // self.ahead
            self.shortcut = nn.Sequential(convolution(inputs, channels, 1, left), nn.BatchNorm2d(channels))

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu_(torch.add(self.second(self.first(x)), self.shortcut(self._thinned(x))))

    def _thinned(self, x: Tensor) -> Tensor:
        if self.ahead == 1:
            return x
        return x[:, :, :: self.ahead, :: self.ahead].contiguous(memory_format=torch.channels_last)


def convolution(inputs: int, channels: int, size: int, stride: int) -> nn.Conv2d:
    return nn.Conv2d(inputs, channels, size, stride, padding=size // 2, bias=False)
