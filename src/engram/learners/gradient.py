"""The loop that all methods trained by gradients share; where they differ is a method to override.

    begin ─▶ ( batch ─▶ loss ─▶ differentiate ─▶ edit ─▶ step ─▶ after_step )* ─▶ end

`finetune` is this class with nothing overridden.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from engram.core import Learner, Lesson, Outline, Split, State, Step, pick
from engram.costs import BACKWARD, forward_flops, head_flops
from engram.errors import BadData, Diverged
from engram.learners.outputs import OutputLayer
from engram.networks import Blueprint, FlatNetwork, Outputs
from engram.parts.optimisers import OPTIMISERS
from engram.randomness import generator
from engram.settings import apply, declared, resolve, setting


def require_samples(lesson: Lesson) -> None:
    if not len(lesson.train):
        raise BadData(f"task {lesson.index + 1} ({lesson.name}) has no training samples")


class GradientLearner(Learner):
    """One network, trained by mini-batches on one lesson after another."""

    epochs = setting(1, "passes over the data of a task", at_least=1)
    iterations = setting(0, "steps of a task, whatever its size; 0 is as many as the epochs have", at_least=0)
    batch = setting(64, "samples in a mini-batch", at_least=1)
    rate = setting(1e-3, "size of a step", above=0)
    schedule = setting(
        "constant", "the rate within a task: constant, or falling linearly to zero", choices=("constant", "linear")
    )
    optimizer = setting("adam", "adam, sgd or nadam", choices=tuple(OPTIMISERS))
    momentum = setting(0.0, "momentum of sgd", at_least=0, below=1)
    optimizer_reset = setting(
        "full",
        "the optimiser between tasks: full (as new), slots (moments only) or none",
        choices=("full", "slots", "none"),
    )
    loss_over = setting(
        "seen",
        "labels in the training softmax: the task's, all seen, or all there will be",
        choices=("task", "seen", "all"),
    )
    heads = setting(
        "growing",
        "outputs: one row for each class when it is first seen (growing) or from the start (masked), or per-task",
        choices=("growing", "masked", "per-task"),
    )

    def __init__(self, outline: Outline, seed: int = 0, network: Blueprint | None = None, **settings: Any):
        apply(self, resolve(f"learner '{self.name}'", declared(type(self)), settings))
        self.outline, self.seed, self.blueprint = outline, seed, network or Blueprint.of()
        self.network = self.fresh_network()
        self.forward_flops = forward_flops(self.network.trunk, outline.shape)
        self.outputs = OutputLayer(self.heads, outline.classes)
        self.part = slice(None)  # the part of theta that is trained
        self.optimiser = OPTIMISERS[self.optimizer](self.rate, self.momentum)
        self.vectors: dict[str, Tensor] = {}  # what a method keeps; saved, and counted as its cost
        self.step: int | None = None  # position inside a lesson; None between two
        self.operations = 0

    @classmethod
    def least_bytes(cls, outline: Outline, network: Blueprint, settings: Mapping[str, Any]) -> int:
        """theta, its gradient and the two moments of an optimiser that has them."""
        vectors = 2 if settings.get("optimizer") == "sgd" else 4
        return 4 * vectors * network.parameters(outline.shape, len(outline.classes))

    @property
    def needs_task(self) -> bool:  # type: ignore[override]
        return self.heads == "per-task"

    # The places where methods differ.

    def begin(self, lesson: Lesson) -> None:
        """Before the first step of a lesson: its classes get their outputs, the optimiser is reset."""
        self.network.append(self._initial_rows(self.outputs.add(lesson.index, lesson.classes)))
        self.optimiser.fit(len(self.network.theta))
        self.optimiser.reset(self.optimizer_reset)

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        """Mean cross-entropy of a batch; `y` are positions among the active outputs."""
        return F.cross_entropy(self.network.training_scores(x, self.active), y)

    def differentiate(self, loss: Tensor) -> None:
        """Fill `network.grad`."""
        self.network.backward(loss, self.part)

    @property
    def plain_grad(self) -> Tensor:
        """What importance is measured by, valid in `edit` and `after_step`: `network.grad`, the gradient before the
        step, unless a learner weights its samples and has `statistics=plain` (see `rehearsing.STATISTICS`)."""
        return self.network.grad

    def edit(self) -> None:
        """`network.grad` holds the plain gradient of the loss: look at it, or change it."""

    def descend(self) -> None:
        """Move `network.theta`; the plain gradient stays where it is."""
        self.optimiser.step(self.network.theta, self.network.grad, self.part)

    def after_step(self) -> None:
        """`network.theta` has moved."""

    def end(self, lesson: Lesson) -> None:
        """After the last step of a lesson."""

    def training_data(self, lesson: Lesson) -> Split:
        """What the steps of a lesson go through."""
        return lesson.train

    def active_outputs(self, lesson: Lesson) -> tuple[Outputs, Tensor]:
        """The outputs in the training softmax, and for every class its place among them."""
        return self.outputs.active(lesson.index, self.loss_over)

    def steps_per_epoch(self) -> int:
        return math.ceil(len(self.data) / self.batch)

    def total_steps(self) -> int:
        return self.iterations or self.epochs * self.steps_per_epoch()

    def epoch(self, lesson: Lesson, number: int) -> Sequence[Tensor]:
        """The batches of an epoch, as positions in `data`."""
        shuffle = generator(self.seed, "order", lesson.index, number)
        return torch.randperm(len(self.data), generator=shuffle).split(self.batch)

    # What they share.

    def learn(self, lesson: Lesson) -> Iterator[Step]:
        if self.step is None:
            require_samples(lesson)
            self.begin(lesson)
            self.step = 0
        yield from self._train(lesson)
        self.end(lesson)
        self.step = None
        del self.data  # no lesson is kept beyond its end

    def _train(self, lesson: Lesson) -> Iterator[Step]:
        self.prepare(lesson)
        per_epoch = self.steps_per_epoch()
        total = self.total_steps()
        batches: Sequence[Tensor] = ()
        batches_epoch = -1
        while True:
            yield Step(self.step or 0, total)
            assert self.step is not None
            if self.step >= total:
                return
            if self.schedule == "linear":
                self.optimiser.rate = self.rate * (1 - self.step / total)
            epoch, place = divmod(self.step, per_epoch)
            if epoch != batches_epoch:
                batches, batches_epoch = self.epoch(lesson, epoch), epoch
            self._step(lesson, batches[place])
            self.step += 1

    def prepare(self, lesson: Lesson) -> None:
        """What training needs and a checkpoint does not hold: the data, the active outputs and their places."""
        self.data = self.training_data(lesson)
        self.active, self.places = self.active_outputs(lesson)
        head = head_flops(self.network, self.active.stop - self.active.start)
        self.sample_flops = (1 + BACKWARD) * (self.forward_flops + head)

    def _step(self, lesson: Lesson, index: Tensor) -> None:
        network = self.network
        x, y = self.data.batch(index)
        if network.trunk.draws:
            network.trunk.reseed(generator(self.seed, "dropout", lesson.index, self.step or 0))
        loss = self.loss(x, pick(self.places, y))
        self.differentiate(loss)
        self._check(loss.item(), lesson)
        self.edit()
        self.descend()
        self.after_step()
        self.operations += len(x) * self.sample_flops

    def _check(self, loss: float, lesson: Lesson) -> None:
        if not math.isfinite(loss):
            raise Diverged(
                f"the loss became {loss} at task {lesson.index + 1} ({lesson.name}), step {(self.step or 0) + 1}; "
                f"lower the rate (now {self.rate:g}) or check the data"
            )

    def predict(self, x: Tensor, task: int | None = None) -> Tensor:
        with torch.no_grad():
            scores = self.network.scores(self.network.features(x))
        return scores[:, self.outputs.rows(task)]

    def columns(self, task: int | None = None) -> list[int]:
        return self.outputs.classes(task)

    def parameters(self) -> Tensor:
        return self.network.theta

    def flops(self) -> int:
        return self.operations

    def fresh_network(self) -> FlatNetwork:
        """A network with its initial trunk and no outputs; the same one every time."""
        return self.blueprint.build(self.outline.shape, self.seed)

    def _initial_rows(self, names: Sequence[tuple[int | None, int]]) -> Tensor:
        """Rows of the head for these tasks and labels, each from a generator of its own."""
        rows = [torch.empty(0)]
        for task, label in names:
            where = ("head", label) if task is None else ("head", label, task)
            rows.append(self.network.trunk.head_rows(1, generator(self.seed, "initialisation", *where)).flatten())
        return torch.cat(rows)

    def state(self) -> State:
        split = self.network.trunk_size
        tensors = {"parameters": self.network.theta[:split], "heads": self.network.theta[split:]}
        tensors |= {f"buffers.{name}": value for name, value in self.network.buffers().items()}
        tensors |= self.vectors
        if self.step is not None or self.optimizer_reset == "none":
            tensors |= {f"optimiser.{name}": vector for name, vector in self.optimiser.vectors.items()}
        plain = {
            "step": self.step,
            "operations": self.operations,
            "optimiser_steps": self.optimiser.steps,
            "outputs": self.outputs.state(),
        }
        return State(tensors, plain)

    def load(self, state: State) -> None:
        tensors = dict(state.tensors)
        self.network.assign(torch.cat([tensors.pop("parameters"), tensors.pop("heads")]))
        for name, value in self.network.buffers().items():
            value.copy_(tensors.pop(f"buffers.{name}"))
        slots = {name: value for name, value in tensors.items() if name.startswith("optimiser.")}
        self.optimiser.vectors = {name.split(".", 1)[1]: value.clone() for name, value in slots.items()}
        self.optimiser.fit(len(self.network.theta))
        self.vectors = {name: value.clone() for name, value in tensors.items() if name not in slots}
        self.step, self.operations = state.plain["step"], state.plain["operations"]
        self.optimiser.steps = state.plain["optimiser_steps"]
        self.outputs.load(state.plain["outputs"])
