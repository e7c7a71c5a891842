"""The multi-layer perceptron: any widths, dropout, activation. The default is 256-256 with ReLU."""

from __future__ import annotations

import math

from torch import nn

from engram.networks.trunk import Dropout, Trunk
from engram.settings import setting

ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "gelu": nn.GELU}


class MLP(Trunk):
    """Fully connected layers, each followed by dropout (if any) and the activation."""

    name = "mlp"

    widths = setting((256, 256), "hidden units of each layer, as 256-256", at_least=1)
    dropout = setting(0.0, "share of hidden units dropped in training", at_least=0, below=1)
    input_dropout = setting(0.0, "share of inputs dropped in training", at_least=0, below=1)
    activation = setting("relu", "nonlinearity of hidden units", choices=tuple(ACTIVATIONS))

    def assemble(self, shape: tuple[int, ...]) -> nn.Sequential:
        layers: list[nn.Module] = [nn.Flatten()]
        if self.input_dropout:
            layers.append(Dropout(self.input_dropout))
        self.first = len(layers) + 1
        inputs = math.prod(shape)
        for width in self.widths:
            layers.append(nn.Linear(inputs, width))
            if self.dropout:
                layers.append(Dropout(self.dropout))
            layers.append(ACTIVATIONS[self.activation]())
            inputs = width
        self.features = inputs
        return nn.Sequential(*layers)
