"""Memory aware synapses (Aljundi et al. 2018): importance is how much a parameter changes what the network says.

A parameter is important if a small change of it changes what the network answers, whatever the right answer is. That is
measured after every task on its samples, without labels, and summed up. While later tasks are learned important
parameters are pulled back to where they were.

After a task  Ω ← Ω + mean over its samples of |∂‖f(x)‖²/∂θ|,  θ* ← θ, with f(x) the scores: labels are not needed.
Loss  L + strength · Σ Ω (θ − θ*)².
"""

from __future__ import annotations

import torch
from torch import Tensor

from engram.core import Lesson
from engram.costs import step_flops
from engram.parts import fisher
from engram.parts.criterion import ClassWeights
from engram.parts.gradient import GradientLearner
from engram.parts.pull import Penalty, Pull, pad
from engram.parts.rehearsal import Rehearsal
from engram.randomness import generator
from engram.settings import setting

LOOK = 256  # samples at a time


class MAS(GradientLearner):
    """Keeps one pair (Ω, θ*), however many tasks there are."""

    name = "mas"
    keeps = "two vectors"
    paper = "Aljundi, Babiloni, Elhoseiny, Rohrbach, Tuytelaars: Memory aware synapses, ECCV 2018"
    parts = (Rehearsal, ClassWeights, Penalty)
    penalises = True

    strength = setting(1.0, "λ, the weight of the penalty (λ · Ω · d²)", at_least=0, late=True)
    importance_samples = setting(2000, "training samples that importance is measured on; 0 is all", at_least=0)

    def pull(self) -> Pull | None:
        if "anchor" not in self.kept:
            return None
        weight = 2 * self.strength * self.kept["importance"]
        return Pull.merge([(weight, self.kept["anchor"])], len(self.network.theta))

    def end(self, lesson: Lesson) -> None:
        importance = self.sensitivity(lesson)
        before = self.kept.get("importance", self.network.theta.new_empty(0))
        self.kept["importance"] = importance.add_(pad(before, len(importance)))
        self.kept["anchor"] = self.network.theta[self.held].clone()

    def sensitivity(self, lesson: Lesson) -> Tensor:
        """The mean over the lesson's samples of |∂‖f(x)‖²/∂θ|, each sample for itself."""
        data = lesson.train
        if 0 < self.importance_samples < len(data):
            draw = generator(self.seed, "importance", lesson.index)
            data = data.take(torch.randperm(len(data), generator=draw)[: self.importance_samples])
        outputs, _ = self.outputs.active(lesson.index, self.loss_over)
        rows = outputs.stop - outputs.start  # forward, the outputs' gradients and their products: as much as a step
        self.operations += len(data) * step_flops(self.network, self.outline.shape, rows)
        total = torch.zeros_like(self.network.theta)
        for x, _ in data.batches(LOOK):
            sizes = fisher.of_batch(self.network, x, outputs, squared_norm, torch.abs)
            total.add_(sizes, alpha=len(x) / len(data))
        return total[self.held].clone()


def squared_norm(scores: Tensor) -> Tensor:
    """Σ f², over samples and over the outputs that are not masked.

    >>> squared_norm(torch.tensor([[1.0, 2.0], [3.0, float("-inf")]]))
    tensor(14.)
    """
    return scores.masked_fill(scores.isinf(), 0).square().sum()
