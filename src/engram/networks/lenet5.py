"""The network that handwritten digits were read with."""

from __future__ import annotations

from torch import nn

from engram.networks.cnn import image_shape
from engram.networks.trunk import Modules, Trunk


class LeNet5(Trunk):
    """LeCun et al. 1998: two 5×5 convolutions (6, 16) with average pooling, full layers of 120 and 84, all with tanh.

    Images of 28×28 are padded to the paper's 32×32 by the first convolution; others become smaller or larger maps.
    """

    name = "lenet5"

    def assemble(self, shape: tuple[int, ...]) -> Modules:
        channels, height, width = image_shape(self.name, shape, 12)
        maps = 16 * ((height // 2 - 4) // 2) * ((width // 2 - 4) // 2)
        self.features = 84
        return {
            "group1": [nn.Conv2d(channels, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2)],
            "group2": [nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2), nn.Flatten()],
            "full1": [nn.Linear(maps, 120), nn.Tanh()],
            "full2": [nn.Linear(120, 84), nn.Tanh()],
        }
