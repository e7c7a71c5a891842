"""Riemannian walk (Chaudhry et al. 2018, equations 6 to 8): the running Fisher information plus a score of the path.

Two things make a parameter important: how much the answers depend on it, and how much the loss fell by its moving, for
the distance that it went. Both are estimated while training goes on. While later tasks are learned important parameters
are pulled back to where they were; exemplars are usually kept beside it.

Each step  ω ← ω − g·Δθ,  with g the plain gradient before the step and Δθ the step that was really made.
Every `interval` steps  s ← s + max(0, ω / (½ F Δθ² + ε)),  Δθ the way since the last time and F as it was then; and ω
begins at 0. F is updated as in EWC++: after each interval, or after every step (`fisher_update`). After a task the
scores are averaged with those of the tasks before, F and the scores are each brought to 0 … 1, and the loss of the
next task is  L + strength · Σ (F + s)(θ − θ*)².
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor

from engram.core import Lesson
from engram.learners.ewc_plus_plus import EWCPlusPlus
from engram.parts.pull import pad
from engram.settings import setting


class RWalk(EWCPlusPlus):
    """Keeps what EWC++ keeps, and the averaged score before its normalisation (`score`)."""

    name = "rwalk"
    keeps = "four vectors"
    paper = "Chaudhry, Dokania, Ajanthan, Torr: Riemannian walk for incremental learning, ECCV 2018"
    gathers: ClassVar[tuple[str, ...]] = (*EWCPlusPlus.gathers, "path", "gained", "waypoint", "metric")

    strength = setting(1000.0, "λ, the weight of the penalty (λ · (F + s) · d², without a half)", at_least=0, late=True)
    normalise = setting(
        "joint",
        "F and s each brought to 0 … 1: over all parameters (joint), each weight tensor for itself, or not at all",
        choices=("joint", "per-tensor", "none"),
        late=True,
    )
    damping = setting(1e-3, "ε, keeps the division finite where a parameter hardly moved", above=0)
    half = setting(True, "the factor ½ in the score's denominator, which the authors' code leaves out")
    clip = setting(
        "interval",
        "where negative scores become 0: those of each interval (the authors' code), or their sum after a task",
        choices=("interval", "task"),
    )

    score_fisher = setting(
        "start",
        "F in the score's denominator: where the interval starts (Fᵗ, as the paper writes it), or where it ends",
        choices=("start", "end"),
    )

    def begin(self, lesson: Lesson) -> None:
        super().begin(lesson)
        theta = self.network.theta[self.held]
        for name in ("path", "gained"):  # ω of this interval, and the scores of this task
            self.kept[name] = torch.zeros_like(theta)
        self.kept["waypoint"] = theta.clone()
        if self.fisher_update == "step" and self.score_fisher == "start":
            self.kept["metric"] = self.kept["fisher"].clone()  # F at the waypoint, from which it runs away

    def weight(self) -> Tensor:
        return 2 * self.strength * (self.normalised("importance") + self.normalised("score"))

    def edit(self) -> None:
        """−g·Δθ = g·θ − g·θ′: the first half before the step, the second after it, so that nothing is copied."""
        super().edit()
        self.kept["path"].addcmul_(self.plain_grad[self.held], self.network.theta[self.held])

    def after_step(self) -> None:
        self.kept["path"].addcmul_(self.plain_grad[self.held], self.network.theta[self.held], value=-1)
        self._score_around(super().after_step, self.is_last_of(self.interval))

    def _score_around(self, update: Callable[[], None], closing: bool) -> None:
        """Let F be updated; where an interval closes, its score is added with F from before that or from after."""
        if closing and self.score_fisher == "start":
            self.close_interval()
        update()
        if closing and self.score_fisher == "end":
            self.close_interval()
        if closing and "metric" in self.kept:
            self.kept["metric"].copy_(self.kept["fisher"])

    def close_interval(self) -> None:
        """Add the score of the way since the waypoint, and begin the next interval here."""
        theta, path, waypoint = self.network.theta[self.held], self.kept["path"], self.kept["waypoint"]
        way = torch.sub(theta, waypoint, out=waypoint)
        gain = path.relu_() if self.clip == "interval" else path
        fisher = self.kept.get("metric", self.kept["fisher"])
        add_score(self.kept["gained"], gain, fisher, way, self.damping, self.half)
        path.zero_()
        waypoint.copy_(theta)

    def end(self, lesson: Lesson) -> None:
        self._score_around(partial(super().end, lesson), closing=0 < self.fit.lasting_steps < self.interval)
        gained = self.kept.pop("gained").relu_()
        before = self.kept.get("score")
        self.kept["score"] = gained if before is None else (pad(before, len(gained)) + gained) / 2
        for name in ("path", "waypoint", "metric"):
            self.kept.pop(name, None)


def add_score(scores: Tensor, path: Tensor, fisher: Tensor, way: Tensor, damping: float, half: bool = True) -> Tensor:
    """Add ω / (½ F Δθ² + ε): the fall of the loss for a distance on the manifold of distributions.

    `way` is written over, because a new vector would cost more than the arithmetic.

    >>> add_score(torch.zeros(2), torch.tensor([1.0, 0.0]), torch.tensor([4.0, 4.0]), torch.tensor([0.5, 0.5]), 0.5)
    tensor([1., 0.])
    """
    distance = torch.addcmul(way.new_tensor(damping), way.square_(), fisher, value=0.5 if half else 1.0, out=way)
    return scores.addcdiv_(path, distance)
