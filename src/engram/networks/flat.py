"""One flat vector: all parameters of a network, and all their gradients, as two contiguous vectors.

    theta = [ trunk parameters | head row 1 | head row 2 | … ]        a head row: one output's weights, then its bias

The trunk's own parameters are views into it. New outputs are appended as rows, so every vector that accompanies
theta (moments, importances, anchors) grows at its end and nothing already there moves. A penalty, a path integral or
an optimiser step is then a handful of operations on whole vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from engram.networks.trunk import Trunk


class Outputs(NamedTuple):
    """Some rows of the head: those from start to stop, less the ones that `mask` (0 or −∞) takes out."""

    start: int
    stop: int
    mask: Tensor | None = None

    @staticmethod
    def of(rows: Sequence[int]) -> Outputs:
        start, stop = min(rows), max(rows) + 1
        if stop - start == len(rows):
            return Outputs(start, stop)
        mask = torch.full((stop - start,), float("-inf"))
        mask[[row - start for row in rows]] = 0
        return Outputs(start, stop, mask)


class FlatNetwork:
    """A trunk and one linear output layer over one vector."""

    def __init__(self, trunk: Trunk):
        self.trunk = trunk
        self.row_size = trunk.features + 1
        self.trunk_size = sum(p.numel() for p in trunk.parameters())
        self._lay_out(torch.cat([torch.empty(0), *(p.data.flatten() for p in trunk.parameters())]))

    @property
    def rows(self) -> int:
        """How many outputs the head has."""
        return (len(self.theta) - self.trunk_size) // self.row_size

    def append(self, rows: Tensor) -> None:
        """Give the head these further rows."""
        self._lay_out(torch.cat([self.theta, rows.flatten()]))

    def assign(self, theta: Tensor) -> None:
        """Hold these values, with as many head rows as they have."""
        if len(theta) == len(self.theta):
            self.theta.copy_(theta)
        else:
            self._lay_out(theta.clone())

    def features(self, x: Tensor, training: bool = False) -> Tensor:
        if self.trunk.training != training:
            self.trunk.train(training)
        return self.trunk(x)

    def scores(self, features: Tensor, outputs: Outputs | None = None) -> Tensor:
        """The head's outputs, all or some; a masked one scores −∞."""
        features = F.pad(features, (0, 1), value=1.0)
        if outputs is None:
            return F.linear(features, self.head)
        whole = outputs.start == 0 and outputs.stop == self.rows
        scores = F.linear(features, self.head if whole else self.head[outputs.start : outputs.stop])
        return scores if outputs.mask is None else scores + outputs.mask

    def buffers(self) -> dict[str, Tensor]:
        """What the trunk keeps beside its parameters (running statistics)."""
        return dict(self.trunk.named_buffers())

    def span(self, parameter: Tensor) -> slice:
        """Where a trunk parameter lies in theta."""
        start = parameter.storage_offset()
        return slice(start, start + parameter.numel())

    def _lay_out(self, theta: Tensor) -> None:
        """Make every parameter a view of `theta`, and every gradient a view of `grad`."""
        self.theta, self.grad = theta, torch.zeros_like(theta)
        start = 0
        for p in self.trunk.parameters():
            stop = start + p.numel()
            p.data = theta[start:stop].view(p.shape)
            p.grad = self.grad[start:stop].view(p.shape)
            start = stop
        self.head = theta[start:].view(-1, self.row_size).detach().requires_grad_()
        self.head.grad = self.grad[start:].view(-1, self.row_size)
