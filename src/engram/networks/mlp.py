"""The multi-layer perceptron: any widths, dropout, activation. The default is 256-256 with ReLU."""

from __future__ import annotations

import math
from collections.abc import Callable

from torch import nn

from engram.errors import BadSetting
from engram.networks.blocks import Modules
from engram.networks.lwta import BLOCK, LWTA, TIES
from engram.networks.trunk import Dropout, Trunk
from engram.settings import setting

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
    "gelu": nn.GELU,
}


class MLP(Trunk):
    """Fully connected layers, each followed by dropout (if any) and the activation.

    `widths` counts units for every activation. LWTA joins them two by two, so its widths must be even; a hidden size of
    h in Pfülb et al. 2018 means h blocks, which is a width of 2h here.
    """

    name = "mlp"

    widths = setting((256, 256), "hidden units of each layer, as 256-256", at_least=1)
    dropout = setting(0.0, "share of hidden units dropped in training", at_least=0, below=1)
    input_dropout = setting(0.0, "share of inputs dropped in training", at_least=0, below=1)
    activation = setting(
        "relu", "nonlinearity of hidden units (lwta: of two units the larger one)", choices=(*ACTIVATIONS, "lwta")
    )
    lwta_ties = setting("all", "which of two equal units speak with activation=lwta: all, or the first", choices=TIES)

    def assemble(self, shape: tuple[int, ...]) -> Modules:
        layers: list[nn.Module] = [nn.Flatten()]
        if self.input_dropout:
            layers.append(Dropout(self.input_dropout))
        modules = {"layer1": layers}
        inputs = math.prod(shape)
        for number, width in enumerate(self.widths, start=1):
            layers = modules.setdefault(f"layer{number}", [])
            layers.append(nn.Linear(inputs, width))
            if self.dropout:
                layers.append(Dropout(self.dropout))
            layers.append(self._activation(width))
            inputs = width
        self.features = inputs
        return modules

    def _activation(self, width: int) -> nn.Module:
        if self.activation != "lwta":
            return ACTIVATIONS[self.activation]()
        if width % BLOCK:
            raise BadSetting(
                f"widths={'-'.join(map(str, self.widths))} has a layer of {width} units, which activation=lwta cannot "
                "join two by two; give even widths"
            )
        return LWTA(self.lwta_ties)
