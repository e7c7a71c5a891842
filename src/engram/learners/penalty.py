"""Learners that pull parameters back with a quadratic penalty: EWC, SI and their relatives."""

from __future__ import annotations

from engram.core import Lesson
from engram.learners.rehearsing import Rehearsing
from engram.parts.pull import Pull
from engram.settings import setting


class PenaltyLearner(Rehearsing):
    """Subclasses say what to pull and where to (`pull`); this class applies it, explicitly or implicitly."""

    penalises = True

    strength = setting(1.0, "weight of the penalty; 0 is finetune, bit for bit", at_least=0, late=True)
    penalty_step = setting(
        "explicit",
        "add the penalty's gradient to the loss's (explicit), or solve its step exactly (implicit: cannot diverge)",
        choices=("explicit", "implicit"),
        late=True,
    )

    def pull(self) -> Pull | None:
        """The penalty while the next lesson is learned; None before there is anything to hold on to."""
        raise NotImplementedError

    @property
    def held(self) -> slice:
        """The part of theta that is held: all of it, or only the trunk where every task has a head of its own."""
        return slice(self.network.trunk_size) if self.needs_task else slice(len(self.network.theta))

    def prepare(self, lesson: Lesson) -> None:
        super().prepare(lesson)
        self.current_pull = self.pull() if self.strength else None

    def descend(self) -> None:
        theta, grad, pull = self.network.theta, self.network.grad, self.current_pull
        if pull is None:
            super().descend()
        elif self.penalty_step == "explicit":
            self.optimiser.step(theta, pull.with_gradient(theta, grad), self.part)
        else:
            super().descend()
            pull.apply_implicitly(theta, self.optimiser.rate)
