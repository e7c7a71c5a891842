"""Hard attention to the task (Serrà et al. 2018): every task learns which units it uses, and later ones leave them be.

Every task learns, together with the weights, a mask over the units: which of them it uses. Gradients of weights between
units that earlier tasks use are held back, so that their answers stay what they were. A price on new units leaves room
for later tasks.

A task has an embedding e, one number for each unit; its mask is a = σ(s e) and multiplies the units' outputs. Inside an
epoch of B batches s rises, s = 1/s_max + (s_max − 1/s_max) b/B for b = 1 … B, and masks harden; predictions have
s = s_max. With a_prev the largest mask that any earlier task has for a unit:

    loss        L + sparsity · Σ a (1 − a_prev) / Σ (1 − a_prev)
    weights     gradient · (1 − min(a_prev of the unit behind, a_prev of the unit before))
    embedding   gradient · s_max/s · (cosh(s e) + 1)/(cosh(e) + 1), afterwards clamped to ±6

The last batch of an epoch is trained with the masks that predict, as in the code released with Veniat et al. 2021.
(Where batches are counted from 0, as in the code released with HAT, and an epoch is one batch, as with few samples,
masks are ½ for all of training, and the weights that are learned are not those that predictions need.) Each task has an
output layer of its own. The wide form of Veniat et al. 2021 is a network of more `width`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from engram.core import Lesson
from engram.networks import HEAD, head_scores
from engram.parts.masks import Gates
from engram.parts.partly_private import PartlyPrivate
from engram.randomness import generator
from engram.settings import setting

EMBEDDING = "embedding"
LARGEST_NORM, LARGEST_EMBEDDING, LARGEST_EXPONENT = 10_000.0, 6.0, 50.0  # as in the published code


class HAT(PartlyPrivate):
    """Keeps the embedding and the output layer of every task; a_prev follows from the embeddings."""

    name = "hat"
    bits = 1  # masks are hard in the last batch of an epoch
    keeps = "a mask for every task"
    paper = "Serrà et al.: Overcoming catastrophic forgetting with hard attention to the task, ICML 2018"
    trunk = "finetune"  # withdraws the settings: the trunk is shared unit by unit
    freeze_bn_stats = False

    # of all tasks, because masks of earlier ones are read with it too
    s_max = setting(400.0, "hardness of the masks in the end", at_least=1, lasting=True)
    sparsity = setting(0.75, "weight of the share of free units that a task takes", at_least=0)
    strict = setting(
        False,
        "what earlier tasks use also stays where moments of the optimiser or weight decay would move it",
        late=True,
    )

    def __init__(self, *args: Any, **settings: Any):
        super().__init__(*args, **settings)
        self.gates = Gates(self.network.trunk)
        self.hardness = self.s_max

    def private(self) -> list[str]:
        return [HEAD, EMBEDDING]

    def begin(self, lesson: Lesson) -> None:
        last = self.finished_task(lesson)
        if last is not None:
            self.kept |= self._private_of(last)
        rows = self._initial_rows(self.outputs.add(lesson.index, lesson.classes))
        draw = generator(self.seed, "initialisation", EMBEDDING, lesson.index)
        parts = rows, torch.randn(sum(self.gates.units), generator=draw)
        theta = [self.network.theta[: self.network.trunk_size], *(part.to(self.device) for part in parts)]
        self.network.assign(torch.cat(theta), {EMBEDDING: len(parts[1])})
        self.fit.begin(anew=True)

    def prepare(self, lesson: Lesson) -> None:
        super().prepare(lesson)
        self.taken = self.masks_so_far()
        self.free = 1 - self.gates.between(self.taken) if self.kept else None

    def masks_so_far(self) -> Tensor:
        """a_prev: for every unit the largest mask of an earlier task."""
        largest = torch.zeros(sum(self.gates.units), device=self.device)
        for embedding in (kept[-len(largest) :] for kept in self.kept.values()):
            largest = torch.maximum(largest, torch.sigmoid(self.s_max * embedding))
        return largest

    @property
    def embedding(self) -> Tensor:
        """Of the present task."""
        return self.network.appended[EMBEDDING]

    def before_step(self, x: Tensor, y: Tensor) -> None:
        per_epoch, least = self.steps_per_epoch(), 1 / self.s_max
        self.hardness = least + (self.s_max - least) * ((self.step or 0) % per_epoch + 1) / per_epoch

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        masks, unused = torch.sigmoid(self.hardness * self.embedding), 1 - self.taken
        self.gates.open(masks)
        scores = self.network.scores(self.network.features(x, training=True), self.active)
        share = torch.dot(masks, unused) / unused.sum().clamp(min=torch.finfo(unused.dtype).tiny)
        return self.criterion(scores, y) + self.sparsity * share

    def edit(self) -> None:
        """Protect what is taken; undo what the hardness does to the embedding's gradient; clip."""
        grad = self.network.grad
        if self.free is not None:
            grad[: self.network.trunk_size].mul_(self.free)
        grad[self.network.blocks[EMBEDDING]].mul_(compensation(self.embedding.detach(), self.hardness, self.s_max))
        norm = grad.norm().item()
        if norm > LARGEST_NORM:
            grad.mul_(LARGEST_NORM / norm)

    def descend(self) -> None:
        weights = self.network.theta[: self.network.trunk_size]
        before = weights.clone() if self.strict else weights
        super().descend()
        if self.strict and self.free is not None:
            torch.lerp(before, weights, self.free, out=weights)

    def after_step(self) -> None:
        self.network.theta[self.network.blocks[EMBEDDING]].clamp_(-LARGEST_EMBEDDING, LARGEST_EMBEDDING)

    def accuracy(self) -> float:
        self.gates.open(torch.sigmoid(self.s_max * self.embedding.detach()))
        return super().accuracy()

    def predict(self, x: Tensor, task: int | None = None) -> Tensor:
        self.columns(task)  # raises where the task is missing or has not been learned
        units = sum(self.gates.units)
        own = self.kept.get(f"private.{task}", self.network.theta[self.network.trunk_size :])
        self.gates.open(torch.sigmoid(self.s_max * own[-units:]))
        with torch.no_grad():
            features = self.network.features(x.to(self.device))
            return head_scores(features, own[:-units].view(-1, self.network.row_size)).to(x.device)


def compensation(embedding: Tensor, hardness: float, most: float) -> Tensor:
    """What the gradient of an embedding is multiplied by, so that it does not depend on the hardness.

    >>> compensation(torch.zeros(1), 2.0, 400.0)
    tensor([200.])
    """
    hard = (hardness * embedding).clamp(-LARGEST_EXPONENT, LARGEST_EXPONENT)
    return most / hardness * (hard.cosh() + 1) / (embedding.cosh() + 1)
