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

from engram.core import canonical
from engram.networks.chain import chain_scores, chain_start
from engram.networks.trunk import Trunk

ALL = slice(None)


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
        start = chain_start(trunk)
        self._is_chain = self.chained = start is not None
        self.body = torch.nn.Sequential(*list(trunk.layers)[: start or 0])
        self.body_size = sum(p.numel() for p in self.body.parameters())
        self.layers = list(trunk.layers)[(start or 0) + 1 :]  # of the chain, after the one that flattens the sample
        self.first_linear = next((m for m in self.layers if isinstance(m, torch.nn.Linear)), None)
        self.trigger = torch.zeros((), requires_grad=True)
        self.grad_is_stale = True
        for buffer in trunk.buffers():
            buffer.data = canonical(buffer)
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

    def training_scores(self, x: Tensor, outputs: Outputs) -> Tensor:
        """Scores of a training batch, for a loss that `backward` is called on."""
        if not self.chained:
            return self.scores(self.features(x, training=True), outputs)
        if len(self.body):
            self._set_training(True)
            x = self.body(x)
        return chain_scores(self, x, outputs)

    def backward(self, loss: Tensor, part: slice = ALL, again: bool = False) -> None:
        """Put the gradient of the loss into `grad`, for the trained part of theta.

        `again`: another loss of the same scores is differentiated after this one."""
        leaves = self._leaves
        if not self.chained:
            gradients = torch.autograd.grad(loss, leaves, retain_graph=again, materialize_grads=True)
            torch.cat([gradient.flatten() for gradient in gradients], out=self.grad[part])
            return
        self.grad_is_stale = True
        gradients = torch.autograd.grad(loss, [self.trigger, *leaves], retain_graph=again, allow_unused=True)[1:]
        if self.grad_is_stale:  # a loss that did not go through `training_scores`
            self.grad.zero_()
        for leaf, gradient in zip(leaves, gradients, strict=True):
            if gradient is not None:
                self.grad_of(leaf).add_(gradient)

    def train_only(self, part: slice) -> None:
        """Let gradients flow to this part of theta only; it begins and ends where parameters do."""
        for parameter in self.trunk.parameters():
            span = self.span(parameter)
            parameter.requires_grad_(part.start <= span.start and span.stop <= part.stop)
        self.head.requires_grad_(part.stop == len(self.theta))
        self._find_leaves()
        self.chained = self._is_chain and part == slice(0, len(self.theta))

    def features(self, x: Tensor, training: bool = False) -> Tensor:
        self._set_training(training)
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
        """Where a parameter lies in theta."""
        start = parameter.storage_offset()
        return slice(start, start + parameter.numel())

    def grad_of(self, parameter: Tensor) -> Tensor:
        """The part of `grad` that belongs to a parameter, in its shape."""
        return self._gradients[id(parameter)]

    def _set_training(self, training: bool) -> None:
        if self.trunk.training != training:
            self.trunk.train(training)

    def _lay_out(self, theta: Tensor) -> None:
        """Make every parameter a view of `theta`."""
        self.theta, self.grad = theta, torch.zeros_like(theta)
        self._gradients: dict[int, Tensor] = {}
        start = 0
        for p in self.trunk.parameters():
            stop = start + p.numel()
            p.data = theta[start:stop].view(p.shape)
            self._gradients[id(p)] = self.grad[start:stop].view(p.shape)
            start = stop
        self.head = theta[start:].view(-1, self.row_size).detach().requires_grad_()
        self.head_grad = self.grad[start:].view(-1, self.row_size)
        self._gradients[id(self.head)] = self.head_grad
        self._find_leaves()

    def _find_leaves(self) -> None:
        """What gradients are asked for: found once, because walking through modules at every step takes time."""
        self._leaves = [leaf for leaf in (*self.trunk.parameters(), self.head) if leaf.requires_grad]
