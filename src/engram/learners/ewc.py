"""Elastic weight consolidation (Kirkpatrick et al. 2017), one penalty for every finished task.

After a task, the Fisher information says of every parameter how much the task's answers depend on it. While later tasks
are learned, springs pull the important parameters back to where they were, and leave the others free. Each task adds a
set of springs of its own, so memory grows with the number of tasks.

Loss of task k:  L_k + strength/2 · Σ_{t<k} Σ_i F_t,i (θ_i − θ*_t,i)²,  F_t the diagonal Fisher information at θ*_t.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engram.core import Lesson
from engram.costs import step_flops
from engram.parts import fisher
from engram.parts.criterion import ClassWeights
from engram.parts.gradient import GradientLearner
from engram.parts.pull import Penalty, Pull
from engram.parts.rehearsal import Rehearsal
from engram.randomness import generator
from engram.settings import setting


class EWC(GradientLearner):
    """Keeps (F_t, θ*_t) of every task."""

    name = "ewc"
    keeps = "two vectors for every task"
    paper = "Kirkpatrick et al.: Overcoming catastrophic forgetting in neural networks, PNAS 2017"
    parts = (Rehearsal, ClassWeights, Penalty)
    penalises = True

    strength = setting(100.0, "λ, the weight of the penalty (λ/2 · F · d²)", at_least=0, late=True)
    per_rate = setting(False, "divide the strength by the rate: λ = strength / rate (Pfülb et al. 2018)", late=True)
    fisher = setting("empirical", "estimator: " + ", ".join(fisher.ESTIMATORS), choices=tuple(fisher.ESTIMATORS))
    fisher_samples = setting(2000, "training samples it is estimated on; 0 is all of them", at_least=0)
    fisher_batch = setting(256, "samples at a time; matters only to the estimator batch", at_least=1)

    def pull(self) -> Pull | None:
        pairs = [
            (self.penalty_weight * self.kept[f"importance.{t}"], self.kept[f"anchor.{t}"])
            for t in range(self.finished_tasks())
        ]
        return Pull.merge(pairs, len(self.network.theta)) if pairs else None

    @property
    def penalty_weight(self) -> float:
        """λ."""
        return float(self.strength / self.rate if self.per_rate else self.strength)

    def end(self, lesson: Lesson) -> None:
        t = self.finished_tasks()
        self.kept[f"importance.{t}"] = self.fisher_information(lesson)
        self.kept[f"anchor.{t}"] = self.network.theta[self.held].clone()

    def finished_tasks(self) -> int:
        return sum(name.startswith("anchor") for name in self.kept)

    def fisher_information(self, lesson: Lesson) -> Tensor:
        """The Fisher information of the lesson at the present parameters."""
        data = lesson.train
        draw = generator(self.seed, "fisher", lesson.index)
        if 0 < self.fisher_samples < len(data):
            data = data.take(torch.randperm(len(data), generator=draw)[: self.fisher_samples])
        outputs, places = self.outputs.active(lesson.index, self.loss_over)  # the lesson's own, exemplars or not
        rows = outputs.stop - outputs.start  # forward, the outputs' gradients and their products: as much as a step
        self.operations += len(data) * step_flops(self.network, self.outline.shape, rows)
        values = fisher.diagonal(self.network, data, lambda y: places[y], outputs, self.fisher, draw, self.fisher_batch)
        return values[self.held].clone()
