"""The network that the CTrL experiments share with HAT: three convolutions and two wide full layers."""

from __future__ import annotations

from torch import nn

from engram.networks.blocks import Modules
from engram.networks.side import SIDE, averaged
from engram.networks.trunk import PRECISION, Dropout, Trunk
from engram.settings import setting

CONVOLUTIONS = ((4, 1), (3, 2), (2, 4))  # size, and channels as a multiple of the width
FULL = 32  # units of a full layer, as a multiple of the width
SMALLEST = 19  # pixels, of which one is left after three convolutions without padding, each with a pooling


class CtrlAlexNet(Trunk):
    """Serrà et al. 2018 and Veniat et al. 2021, Table 9: convolutions of 4×4, 3×3 and 2×2 with dropout and max-pooling,
    then two full layers."""

    name = "ctrl-alexnet"
    bits = 1  # masks of dropout lie pixel by pixel too
    channels_last = True

    width = setting(
        64,
        "channels of the first convolution; others have 2 and 4, full layers 32 times as many",
        at_least=1,
        at_most=4096,
    )
    side = SIDE
    precision = PRECISION
    convolution_dropout = setting(0.2, "share dropped after the first two convolutions", at_least=0, below=1)
    dropout = setting(0.5, "share dropped after the third convolution and the full layers", at_least=0, below=1)

    def assemble(self, shape: tuple[int, ...]) -> Modules:
        (inputs, *sides), pooling = averaged(self.name, shape, self.side, SMALLEST)
        modules: Modules = {}
        for number, (size, times) in enumerate(CONVOLUTIONS, start=1):
            channels, rate = times * self.width, self.dropout if number == 3 else self.convolution_dropout
            # ReLU comes last, where it has a quarter of the work: dropout and pooling do not change its zeros
            layers = [nn.Conv2d(inputs, channels, size), Dropout(rate), nn.MaxPool2d(2), nn.ReLU()]
            modules[f"convolution{number}"] = [*pooling, *layers]
            pooling, inputs = [], channels
            sides = [(side - size + 1) // 2 for side in sides]
        modules["convolution3"].append(nn.Flatten())
        inputs *= sides[0] * sides[1]
        self.features = FULL * self.width
        for name in ("full1", "full2"):
            modules[name] = [nn.Linear(inputs, self.features), nn.ReLU(), Dropout(self.dropout)]
            inputs = self.features
        return modules
