"""The quadratic penalty that EWC, SI and their relatives share: a pull of every parameter towards a centre.

A sum of quadratics is a quadratic: ½ Σₜ wₜ (θ − cₜ)² has the gradient w (θ − c) with w = Σ wₜ and c = Σ wₜ cₜ / w.
Whatever a method stores, training sees one `Pull`.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from engram.settings import setting


class Penalty:
    """The settings of learners that pull parameters back. Such a learner says what to pull and where to in `pull`."""

    strength = setting(1.0, "weight of the penalty; 0 is finetune, bit for bit", at_least=0, late=True)
    penalty_step = setting(
        "explicit",
        "add the penalty's gradient to the loss's (explicit), or solve its step exactly (implicit: cannot diverge)",
        choices=("explicit", "implicit"),
        late=True,
    )


class Pull:
    """The penalty ½ Σ weight·(θ − centre)², strength and factors of two included in `weight`."""

    def __init__(self, weight: Tensor, centre: Tensor):
        self.weight, self.centre = weight, centre
        self._scratch = torch.empty_like(centre)
        self._rate = float("nan")  # the rate that the scratch vector was filled for

    @staticmethod
    def merge(pulls: Sequence[tuple[Tensor, Tensor]], size: int) -> Pull:
        """One pull for several (weight, centre) pairs, each padded with zeros to `size`."""
        if len(pulls) == 1:
            return Pull(pad(pulls[0][0], size), pad(pulls[0][1], size))
        total, moment = (torch.zeros(size, dtype=torch.float64, device=pulls[0][0].device) for _ in range(2))
        for weight, centre in pulls:
            total[: len(weight)] += weight
            moment[: len(weight)] += weight.double() * centre
        centre = torch.where(total > 0, moment / total, 0.0)
        return Pull(total.float(), centre.float())

    def with_gradient(self, theta: Tensor, grad: Tensor) -> Tensor:
        """The explicit way: the loss's gradient plus the penalty's. The loss's own stays as it is."""
        torch.sub(theta, self.centre, out=self._scratch)
        return torch.addcmul(grad, self.weight, self._scratch, out=self._scratch)

    def apply_implicitly(self, theta: Tensor, rate: float) -> None:
        """The implicit way, after the step on the plain loss: θ ← (θ + k c)/(1 + k) with k = rate·weight.

        It solves the penalty's step exactly, so no strength can make it diverge. It is a step from θ towards c by
        the share k/(1 + k), which changes only when the rate does.
        """
        if rate != self._rate:
            torch.mul(self.weight, rate, out=self._scratch).clamp_(max=1e30)
            self._scratch.div_(self._scratch + 1)
            self._rate = rate
        theta.lerp_(self.centre, self._scratch)


def pad(vector: Tensor, size: int) -> Tensor:
    """The vector with zeros appended."""
    return torch.cat([vector, vector.new_zeros(size - len(vector))])
