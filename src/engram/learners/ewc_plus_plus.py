"""EWC with a running Fisher information (Chaudhry et al. 2018, section 4.1, EWC++), one for all tasks.

How much the answers depend on a parameter is estimated while training goes on, from the gradients that are there
anyway. One running average serves all tasks, newer estimates counting more. So no pass over the data is needed at a
task's end, and memory does not grow.

Every `interval` steps  F ← α F̂ + (1 − α) F,  F̂ the mean over these steps of the batch's squared gradient; α weighs
the newest estimate. This is what the authors' code does; in the paper (equation 6 and the words after it) t counts
single iterations: that is `fisher_update=step`. After a task F and θ* are stored; loss of the next one
L + strength/2 · Σ F (θ − θ*)².
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor

from engram.core import Lesson
from engram.costs import FISHER, head_flops
from engram.networks import HEAD, FlatNetwork
from engram.parts import fisher
from engram.parts.criterion import STATISTICS, ClassWeights
from engram.parts.gradient import GradientLearner
from engram.parts.pull import Penalty, Pull, pad
from engram.parts.rehearsal import Rehearsal
from engram.settings import setting


class EWCPlusPlus(GradientLearner):
    """Keeps the running F (`fisher`), the stored one (`importance`) and the anchor θ*."""

    name = "ewc++"
    keeps = "three vectors"
    paper = "Chaudhry, Dokania, Ajanthan, Torr: Riemannian walk for incremental learning, ECCV 2018"
    parts = (Rehearsal, ClassWeights, Penalty)
    penalises = True
    gathers: ClassVar[tuple[str, ...]] = ("fisher", "squares")

    strength = setting(75_000.0, "λ, the weight of the penalty (λ/2 · F · d²)", at_least=0, late=True)
    alpha = setting(0.9, "α, the weight of the newest estimate in the running Fisher information", above=0, at_most=1)
    interval = setting(10, "steps that one estimate is the mean of; a shorter task is one interval", at_least=1)
    fisher_update = setting(
        "interval",
        "the running Fisher information takes in each interval's mean (the authors' code) or every step (the paper)",
        choices=("interval", "step"),
    )
    estimator = setting(
        "batch",
        "of a batch: its squared mean gradient (batch), or the exact mean of its samples' squares (empirical)",
        choices=("batch", "empirical"),
    )
    normalise = setting(
        "none",
        "importances brought to 0 … 1: not at all, over all parameters (joint), or each weight tensor for itself",
        choices=("none", "joint", "per-tensor"),
        late=True,
    )
    warm = setting(True, "the running Fisher information goes on into the next task; else it begins at 0", late=True)
    statistics = STATISTICS
    stop = replace(GradientLearner.stop, revised=(("patience", 1),))  # steps that were undone left their importance

    def begin(self, lesson: Lesson) -> None:
        super().begin(lesson)
        theta = self.network.theta[self.held]
        size = len(theta)
        running = self.kept.get("fisher") if self.warm else None
        self.kept["fisher"] = theta.new_zeros(size) if running is None else pad(running, size)
        self.kept["squares"] = theta.new_zeros(size)  # the mean of this interval's estimates, as it grows

    @property
    def estimate_steps(self) -> int:
        """Over how many steps one estimate is taken."""
        return int(self.interval) if self.fisher_update == "interval" else 1

    def pull(self) -> Pull | None:
        if "anchor" not in self.kept:
            return None
        return Pull.merge([(self.weight(), self.kept["anchor"])], len(self.network.theta))

    def weight(self) -> Tensor:
        return self.strength * self.normalised("importance")

    def normalised(self, name: str) -> Tensor:
        """A stored vector as the penalty uses it."""
        return normalised(self.kept[name], self.normalise, self.network)

    def before_step(self, x: Tensor, y: Tensor) -> None:
        if self.estimator == "empirical":
            self.kept["squares"].add_(self.sample_squares(x, y)[self.held], alpha=1 / self.estimate_steps)

    def sample_squares(self, x: Tensor, y: Tensor) -> Tensor:
        """The mean of the samples' squared gradients, each of the loss that it has in training."""

        def total(scores: Tensor) -> Tensor:
            return self.criterion.of_samples(scores, y, weighted=self.statistics == "weighted").sum()

        rows = self.active.stop - self.active.start
        self.operations += len(x) * FISHER * (self.forward_flops + head_flops(self.network, rows))
        return fisher.of_batch(self.network, x, self.active, total)

    def edit(self) -> None:
        if self.estimator == "batch":
            grad = self.plain_grad[self.held]
            self.kept["squares"].addcmul_(grad, grad, value=1 / self.estimate_steps)

    def after_step(self) -> None:
        if self.is_last_of(self.estimate_steps):
            self.update_fisher()

    def is_last_of(self, steps: int) -> bool:
        """Whether the present step is the last of so many."""
        return ((self.step or 0) + 1) % steps == 0

    def update_fisher(self) -> None:
        """Bring the estimate of the last steps into the running Fisher information."""
        squares = self.kept["squares"]
        self.kept["fisher"].lerp_(squares, self.alpha)
        squares.zero_()

    def end(self, lesson: Lesson) -> None:
        steps = self.fit.lasting_steps
        if 0 < steps < self.estimate_steps:  # or a short task would leave no trace
            self.kept["squares"] *= self.estimate_steps / steps
            self.update_fisher()
        self.kept["importance"] = self.kept["fisher"].clone()
        self.kept["anchor"] = self.network.theta[self.held].clone()
        del self.kept["squares"]


def normalised(values: Tensor, how: str, network: FlatNetwork) -> Tensor:
    """The vector (as long as theta, or as its trunk) with its values brought to 0 … 1, jointly or by tensor."""
    if how == "none":
        return values
    if how == "joint":
        return min_max(values)
    result = values.clone()
    rows = result[network.blocks[HEAD]].view(-1, network.row_size)
    others = [*map(network.span, network.trunk.parameters()), *(network.blocks[name] for name in network.appended)]
    for part in (*(result[span] for span in others), rows[:, :-1], rows[:, -1]):
        part.copy_(min_max(part))
    return result


def min_max(values: Tensor) -> Tensor:
    """(x − min) / (max − min); all 0 where there is no difference.

    >>> min_max(torch.tensor([1.0, 2.0, 5.0]))
    tensor([0.0000, 0.2500, 1.0000])
    """
    if not values.numel():
        return values
    low, high = values.aminmax()
    return (values - low) / (high - low) if high > low else torch.zeros_like(values)
