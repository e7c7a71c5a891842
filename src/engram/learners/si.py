"""Synaptic intelligence (Zenke, Poole, Ganguli 2017): importance is what a parameter did for the loss on its way.

While a task is learned every parameter is credited with what its moving did for the loss. In the end its importance is
that credit, for the distance that it went. While later tasks are learned important parameters are pulled back to where
they were.

Each step  ω ← ω − g·Δθ  with g the plain gradient before the step and Δθ the step that was really made.
After a task  Ω ← Ω + max(0, ω / (D² + ξ)), D the parameter's whole way in this task.
Loss  L + strength · Σ Ω (θ − θ*)².
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from torch import Tensor

from engram.core import Lesson
from engram.parts.criterion import STATISTICS, ClassWeights
from engram.parts.gradient import GradientLearner
from engram.parts.pull import Penalty, Pull, pad
from engram.parts.rehearsal import Rehearsal
from engram.settings import setting


class SI(GradientLearner):
    """Keeps the path integral ω, the importance Ω and the anchor θ*, which is also where the task began."""

    name = "si"
    keeps = "three vectors"
    paper = "Zenke, Poole, Ganguli: Continual learning through synaptic intelligence, ICML 2017"
    parts = (Rehearsal, ClassWeights, Penalty)
    penalises = True
    gathers: ClassVar[tuple[str, ...]] = ("path",)

    strength = setting(0.1, "c, the weight of the penalty (c · Ω · d²)", at_least=0, late=True)
    damping = setting(1e-3, "ξ, keeps the division finite where a parameter hardly moved", above=0)
    statistics = STATISTICS
    stop = replace(GradientLearner.stop, revised=(("patience", 1),))  # steps that were undone left their importance

    def begin(self, lesson: Lesson) -> None:
        super().begin(lesson)
        theta = self.network.theta[self.held]
        size = len(theta)
        for name in ("path", "importance"):
            self.kept[name] = pad(self.kept.get(name, theta.new_empty(0)), size)
        self.kept["anchor"] = theta.clone()  # new outputs begin where they were initialised

    def pull(self) -> Pull | None:
        importance, anchor = self.kept["importance"], self.kept["anchor"]
        if not importance.any():
            return None
        return Pull.merge([(2 * self.strength * importance, anchor)], len(self.network.theta))

    def edit(self) -> None:
        """−g·Δθ = g·θ − g·θ′: the first half before the step, the second after it, so that nothing is copied."""
        self.kept["path"].addcmul_(self.plain_grad[self.held], self.network.theta[self.held])

    def after_step(self) -> None:
        self.kept["path"].addcmul_(self.plain_grad[self.held], self.network.theta[self.held], value=-1)

    def end(self, lesson: Lesson) -> None:
        way = self.network.theta[self.held] - self.kept["anchor"]
        self.kept["importance"] += path_importance(self.kept["path"], way, self.damping)
        self.kept["path"].zero_()
        self.kept["anchor"] = self.network.theta[self.held].clone()


def path_importance(path: Tensor, way: Tensor, damping: float) -> Tensor:
    """max(0, ω / (D² + ξ)).

    >>> from torch import tensor
    >>> path_importance(tensor([1.0, -1.0]), tensor([-0.5, 0.5]), 0.75)
    tensor([1., 0.])
    """
    return (path / (way.square() + damping)).clamp_(min=0)
