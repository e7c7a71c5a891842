"""What a self-organising map says about classes: its activity, sharpened, and a linear readout of that.

With d_u the distance of a sample to unit u and κ the running mean of the smallest one, g_u = exp(−d_u² / 2κ²). Units
with g_u ≤ θ · max g are silent, the others have z_u = g_u^p / max(g)^(p−1), whose largest is that of g. The outputs
are y = W z, trained sample by sample on one-hot targets: W ← W − 2 ε (y − target) zᵀ.

One thing is in no paper: a step ends at its target where it would overshoot it, which is where 2 ε ‖z‖² > 1. With
peak=one and the default ε more than 50 units are active then, because the map or the data collapsed; without that W
would grow beyond all bounds.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from engram.parts.som import Array
from engram.settings import setting

NARROWEST = 1e-6  # of κ, where samples lie on their units


class Readout:
    """`weights` (units, classes) and κ."""

    theta = setting(
        0.7, "θ: units with less than this share of the largest activity are silent (calibrated)", above=0, below=1
    )
    power = setting(10.0, "p: how much activity is sharpened (calibrated; 10 to 20 are possible)", at_least=1)
    peak = setting(
        "one",
        "the largest activity of a sample is made 1 (one: calibrated) or stays exp(−d²/2κ²) of its best unit (best)",
        choices=("one", "best"),
    )
    kappa_rate = setting(
        1e-3, "weight of the newest sample in κ, the mean of the smallest distance", above=0, at_most=1
    )
    rate = setting(1e-2, "ε of the readout (calibrated on Table S6; Kemker et al. print 1e-3)", above=0)

    def __init__(self, units: int, theta: float, power: float, peak: str, kappa_rate: float, rate: float):
        self.theta, self.power, self.peak = theta, power, peak
        self.kappa_rate, self.rate = kappa_rate, rate
        self.weights = torch.zeros(units, 0)
        self.kappa = 0.0  # before the first sample

    def grow(self, classes: int) -> None:
        """Outputs of so many new classes, which know nothing."""
        self.weights = torch.cat([self.weights, self.weights.new_zeros(len(self.weights), classes)], dim=1)

    def activity(self, squares: Tensor) -> Tensor:
        """z of all units for many samples, from squared distances (samples, units)."""
        smallest, width = squares.min(1, keepdim=True).values, self._width()
        excess = (squares - smallest) / width
        z = torch.exp(-self.power * excess).masked_fill_(excess >= -math.log(self.theta), 0)
        return z if self.peak == "one" else z * torch.exp(-smallest / width)

    def active(self, squares: Array, best: int) -> tuple[Array, Array]:
        """The units that are not silent for one sample, and their z: what `activity` says of it, in less time."""
        smallest, width = float(squares[best]), self._width()
        excess = squares - smallest
        units = (excess < -math.log(self.theta) * width).nonzero()[0]
        # In double precision, because what is rounded from that is the same with every version of numpy.
        z = np.exp(excess[units].astype(np.float64) * (-self.power / width))
        z = z if self.peak == "one" else z * math.exp(-smallest / width)
        return units, z.astype(squares.dtype)

    def _width(self) -> float:
        return 2 * max(self.kappa, NARROWEST) ** 2

    def outputs(self, squares: Tensor) -> Tensor:
        """One row a sample, from its squared distances to the units."""
        return self.activity(squares) @ self.weights

    def notice(self, square: float) -> None:
        """Take the squared distance of a sample's best unit into κ."""
        distance = math.sqrt(max(square, 0.0))
        self.kappa = self.kappa + self.kappa_rate * (distance - self.kappa) if self.kappa else distance

    def correct(self, squares: Array, best: int, target: int, threshold: float) -> bool:
        """Learn one sample if it is novel: if it is told right by less than the `threshold`. Whether it was."""
        units, z = self.active(squares, best)
        column, weights = z[:, None], self.weights.numpy()
        known = weights.take(units, 0)
        y = np.add.reduce(column * known)
        if threshold < math.inf and confidence(y, target) >= threshold:
            return False
        y[target] -= 1
        step = 2 * self.rate
        known -= column * (step / max(1.0, step * float(z @ z)) * y)
        weights[units] = known
        return True


def confidence(y: Array, target: Array | int) -> Array:
    """Of every sample: how far the largest output is above the second, and below it if it is not the target's.

    >>> confidence(np.array([[0.25, 1.0, 0.5], [0.25, 1.0, 0.5]]), np.array([1, 2]))
    array([ 0.5, -0.5])
    """
    two = np.partition(y, y.shape[-1] - 2, axis=-1)[..., -2:]
    lead = two[..., 1] - two[..., 0]
    return np.where(y.argmax(-1) == target, lead, -lead)
