"""A fixed layer that spreads a few units over many, and the few of these that fire (Coop et al. 2013)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


class Expansion(nn.Module):
    """A linear layer that is never trained: its numbers are buffers, which are kept and counted but not in theta.

    Every unit sees a random share of the inputs, half of them excite it and half inhibit it, all equally. As 1/√seen
    its weights leave values of the size of the inputs'. Biases are 0.
    """

    weight: Tensor
    bias: Tensor

    def __init__(self, inputs: int, units: int, connectivity: float):
        super().__init__()
        self.seen = min(inputs, max(1, round(connectivity * inputs)))
        self.register_buffer("weight", torch.zeros(units, inputs))
        self.register_buffer("bias", torch.zeros(units))

    def draw(self, generator: torch.Generator) -> None:
        """Which inputs each unit sees."""
        lots = torch.rand(self.weight.shape, generator=generator, device="cpu")
        chosen = lots.argsort(dim=1, stable=True)[:, : self.seen]
        signs = torch.ones(self.seen, device="cpu")
        signs[math.ceil(self.seen / 2) :] = -1
        drawn = torch.zeros(self.weight.shape, device="cpu")
        self.weight.copy_(drawn.scatter_(1, chosen, (signs / math.sqrt(self.seen)).expand(chosen.shape)))

    def forward(self, x: Tensor) -> Tensor:
        return torch.addmm(self.bias, x, self.weight.t())


class Firing(nn.Module):
    """Of each sample's units the `most` largest and the `least` smallest fire, all others are 0."""

    def __init__(self, most: int, least: int):
        super().__init__()
        self.most, self.least = most, least

    def find(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Which units fire. Exactly so many, also where units are equal: those at the top are no choice any more when
        those at the bottom are looked for."""
        largest = x.topk(self.most, 1, sorted=False).indices
        others = x.scatter(1, largest, float("inf"))
        return largest, others.topk(self.least, 1, largest=False, sorted=False).indices

    def fired(self, x: Tensor, least: float) -> Tensor:
        """1 for the largest, `least` for the smallest and 0 for all others."""
        with torch.no_grad():
            largest, smallest = self.find(x)
            return torch.zeros_like(x).scatter_(1, largest, 1.0).scatter_(1, smallest, least)


class Triggering(Firing):
    """Units that fire keep their values."""

    def forward(self, x: Tensor) -> Tensor:
        return x * self.mask(x)

    def mask(self, x: Tensor) -> Tensor:
        """1 for units that fire and 0 for others: what values and, on the way back, gradients are multiplied by."""
        return self.fired(x, 1.0)


class ConstantTriggering(Firing):
    """Units that fire are 1 and −1, whatever their values. Gradients pass as if these had been kept."""

    def forward(self, x: Tensor) -> Tensor:
        fired = self.fired(x, -1.0)
        kept = x * fired.abs()
        return fired + (kept - kept.detach())
