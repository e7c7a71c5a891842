"""Distillation and nearest means of exemplars (iCaRL, Rebuffi et al. 2017): every class a sigmoid of its own.

A few samples of every class are kept, those whose mean is nearest to that of the whole class. While new classes are
learned, the network also has to give the answers for old ones that it gave before. A sample belongs to the class whose
kept samples have the nearest mean among the features.

Loss of task k, g the outputs of the network and ĝ those of the network as it was before the task:

    Σ_{y of this task} BCE(σ(g_y), [y is the label])  +  Σ_{y of earlier tasks} BCE(σ(g_y), σ(ĝ_y))

averaged over classes and over all samples, exemplars included. Exemplars are chosen by herding on features φ/‖φ‖.
The answer is the class whose mean of exemplar features, brought back to length 1, is nearest to φ(x)/‖φ(x)‖.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from engram.core import Lesson, Split, State
from engram.costs import BACKWARD
from engram.networks import FlatNetwork, Outputs
from engram.parts.exemplars import mof
from engram.parts.gradient import LOOK, GradientLearner
from engram.parts.rehearsal import Rehearsal
from engram.settings import declared, resolve, setting

FROZEN = "frozen"  # the item of the state that holds the network as it was before the task


class ICaRL(GradientLearner):
    """Keeps exemplars and, while a task is learned, the network from before it.

    A class that comes back is learned from its labels: only classes that the lesson does not have are distilled.
    """

    name = "icarl"
    keeps = "exemplars"
    paper = "Rebuffi, Kolesnikov, Sperl, Lampert: iCaRL, incremental classifier and representation learning, CVPR 2017"
    parts = (Rehearsal,)

    exemplars = setting(10, "samples of every class that are kept and rehearsed, unless there is a budget", at_least=0)
    exemplar_budget = setting(
        0, "samples that are kept of all classes together, shared equally; above 0 it replaces exemplars", at_least=0
    )
    heads = setting("growing", "outputs: growing, or masked", choices=("growing", "masked"), lasting=True)
    loss_over = "seen"
    sampling = "mof"

    def __init__(self, *args: Any, **settings: Any):
        values = resolve(f"learner '{self.name}'", declared(type(self)), settings)
        super().__init__(*args, **{**values, "exemplars": 0 if values["exemplar_budget"] else values["exemplars"]})
        self.frozen: FlatNetwork | None = None
        self._means: dict[int, Tensor] = {}  # by class; empty where they have to be computed anew

    # Training.

    def begin(self, lesson: Lesson) -> None:
        if self._distilled(lesson):
            self.kept[f"{FROZEN}.theta"] = self.network.theta.clone()
            self.kept |= {f"{FROZEN}.{name}": value.clone() for name, value in self.network.buffers().items()}
        super().begin(lesson)

    def _distilled(self, lesson: Lesson) -> list[int]:
        """The rows of classes that were seen before and are not in the lesson."""
        new = set(lesson.classes)
        seen = zip(self.outputs.classes(None), self.outputs.rows(None), strict=True)
        return [row for label, row in seen if label not in new]

    def prepare(self, lesson: Lesson) -> None:
        super().prepare(lesson)
        start, stop, mask = self.active
        self.span = Outputs(start, stop)
        self.unseen = None if mask is None else (mask != 0).nonzero().squeeze(1)
        self.old_rows = torch.tensor(self._distilled(lesson), dtype=torch.int64, device=self.device)
        self.old_places = self.old_rows - start
        self.frozen = self._thaw() if len(self.old_rows) else None
        if self.frozen is not None:
            self.sample_flops = self.sample_flops // (1 + BACKWARD) * (2 + BACKWARD)

    def _thaw(self) -> FlatNetwork:
        """The network as it was before the task."""
        network = self.fresh_network()
        network.assign(self.kept[f"{FROZEN}.theta"])
        network.assign_buffers({name: self.kept[f"{FROZEN}.{name}"] for name in network.buffers()})
        return network

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        """Mean binary cross-entropy over samples and classes."""
        scores, targets = self.network.training_scores(x, self.span), self.targets(x, y)
        if self.unseen is None:
            return F.binary_cross_entropy_with_logits(scores, targets)
        weights = torch.ones_like(targets).index_fill_(1, self.unseen, 0)
        return F.binary_cross_entropy_with_logits(scores, targets, weights, reduction="sum") / weights.sum()

    def direct(self, x: Tensor, y: Tensor) -> Tensor:
        targets = self.targets(x, y)

        def rule(scores: Tensor) -> tuple[Tensor, Tensor]:
            delta = torch.sigmoid(scores).sub_(targets).div_(targets.numel())
            return F.binary_cross_entropy_with_logits(scores, targets), delta

        return self.network.direct_loss(x, self.span, rule)

    def can_be_direct(self) -> bool:
        return self.unseen is None

    def targets(self, x: Tensor, y: Tensor) -> Tensor:
        """One-hot for the lesson's classes, what the frozen network says for the others."""
        targets = x.new_zeros(len(x), self.span.stop - self.span.start).scatter_(1, y[:, None], 1.0)
        if self.frozen is not None:
            with torch.no_grad():
                said = self.frozen.scores(self.frozen.features(x))
            targets.index_copy_(1, self.old_places, torch.sigmoid_(said.index_select(1, self.old_rows)))
        return targets

    def after_step(self) -> None:
        self._means = {}

    def end(self, lesson: Lesson) -> None:
        super().end(lesson)
        self.frozen = None
        self.kept = {name: value for name, value in self.kept.items() if not name.startswith(f"{FROZEN}.")}

    # Exemplars and their means.

    def remember(self, lesson: Lesson) -> None:
        super().remember(lesson)
        self._means = {}

    def choose(self, own: Split, label: int, m: int, lesson: Lesson) -> Tensor:
        self.operations += len(own) * self.forward_flops
        return mof(self._features(own), m, normalise=True)

    def _features(self, data: Split) -> Tensor:
        with torch.no_grad():
            return torch.cat([self.network.features(x) for x, _ in data.batches(LOOK)])

    def class_means(self) -> dict[int, Tensor]:
        """The mean of each class's exemplars on the unit sphere, with the network as it is now."""
        if not self._means and len(self.rehearsal.memory):
            kept = self.rehearsal.memory.split()
            features = F.normalize(self._features(kept), dim=1)
            labels = self.rehearsal.memory.counts()
            self._means = {c: F.normalize(features[kept.y == c].mean(0), dim=0) for c in labels}
        return self._means

    def predict(self, x: Tensor, task: int | None = None) -> Tensor:
        """Minus the squared distance to the means; the network's outputs while a class has no exemplars yet."""
        means, columns = self.class_means(), self.columns(task)
        if not all(label in means for label in columns):
            return super().predict(x, task)
        with torch.no_grad():
            features = F.normalize(self.network.features(x.to(self.device)), dim=1)
        centres = torch.stack([means[label] for label in columns])
        scores = 2 * features @ centres.t() - features.square().sum(1, keepdim=True) - centres.square().sum(1)
        return scores.to(x.device)

    def load(self, state: State) -> None:
        super().load(state)
        self.frozen, self._means = None, {}
