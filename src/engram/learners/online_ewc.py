"""EWC with one running penalty (online EWC, Schwarz et al. 2018), anchored at the latest parameters.

As in `ewc`, springs hold the parameters that earlier tasks depend on. But there is one set of them for all tasks:
importances are added up, older ones fading, and the anchor is where the latest task ended. So memory does not grow with
the number of tasks.

After a task  F ← decay·F + F_t,  θ* ← θ_t;  loss  L + strength/2 · Σ F (θ − θ*)².
"""

from __future__ import annotations

from engram.core import Lesson
from engram.learners.ewc import EWC
from engram.parts.pull import Pull, pad
from engram.settings import setting


class OnlineEWC(EWC):
    """Keeps one pair (F, θ*), however many tasks there are."""

    name = "online-ewc"
    keeps = "two vectors"
    paper = "Schwarz et al.: Progress & compress, a scalable framework for continual learning, ICML 2018"

    decay = setting(1.0, "γ, how much of the old importance stays when a task is added", at_least=0, at_most=1)

    def pull(self) -> Pull | None:
        if "anchor" not in self.kept:
            return None
        importance, anchor = self.kept["importance"], self.kept["anchor"]
        return Pull.merge([(self.penalty_weight * importance, anchor)], len(self.network.theta))

    def end(self, lesson: Lesson) -> None:
        importance = self.fisher_information(lesson)
        if "importance" in self.kept:
            importance += self.decay * pad(self.kept["importance"], len(importance))
        self.kept["importance"] = importance
        self.kept["anchor"] = self.network.theta[self.held].clone()
