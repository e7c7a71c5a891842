"""Exemplars for any learner that is trained by gradients: a few samples of every class are kept and rehearsed.

    Vanilla-S, EWC-S, PI-S and RWalk-S of Chaudhry et al. 2018 are these learners with `exemplars` above 0.

Exemplars are chosen at the end of a lesson, from its training data, with the network as it is then, and are never
revised; a budget only cuts every set to its first ones. With none of the settings below a learner is what it was.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from engram.core import Lesson, Split, State, Step, pick
from engram.costs import BACKWARD, head_flops
from engram.errors import BadSetting
from engram.learners.gradient import GradientLearner
from engram.networks import Outputs
from engram.parts.exemplars import SAMPLING, ExemplarMemory, select, uniform
from engram.randomness import generator
from engram.settings import setting

STATISTICS = setting(
    "plain",
    "where class_weighted: importance from the gradient of the plain loss (a second backward pass) or of the weighted",
    choices=("plain", "weighted"),
)
"""For methods that measure importance by the gradients of training: a class that says `statistics = STATISTICS` has
the setting, and `self.plain_grad` is then what it asks for, in `edit` and in `after_step`."""

LOOK = 1024  # samples at a time when exemplars are chosen


class Rehearsing(GradientLearner):
    """Adds exemplars of earlier lessons to a lesson's training data, and weights classes if asked to."""

    exemplars = setting(0, "samples of every class that are kept and rehearsed", at_least=0)
    exemplar_budget = setting(
        0, "samples that are kept of all classes together, shared equally (instead of exemplars)", at_least=0
    )
    sampling = setting("mof", "how exemplars are chosen: " + ", ".join(SAMPLING), choices=tuple(SAMPLING))
    mixing = setting(
        "concat",
        "exemplars are shuffled into the data (concat), or every batch has as many of them as new samples (balanced)",
        choices=("concat", "balanced"),
        late=True,
    )
    class_weighted = setting(False, "weight samples by 1/frequency of their class in the lesson's training data")
    statistics = "weighted"  # a method that measures importance makes it a setting, see STATISTICS

    def __init__(self, *args: Any, **settings: Any):
        super().__init__(*args, **settings)
        if self.exemplars and self.exemplar_budget:
            raise BadSetting(
                f"exemplars={self.exemplars} came with exemplar_budget={self.exemplar_budget}; give only one of the two"
            )
        self.memory = ExemplarMemory()
        self.class_weights: Tensor | None = None  # by place among the active outputs
        self.task_masks: Tensor | None = None  # by place: 0 for the outputs of the same task, else −∞
        self._plain_loss: Tensor | None = None
        self._plain_grad: Tensor | None = None

    @property
    def rehearses(self) -> bool:
        return bool(self.exemplars or self.exemplar_budget)

    def learn(self, lesson: Lesson) -> Iterator[Step]:
        yield from super().learn(lesson)
        if self.rehearses:
            self.remember(lesson)

    def begin(self, lesson: Lesson) -> None:
        if self.rehearses:
            self._check_room(lesson)
        super().begin(lesson)

    def _check_room(self, lesson: Lesson) -> None:
        sets = len(self.memory.sizes) + len(lesson.classes)
        if 0 < self.exemplar_budget < sets:
            raise BadSetting(
                f"exemplar_budget={self.exemplar_budget} is less than one for each of the {sets} classes up to task "
                f"{lesson.index + 1} ({lesson.name}); give at least {sets}"
            )
        again = [c for c in lesson.classes if any(c in classes for classes in self.outputs.tasks.values())]
        if self.needs_task and again:
            raise BadSetting(
                f"exemplars with heads=per-task need every class in one task only, but class {again[0]} comes back in "
                f"task {lesson.index + 1} ({lesson.name}); use heads=growing"
            )

    # What a lesson is trained on.

    def training_data(self, lesson: Lesson) -> Split:
        return Split.join([lesson.train, self.memory.split()]) if len(self.memory) else lesson.train

    @property
    def balanced(self) -> bool:
        """Whether the present lesson has exemplars, and batches hold as many of them as new samples."""
        return self.mixing == "balanced" and len(self.memory) > 0

    def steps_per_epoch(self) -> int:
        new = len(self.data) - len(self.memory)
        return math.ceil(new / self.batch) if self.balanced else super().steps_per_epoch()

    def epoch(self, lesson: Lesson, number: int) -> Sequence[Tensor]:
        if not self.balanced:
            return super().epoch(lesson, number)
        new, kept = len(lesson.train), len(self.memory)
        order = torch.randperm(new, generator=generator(self.seed, "order", lesson.index, number))
        draw = generator(self.seed, "rehearsal", lesson.index, number)
        rounds = [new + torch.randperm(kept, generator=draw) for _ in range(math.ceil(new / kept))]
        pairs = zip(order.split(self.batch), torch.cat(rounds)[:new].split(self.batch), strict=True)
        return [torch.cat(pair) for pair in pairs]

    # The loss.

    def active_outputs(self, lesson: Lesson) -> tuple[Outputs, Tensor]:
        """Where the softmax runs over a task's labels, each exemplar's runs over those of its own task: all outputs are
        active, and `task_masks` leaves each sample the right ones."""
        self.task_masks = None
        if not len(self.memory) or not (self.needs_task or self.loss_over == "task"):
            return super().active_outputs(lesson)
        names = self.outputs.names
        places = torch.full((max(self.outline.classes) + 1,), -1)
        places[[label for _, label in names]] = torch.arange(len(names))
        self.task_masks = torch.full((len(names), len(names)), float("-inf"))
        for task in self.outputs.tasks:
            rows = self.outputs.rows(task)
            mask = torch.full((len(names),), float("-inf"))
            mask[rows] = 0
            self.task_masks[rows] = mask
        return Outputs(0, len(names)), places

    def prepare(self, lesson: Lesson) -> None:
        super().prepare(lesson)
        self.class_weights = self._weights(lesson) if self.class_weighted else None
        self._plain_loss = self._plain_grad = None
        if self.class_weighted and self.statistics == "plain":
            self._plain_grad = torch.zeros_like(self.network.grad)
            self.sample_flops = self.sample_flops // (1 + BACKWARD) * (1 + 2 * BACKWARD)

    def _weights(self, lesson: Lesson) -> Tensor:
        """samples / (classes · samples of the class): a mean of 1 over what an epoch presents."""
        size = len(self.places)
        counts = torch.bincount(lesson.train.y, minlength=size).double()
        if len(self.memory):
            share = len(lesson.train) / len(self.memory) if self.balanced else 1.0
            counts += share * torch.bincount(self.memory.split().y, minlength=size)
        present = counts.nonzero().squeeze(1)
        weights = torch.zeros(self.active.stop - self.active.start)
        weights[self.places[present]] = (counts.sum() / len(present) / counts[present]).float()
        return weights

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        """Mean cross-entropy of a batch, each sample's times the weight of its class."""
        if self.class_weights is None and self.task_masks is None:
            return super().loss(x, y)
        scores = self.network.training_scores(x, self.active)
        if self.task_masks is not None:
            scores = scores + pick(self.task_masks, y)
        if self.class_weights is None:
            return F.cross_entropy(scores, y)
        losses = F.cross_entropy(scores, y, reduction="none")
        self._plain_loss = losses.mean() if self._plain_grad is not None else None
        return (losses * pick(self.class_weights, y)).mean()

    def differentiate(self, loss: Tensor) -> None:
        if self._plain_loss is not None and self._plain_grad is not None:
            self.network.backward(self._plain_loss, self.part, again=True)
            self._plain_grad.copy_(self.network.grad)
            self._plain_loss = None
        super().differentiate(loss)

    @property
    def plain_grad(self) -> Tensor:
        return self.network.grad if self._plain_grad is None else self._plain_grad

    # The memory.

    def remember(self, lesson: Lesson) -> None:
        """Choose exemplars of the lesson's classes; a budget makes room for them first."""
        m = self.exemplars or self.exemplar_budget // (len(self.memory.sizes) + len(lesson.classes))
        if self.exemplar_budget:
            self.memory.reduce(m)
        for label in lesson.classes:
            own = lesson.train.take((lesson.train.y == label).nonzero().squeeze(1))
            if len(own):
                self.memory.add(label, own.raw(self.choose(own, label, m, lesson)), own.scale, own.shift)

    def choose(self, own: Split, label: int, m: int, lesson: Lesson) -> Tensor:
        """The positions of the exemplars among the samples of one class."""
        draw = generator(self.seed, "exemplars", lesson.index, label)
        if self.sampling == "uniform":
            return uniform(len(own), m, draw)
        outputs, places = self.outputs.active(lesson.index, self.loss_over)
        with torch.no_grad():
            features = torch.cat([self.network.features(x) for x, _ in own.batches(LOOK)])
            scores = self.network.scores(features, outputs)
            weights = self.network.head[outputs.start + int(places[label]), :-1]
        self.operations += len(own) * (self.forward_flops + head_flops(self.network, scores.shape[1]))
        return select(self.sampling, m, features=features, scores=scores, weights=weights, generator=draw)

    def state(self) -> State:
        state = super().state()
        if not self.memory.sizes:
            return state
        return State(state.tensors | self.memory.tensors(), {**state.plain, "exemplars": self.memory.plain()})

    def load(self, state: State) -> None:
        own = {name: value for name, value in state.tensors.items() if name.startswith("exemplars.")}
        super().load(State({n: t for n, t in state.tensors.items() if n not in own}, state.plain))
        self.memory = ExemplarMemory()
        if "exemplars" in state.plain:
            self.memory.load(own, state.plain["exemplars"])
