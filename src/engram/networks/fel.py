"""The fixed expansion layer: hidden units of a perceptron are spread over many fixed ones, of which few fire."""

from __future__ import annotations

import math

import torch
from torch import nn

from engram.errors import BadSetting
from engram.networks.blocks import Modules
from engram.networks.expansion import ConstantTriggering, Expansion, Firing, Triggering
from engram.networks.mlp import ACTIVATIONS
from engram.networks.trunk import Trunk
from engram.randomness import generator
from engram.settings import setting


class FEL(Trunk):
    """Coop, Mishtal and Arel 2013, with the sizes of Kemker et al. 2018: 400 trained units, 2000 fixed ones.

    Sparse features change few outputs at a time, which is to keep the others from being forgotten. What the papers
    leave open is a setting: connectivity, how many fire and with which value, the activation.
    """

    name = "fel"

    widths = setting((400,), "trained hidden units of each layer before the expansion, as 400", at_least=1)
    units = setting(2000, "fixed units of the expansion layer", at_least=2, at_most=1_000_000)
    connectivity = setting(0.5, "share of the last hidden units that a fixed unit sees", above=0, at_most=1)
    triggered = setting(
        0.025, "share of the fixed units that fire at each end: the largest, and as many smallest", above=0, at_most=1
    )
    values = setting(
        "raw", "what a unit that fires says: its own value (raw), or 1 and -1 (constant)", choices=("raw", "constant")
    )
    activation = setting("tanh", "nonlinearity of the trained hidden units", choices=tuple(ACTIVATIONS))

    def assemble(self, shape: tuple[int, ...]) -> Modules:
        modules: Modules = {"layer1": [nn.Flatten()]}
        inputs = math.prod(shape)
        for number, width in enumerate(self.widths, start=1):
            modules.setdefault(f"layer{number}", []).extend([nn.Linear(inputs, width), ACTIVATIONS[self.activation]()])
            inputs = width
        self.expansion = [Expansion(inputs, self.units, self.connectivity)]  # in a list, so that it is registered once
        modules["expansion"] = [*self.expansion, self._triggering()]
        self.features = self.units
        return modules

    def _triggering(self) -> Firing:
        each = max(1, round(self.triggered * self.units))
        if 2 * each > self.units:
            raise BadSetting(
                f"triggered={self.triggered:g} lets {each} units fire at each end, together more than the {self.units} "
                "units that there are; give a smaller share or more units"
            )
        return (Triggering if self.values == "raw" else ConstantTriggering)(each, each)

    def _initialise(self, drawn: torch.Generator) -> None:
        super()._initialise(drawn)
        for layer in self.expansion:
            if not layer.weight.is_meta:
                layer.draw(generator(self.seed, "initialisation", "expansion"))
