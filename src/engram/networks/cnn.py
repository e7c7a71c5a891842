"""The convolutional networks of two of the papers."""

from __future__ import annotations

from torch import nn

from engram.errors import BadData
from engram.networks.blocks import Modules
from engram.networks.trunk import PRECISION, Dropout, Trunk
from engram.settings import setting


def image_shape(name: str, shape: tuple[int, ...], smallest: int) -> tuple[int, int, int]:
    """(channels, height, width), or a clear refusal."""
    if len(shape) != 3 or min(shape[1:]) < smallest:
        raise BadData(
            f"network '{name}' needs images of at least {smallest}×{smallest} pixels, the samples are {shape}; "
            "use --network mlp"
        )
    return shape[0], shape[1], shape[2]


class RWalkCNN(Trunk):
    """Chaudhry et al. 2018, Table 4: twice (two 3×3 convolutions, max-pooling, dropout), 'same' padding."""

    name = "rwalk-cnn"
    bits = 2  # channels last, masks of dropout too
    channels_last = True

    dropout = setting(0.5, "share of units dropped after each pooling", at_least=0, below=1)
    precision = PRECISION

    def assemble(self, shape: tuple[int, ...]) -> Modules:
        channels, height, width = image_shape(self.name, shape, 4)
        modules: Modules = {}
        for name, filters in (("group1", 32), ("group2", 64)):
            layers = [nn.Conv2d(channels, filters, 3, padding=1), nn.ReLU()]
            layers += [nn.Conv2d(filters, filters, 3, padding=1), *_pooled()]
            modules[name] = [*layers, Dropout(self.dropout)]
            channels = filters
        self.features = 64 * (height // 4) * (width // 4)
        modules["group2"].append(nn.Flatten())
        return modules


class PfuelbConv(Trunk):
    """Pfülb et al. 2018: two 5×5 convolutions (32, 64) with max-pooling, one full layer of 1024, dropout."""

    name = "pfuelb-conv"

    dropout = setting(0.0, "share of units dropped after the full layer (the paper's D-conv: 0.5)", at_least=0, below=1)
    full_width = setting(1024, "units of the full layer", at_least=1)

    def assemble(self, shape: tuple[int, ...]) -> Modules:
        channels, height, width = image_shape(self.name, shape, 4)
        self.features = self.full_width
        full = nn.Linear(64 * (height // 4) * (width // 4), self.full_width)
        return {
            "group1": [nn.Conv2d(channels, 32, 5, padding=2), *_pooled()],
            "group2": [nn.Conv2d(32, 64, 5, padding=2), *_pooled()],
            "full": [nn.Flatten(), full, nn.ReLU(), Dropout(self.dropout)],
        }


def _pooled() -> list[nn.Module]:
    """ReLU and max-pooling over 2×2. In this order the numbers and their gradients are the same, and ReLU has a quarter
    of the work."""
    return [nn.MaxPool2d(2), nn.ReLU()]
