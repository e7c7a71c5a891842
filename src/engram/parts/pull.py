"""The quadratic penalty that EWC, SI and their relatives share: a pull of every parameter towards a centre.

A sum of quadratics is a quadratic: ½ Σₜ wₜ (θ − cₜ)² has the gradient w (θ − c) with w = Σ wₜ and c = Σ wₜ cₜ / w.
Whatever a method stores, training sees one `Pull`.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


class Pull:
    """The penalty ½ Σ weight·(θ − centre)², strength and factors of two included in `weight`."""

    def __init__(self, weight: Tensor, centre: Tensor):
        self.weight, self.centre = weight, centre
        self._difference = torch.empty_like(centre)

    @staticmethod
    def merge(pulls: Sequence[tuple[Tensor, Tensor]], size: int) -> Pull:
        """One pull for several (weight, centre) pairs, each padded with zeros to `size`."""
        if len(pulls) == 1:
            return Pull(pad(pulls[0][0], size), pad(pulls[0][1], size))
        total, moment = torch.zeros(size, dtype=torch.float64), torch.zeros(size, dtype=torch.float64)
        for weight, centre in pulls:
            total[: len(weight)] += weight
            moment[: len(weight)] += weight.double() * centre
        centre = torch.where(total > 0, moment / total, 0.0)
        return Pull(total.float(), centre.float())

    def add_gradient(self, theta: Tensor, grad: Tensor) -> None:
        """The explicit way: add the penalty's gradient to the loss's."""
        grad.addcmul_(self.weight, torch.sub(theta, self.centre, out=self._difference))

    def apply_implicitly(self, theta: Tensor, rate: float) -> None:
        """The implicit way, after the step on the plain loss: θ ← (θ + k c)/(1 + k) with k = rate·weight.

        It solves the penalty's step exactly, so no strength can make it diverge.
        """
        torch.mul(self.weight, rate, out=self._difference)
        theta.addcmul_(self._difference, self.centre).div_(self._difference.add_(1))


def pad(vector: Tensor, size: int) -> Tensor:
    """The vector with zeros appended."""
    return torch.cat([vector, vector.new_zeros(size - len(vector))])
