"""Layers of small modules over one flat vector, and a path through them, trained without autograd.

A module is a linear layer with ReLU; a layer's output is the sum of those of its active modules. An `ActivePath` has
copies of the active modules side by side, so that each layer is one product, and they are put back when the path
has been trained. What is frozen comes first among them: the rest is a few slices, and gradients are computed of it
alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

Layer = tuple[Tensor, Tensor]  # the weight, a row for each unit, and the bias


class Pathways:
    """`layers` of `modules` of `units` each, then the heads, which are appended. `path` (a row of modules for each
    layer) is the one that is of use; it goes with theta where this is kept and restored."""

    def __init__(self, inputs: int, layers: int, modules: int, units: int, device: torch.device | str = "cpu"):
        self.inputs = [inputs] + [units] * (layers - 1)  # of each layer
        self.modules, self.units = modules, units
        self.trunk_size = self.count(inputs, layers, modules, units)
        self.theta = torch.zeros(self.trunk_size, device=device)
        self.path = torch.zeros(layers, 0, dtype=torch.long)

    @staticmethod
    def count(inputs: int, layers: int, modules: int, units: int) -> int:
        """Parameters of all modules."""
        return modules * units * (inputs + 1 + (layers - 1) * (units + 1))

    def layer(self, number: int) -> Layer:
        """All weights (modules, units, inputs) and biases (modules, units) of a layer."""
        start = self.count(self.inputs[0], number, self.modules, self.units) if number else 0
        middle = start + self.modules * self.units * self.inputs[number]
        weights, biases = self.theta[start:middle], self.theta[middle : middle + self.modules * self.units]
        return weights.view(self.modules, self.units, -1), biases.view(self.modules, self.units)

    def head(self, rows: slice) -> Tensor:
        """The outputs with these numbers: all their weights, then all their biases."""
        size = self.units + 1
        return self.theta[self.trunk_size + size * rows.start : self.trunk_size + size * rows.stop]

    def append(self, rows: int, source: torch.Generator) -> None:
        """So many new outputs."""
        self.theta = torch.cat([self.theta, _drawn(rows * (self.units + 1), self.units, source).to(self.theta)])

    def renew(self, frozen: Tensor, source: torch.Generator) -> None:
        """Draw all modules but the frozen ones anew, uniformly from ±1/√inputs."""
        for number, inputs in enumerate(self.inputs):
            for values in self.layer(number):
                drawn = _drawn(values.numel(), inputs, source).view(values.shape)
                free = (~frozen[number]).nonzero().squeeze(1)
                values[free.to(values.device)] = drawn[free].to(values)

    # What early stopping keeps beside theta, see `Stopping`.

    def buffers(self) -> dict[str, Tensor]:
        return {"path": self.path}

    def assign_buffers(self, buffers: Mapping[str, Tensor]) -> None:
        self.path = buffers["path"].clone()

    def assign(self, theta: Tensor) -> None:
        self.theta = theta.clone()


def _drawn(size: int, inputs: int, source: torch.Generator) -> Tensor:
    bound = 1 / math.sqrt(inputs)
    return torch.empty(size).uniform_(-bound, bound, generator=source)


class ActivePath:
    """The active modules of each layer, and a head: as if it were one network."""

    def __init__(self, pathways: Pathways, genes: Tensor, rows: slice, frozen: Tensor | None = None):
        """A module that stands among the genes of a layer twice is active once."""
        self.pathways, self.rows = pathways, rows
        fixed = torch.zeros(len(genes), pathways.modules, dtype=torch.bool) if frozen is None else frozen
        self.fixed, self.trained = (
            [sorted({m for m in row if mask[m] == wanted}) for row, mask in zip(genes.tolist(), fixed.tolist())]
            for wanted in (True, False)
        )
        self.theta = torch.cat([*self._copies(), pathways.head(rows)])
        self.grad = torch.zeros_like(self.theta)
        self.layers, self.grads = list(self._views(self.theta)), list(self._views(self.grad))
        self.fixed_units = [len(modules) * pathways.units for modules in self.fixed] + [0]
        self.first = next(k for k, (weight, _) in enumerate(self.layers) if self.fixed_units[k] < len(weight))
        self.trained_grads = [(w[n:], b[n:]) for (w, b), n in zip(self.grads, self.fixed_units, strict=True)]
        self.parts = self._trained_parts()

    def _copies(self) -> Iterator[Tensor]:
        for number, modules in enumerate(self._modules()):
            for values in self.pathways.layer(number):
                yield values[modules].flatten()

    def _modules(self) -> Iterator[list[int]]:
        """The active ones of each layer, in the order of their copies."""
        return (fixed + trained for fixed, trained in zip(self.fixed, self.trained, strict=True))

    def _views(self, vector: Tensor) -> Iterator[Layer]:
        """Weight and bias of each layer and of the head in a vector as long as theta."""
        units = self.pathways.units
        sizes = [(len(m) * units, i) for m, i in zip(self._modules(), self.pathways.inputs, strict=True)]
        start = 0
        for rows, inputs in (*sizes, (self.rows.stop - self.rows.start, units)):
            middle, stop = start + rows * inputs, start + rows * (inputs + 1)
            yield vector[start:middle].view(rows, inputs), vector[middle:stop]
            start = stop

    def _trained_parts(self) -> list[slice]:
        """The slices of theta that are trained. Biases of frozen units are in them with a gradient that stays zero, by
        which no optimiser moves them; the copies of what is frozen are never put back."""
        parts: list[slice] = []
        stop = 0
        for (weight, bias), fixed in zip(self.layers, self.fixed_units, strict=True):
            start, stop = stop + fixed * weight.shape[1], stop + weight.numel() + len(bias)
            if fixed == len(weight):
                continue
            if parts and parts[-1].stop == start:
                start = parts.pop().start
            parts.append(slice(start, stop))
        return parts

    def put_back(self) -> None:
        """Write what was trained to where it was copied from."""
        for number, modules in enumerate(self.trained):
            for values, mine in zip(self.pathways.layer(number), self.layers[number], strict=True):
                new = mine[self.fixed_units[number] :]
                values[modules] = new.view(len(modules), *values.shape[1:])
        self.pathways.head(self.rows).copy_(self.theta[-self.pathways.head(self.rows).numel() :])

    def scores(self, x: Tensor) -> Tensor:
        return self._forward(x)[0]

    def _forward(self, x: Tensor) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        """The scores; for the way back the input of every layer, the head included, and the values of every unit."""
        inputs, values = [x], []
        for weight, bias in self.layers[:-1]:
            values.append(torch.addmm(bias, inputs[-1], weight.t()).relu_())
            inputs.append(values[-1].view(len(x), -1, self.pathways.units).sum(1))
        weight, bias = self.layers[-1]
        return torch.addmm(bias, inputs[-1], weight.t()), inputs, values

    def differentiate(self, x: Tensor, targets: Tensor) -> Tensor:
        """Write the gradient of the mean cross-entropy to `grad`; the scores."""
        scores, inputs, values = self._forward(x)
        delta = torch.softmax(scores, 1).sub_(targets).div_(len(x))
        for number in range(len(self.layers) - 1, self.first - 1, -1):
            fixed = self.fixed_units[number]
            if fixed < delta.shape[1]:
                own, (weight_grad, bias_grad) = delta[:, fixed:], self.trained_grads[number]
                torch.mm(own.t(), inputs[number], out=weight_grad)
                torch.sum(own, 0, out=bias_grad)
            if number > self.first:
                delta = self._through_sum(delta.mm(self.layers[number][0]), values[number - 1])
        return scores

    def _through_sum(self, delta: Tensor, values: Tensor) -> Tensor:
        """The gradient of a layer's sum is that of each of its modules where their units are active."""
        copies = values.shape[1] // self.pathways.units
        return torch.ops.aten.threshold_backward(delta.repeat(1, copies), values, 0)

    def flops(self) -> tuple[int, int]:
        """Operations for one sample: of its scores, and of a training step. If all is trained these are three times as
        many, by the common rule: as if samples had a gradient too."""
        forward = [2 * weight.numel() for weight, _ in self.layers]
        own = [2 * weight.numel() for weight, _ in self.trained_grads]
        back = sum(forward[self.first + 1 :]) + (own[0] if self.first == 0 else 0)
        return sum(forward), sum(forward) + sum(own) + back
