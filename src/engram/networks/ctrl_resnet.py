"""The residual network of the CTrL experiments, in modules that can be shared one by one."""

from __future__ import annotations

from torch import nn

from engram.networks.blocks import Modules
from engram.networks.resnet import NARROW, Block, Residual, convolution
from engram.networks.side import SIDE, averaged
from engram.networks.trunk import PRECISION
from engram.settings import setting


class CtrlResNet(Residual):
    """Veniat et al. 2021, Table 8: a 3×3 convolution, four groups of two residual blocks of one width, average pooling.

    With the output layer it has the paper's seven modules: the last group is two.
    """

    name = "ctrl-resnet"
    channels_last = True

    width = setting(64, "channels of all layers", at_least=1, at_most=10_000, revised=NARROW)
    side = SIDE
    precision = PRECISION

    def assemble(self, shape: tuple[int, ...]) -> Modules:
        (inputs, *sides), pooling = averaged(self.name, shape, self.side, 4)
        modules: Modules = {
            "stem": [*pooling, convolution(inputs, self.width, 3, 1), nn.BatchNorm2d(self.width), nn.ReLU()],
            "group1": self._group(1),
            "group2": self._group(2),
            "group3": self._group(2),
        }
        first, last = self._group(2)
        modules |= {"group4a": [first], "group4b": [last, nn.AdaptiveAvgPool2d(1), nn.Flatten()]}
        self.end_with(last, [-(-side // 8) for side in sides])
        self.features = self.width
        return modules

    def _group(self, stride: int) -> list[nn.Module]:
        return [Block(self.width, self.width, stride), Block(self.width, self.width, 1)]
