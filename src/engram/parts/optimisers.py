"""Optimisers on one flat vector: Adam, SGD with momentum, Nadam.

Each holds its slots as vectors that grow with theta, counts its steps, and moves parts of theta in place.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

# A multiple of what any processor computes at once. The numbers left over at the end of a vector go through another
# loop of the fused operator, which rounds otherwise; they are moved without it, so that every part keeps its bits.
LANES = 64


class Optimiser:
    """Slots (vectors as long as theta) and the number of steps taken."""

    slots: ClassVar[tuple[str, ...]] = ()

    def __init__(self, rate: float, momentum: float = 0.0, weight_decay: float = 0.0):
        self.rate, self.momentum, self.weight_decay = rate, momentum, weight_decay
        self.steps = 0
        self.vectors: dict[str, Tensor] = {}

    def fit(self, size: int, device: torch.device | str = "cpu") -> None:
        """Make every slot `size` long; new entries start at zero."""
        for name in self.slots:
            old = self.vectors.get(name, torch.empty(0, device=device))
            self.vectors[name] = torch.cat([old, old.new_zeros(size - len(old))])

    def reset(self, how: str) -> None:
        """`full`: as new. `slots`: moments to zero, the step count (bias correction) runs on. `none`: nothing."""
        if how != "none":
            for vector in self.vectors.values():
                vector.zero_()
        if how == "full":
            self.steps = 0

    def step(self, theta: Tensor, grad: Tensor, *parts: slice) -> None:
        """Move the chosen parts of theta along its gradient, and a little towards zero where weights decay."""
        self.steps += 1
        for part in parts:
            whole = grad[part].add(theta[part], alpha=self.weight_decay) if self.weight_decay else grad[part]
            self._move(theta[part], whole, *(self.vectors[name][part] for name in self.slots))

    def _move(self, theta: Tensor, grad: Tensor, *slots: Tensor) -> None:
        raise NotImplementedError


class SGD(Optimiser):
    """v ← momentum·v + g; θ ← θ − rate·v."""

    @property
    def slots(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("velocity",) if self.momentum else ()

    def _move(self, theta: Tensor, grad: Tensor, *slots: Tensor) -> None:
        if not slots:
            theta.add_(grad, alpha=-self.rate)
            return
        whole = len(theta) // LANES * LANES
        self._fused(theta[:whole], grad[:whole], slots[0][:whole])
        velocity = slots[0][whole:].mul_(self.momentum).add_(grad[whole:])
        theta[whole:].add_(velocity, alpha=-self.rate)

    def _fused(self, theta: Tensor, grad: Tensor, velocity: Tensor) -> None:
        """The same in one pass, two thirds of the time."""
        torch._fused_sgd_(
            [theta],
            [grad],
            [velocity],
            lr=self.rate,
            momentum=self.momentum,
            weight_decay=0.0,
            dampening=0.0,
            nesterov=False,
            maximize=False,
            is_first_step=False,
        )


class Adam(Optimiser):
    """Kingma and Ba 2015 (0.9, 0.999, 1e-8), one fused pass over the vector."""

    slots = ("mean", "square")

    def _move(self, theta: Tensor, grad: Tensor, *slots: Tensor) -> None:
        mean, square = slots
        # the operator behind torch.optim.Adam(fused=True); the class around it costs as much as the arithmetic
        torch._fused_adam_(
            [theta],
            [grad],
            [mean],
            [square],
            [],
            [torch.tensor(float(self.steps), device=theta.device)],
            lr=self.rate,
            beta1=0.9,
            beta2=0.999,
            weight_decay=0.0,
            eps=1e-8,
            amsgrad=False,
            maximize=False,
        )


class Nadam(Optimiser):
    """Dozat 2016: Adam with Nesterov momentum, β₁ decayed as μ_t = 0.9 (1 − ½·0.96^(0.004 t))."""

    slots = ("mean", "square")

    def _move(self, theta: Tensor, grad: Tensor, *slots: Tensor) -> None:
        mean, square = slots
        mean.lerp_(grad, 0.1)
        square.mul_(0.999).addcmul_(grad, grad, value=0.001)
        now, following = _decay(self.steps), _decay(self.steps + 1)
        so_far = self._decay_product()
        scale = square.div(1 - 0.999**self.steps).sqrt_().add_(1e-8)
        theta.addcdiv_(grad, scale, value=-self.rate * (1 - now) / (1 - so_far))
        theta.addcdiv_(mean, scale, value=-self.rate * following / (1 - so_far * following))

    def _decay_product(self) -> float:
        """μ₁·…·μ_t, kept for the last t so that a step costs one factor; computed anew after a load."""
        known = getattr(self, "_product", (0, 1.0))
        steps, product = known if known[0] <= self.steps else (0, 1.0)
        for t in range(steps + 1, self.steps + 1):
            product *= _decay(t)
        self._product = (self.steps, product)
        return product


def _decay(step: int) -> float:
    return 0.9 * (1 - 0.5 * 0.96 ** (step * 0.004))


OPTIMISERS: dict[str, type[Optimiser]] = {"adam": Adam, "sgd": SGD, "nadam": Nadam}
