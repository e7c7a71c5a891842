"""What all methods trained by gradients share; where they differ is a method to override.

    begin ─▶ ( batch ─▶ before_step ─▶ loss ─▶ differentiate ─▶ edit ─▶ descend ─▶ after_step )* ─▶ end

The loop is that of a `Fit`. What many methods have in common they hold as parts: exemplars (`Rehearsal`), weights of
classes (`Criterion`) and the pull of a penalty. A class that lists a part in `parts` has its settings.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor

from engram.core import Learner, Lesson, Outline, Split, State, Step
from engram.costs import BACKWARD, count_forward, head_flops, step_flops
from engram.networks import FREEZE_BN_STATS, HEAD, Blueprint, FlatNetwork, Outputs
from engram.parts.augmentation import AUGMENT, augmented, require_images
from engram.parts.criterion import Criterion, class_weights
from engram.parts.exemplars import select_by, uniform
from engram.parts.fit import LOOK, Fit, Material, Plain, accuracy, require_samples
from engram.parts.optimisers import Optimiser
from engram.parts.outputs import PER_TASK, SHARED, OutputLayer, OwnTasks, initial_rows
from engram.parts.pull import Pull
from engram.parts.rehearsal import Rehearsal
from engram.parts.stopping import Stopping, looks_at
from engram.parts.twins import is_as_in, learns_plainly, twins_of
from engram.randomness import generator
from engram.settings import apply, declared, resolve, setting


class GradientLearner(Learner):
    """One network, trained by mini-batches on one lesson after another."""

    parts: ClassVar[tuple[type, ...]] = ()
    gathers: ClassVar[tuple[str, ...]] = ()  # what of `kept` the steps of a lesson add to, see `gathered`

    epochs, iterations, batch, rate, schedule = Fit.epochs, Fit.iterations, Fit.batch, Fit.rate, Fit.schedule
    optimizer, momentum, optimizer_reset = Fit.optimizer, Fit.momentum, Fit.optimizer_reset
    weight_decay, stop, stop_on, patience = Fit.weight_decay, Stopping.stop, Stopping.stop_on, Stopping.patience
    patience_epochs, look_every, least_epochs = Stopping.patience_epochs, Stopping.look_every, Stopping.least_epochs
    stop_at, look_early, freeze_bn_stats = Stopping.stop_at, Stopping.look_early, FREEZE_BN_STATS
    loss_over = setting(
        "seen",
        "labels in the training softmax: the task's, all seen, or all there will be",
        choices=("task", "seen", "all"),
    )
    augment = AUGMENT
    heads = setting(
        "growing",
        "outputs: one row for each class when it is first seen (growing) or from the start (masked), or per-task",
        choices=("growing", "masked", PER_TASK),
        lasting=True,
    )
    strength: float = 0.0  # of a penalty, where a method has one
    penalty_step = "explicit"
    around = Plain.around
    class_weighted = False
    statistics = "weighted"  # a method that measures importance makes it a setting, see `criterion.STATISTICS`

    def __init__(self, outline: Outline, seed: int = 0, network: Blueprint | None = None, **settings: Any):
        apply(self, resolve(f"learner '{self.name}'", declared(type(self)), settings))
        require_images(self.augment, outline.shape)
        self.outline, self.seed, self.blueprint = outline, seed, network or Blueprint.of()
        self.network = self.fresh_network()
        self.forward_flops, unseen = count_forward(self.network.trunk, outline.shape)
        self.uncounted = ", ".join(unseen)
        if unseen:
            warnings.warn(
                f"operations of {self.uncounted} layers are not counted; compute will be too low", stacklevel=2
            )
        self.outputs = OutputLayer(self.heads, outline.classes, self.device)
        self.fit = Fit(self, self._values(Fit) | self._values(Stopping))
        self.rehearsal = Rehearsal(self._values(Rehearsal))
        self.criterion = Criterion()
        self.current_pull: Pull | None = None
        self._plain_grad: Tensor | None = None
        self.kept: dict[str, Tensor] = {}  # what a method keeps by name; saved, and counted as its cost
        self.operations = 0  # beside those of the fit

    def _values(self, part: type) -> dict[str, Any]:
        """What this learner has for the settings of a part."""
        return {name: getattr(self, name, each.default) for name, each in declared(part).items()}

    @classmethod
    def least_bytes(cls, outline: Outline, network: Blueprint, settings: Mapping[str, Any]) -> int:
        """theta, its gradient and the two moments of an optimiser that has them."""
        vectors = 2 if settings.get("optimizer") == "sgd" else 4
        return 4 * vectors * network.parameters(outline.shape, len(outline.classes))

    @classmethod
    def uses_validation(cls, settings: Mapping[str, Any]) -> bool:
        return looks_at(settings) == "validation"

    @property
    def needs_task(self) -> bool:  # type: ignore[override]
        return self.heads in (PER_TASK, SHARED)

    @property
    def device(self) -> torch.device:
        """Where all its tensors are."""
        return self.network.theta.device

    @property
    def step(self) -> int | None:
        """The position inside a lesson; None between two."""
        return self.fit.step

    @property
    def optimiser(self) -> Optimiser:
        return self.fit.optimiser

    @property
    def gathered(self) -> Mapping[str, Tensor]:
        """What of `kept` goes back with the network where early stopping undoes steps."""
        return {name: self.kept[name] for name in self.gathers if name in self.kept}

    # The places where methods differ.

    def begin(self, lesson: Lesson) -> None:
        """Before the first step of a lesson: its classes get their outputs, the optimiser is reset."""
        if self.rehearsal:
            self.rehearsal.check(lesson, self.outputs.tasks.values() if self.needs_task else ())
        self.network.append(self._initial_rows(self.outputs.add(lesson.index, lesson.classes)))
        self.fit.begin()

    def pull(self) -> Pull | None:
        """The penalty while the next lesson is learned; None before there is anything to hold on to."""
        return None

    @property
    def held(self) -> slice:
        """What a penalty holds of theta: all of it, or only the trunk where every task has a head of its own."""
        return slice(self.network.trunk_size) if self.needs_task else slice(len(self.network.theta))

    def shared(self) -> list[str]:
        """The names of the modules that every task has part in."""
        return list(self.network.trunk.modules_by_name)

    def before_step(self, x: Tensor, y: Tensor) -> None:
        """A batch is about to be learned from; `y` are positions among the active outputs. Where each sample's softmax
        is that of its own task, an exemplar whose class came back since has a number beyond them: see `OwnTasks`."""

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        """The loss of a batch."""
        return self.criterion(self.network.training_scores(x, self.active), y)

    def direct(self, x: Tensor, y: Tensor) -> Tensor:
        """`loss` and `differentiate` at once, to the same bits, without autograd. Who changes these two, and not this,
        does without; so does a network that cannot."""
        return self.network.direct_loss(x, self.active, partial(self.criterion.with_gradient, y=y))

    def can_be_direct(self) -> bool:
        """Whether `direct` is the present lesson's loss."""
        return self.criterion.weights is None

    def differentiate(self, loss: Tensor) -> None:
        """Fill `network.grad`."""
        plain = self.criterion.plain_loss
        if plain is not None and self._plain_grad is not None:
            self.network.backward(plain, again=True)
            self._plain_grad.copy_(self.network.grad)
            self.criterion.plain_loss = None
        self.network.backward(loss)

    @property
    def plain_grad(self) -> Tensor:
        """What importance is measured by, valid in `edit` and `after_step`: `network.grad`, the gradient before the
        step, unless a learner weights its samples and has `statistics=plain`."""
        return self.network.grad if self._plain_grad is None else self._plain_grad

    def edit(self) -> None:
        """`network.grad` holds the plain gradient of the loss: look at it, or change it."""

    def descend(self) -> None:
        """Move `network.theta`; the plain gradient stays where it is."""
        theta, grad, pull = self.network.theta, self.network.grad, self.current_pull
        explicit = pull is not None and self.penalty_step == "explicit"
        self.optimiser.step(theta, pull.with_gradient(theta, grad) if pull and explicit else grad, *self.moved())
        if pull is not None and not explicit:
            pull.apply_implicitly(theta, self.optimiser.rate)

    def moved(self) -> list[slice]:
        """What of theta a step moves. Outputs that the loss does not have get no gradient; weight decay and momentum of
        earlier lessons would move them all the same, and finished tasks be forgotten by no loss at all."""
        is_drawn = self.weight_decay or self.optimizer_reset == "none"
        return self.network.trained_with(self.active) if is_drawn else self.network.trained

    def after_step(self) -> None:
        """`network.theta` has moved."""

    def end(self, lesson: Lesson) -> None:
        """After the last step of a lesson."""

    def remember(self, lesson: Lesson) -> None:
        """Choose exemplars of the lesson's classes, after everything else."""
        self.rehearsal.keep(lesson, lambda own, label, m: self.choose(own, label, m, lesson))

    def choose(self, own: Split, label: int, m: int, lesson: Lesson) -> Tensor:
        """The positions of the exemplars among the samples of one class."""
        draw = generator(self.seed, "exemplars", lesson.index, label)
        sampling = self.rehearsal.sampling
        if sampling == "uniform":
            return uniform(len(own), m, draw)
        outputs, places = self.outputs.active(lesson.index, self.loss_over)
        self.operations += len(own) * (self.forward_flops + head_flops(self.network, outputs.stop - outputs.start))
        return select_by(self.network, outputs, int(places[label]), sampling, m, own.batches(LOOK), draw)

    def steps_per_epoch(self) -> int:
        return math.ceil(self.rehearsal.presented(len(self.data)) / self.batch)

    def epoch(self, lesson: Lesson, number: int) -> Sequence[Tensor]:
        """The batches of an epoch, as positions in `data`."""
        shuffle = generator(self.seed, "order", lesson.index, number)
        if self.rehearsal.balanced:
            draw = generator(self.seed, "rehearsal", lesson.index, number)
            return self.rehearsal.balanced_batches(len(lesson.train), self.batch, shuffle, draw)
        return torch.randperm(len(self.data), generator=shuffle).split(self.batch)

    # What they share.

    def learn(self, lesson: Lesson) -> Iterator[Step]:
        lesson = lesson.to(self.device)
        if self.step is None:
            require_samples(lesson)
            self.fit.stopping.require_data(lesson)
            self.begin(lesson)
        self.prepare(lesson)
        self.fit.use(self._material(lesson))
        yield from self.fit.run()
        self.end(lesson)
        self.fit.finish()
        del self.data, self.validation  # no lesson is kept beyond its end
        if self.rehearsal:
            self.remember(lesson)

    def _material(self, lesson: Lesson) -> Material:
        return Material(
            name=f"task {lesson.index + 1} ({lesson.name})",
            data=self.data,
            places=self.places,
            epoch=partial(self.epoch, lesson),
            per_epoch=self.steps_per_epoch(),
            source=partial(generator, self.seed, "dropout", lesson.index),
            sample_flops=self.sample_flops,
            augmented=augmented(self.data, self.augment, self.seed, lesson.index),
            direct=self.direct if self._is_direct() else None,
            twins=twins_of(self, GradientLearner, self.seed, lesson.index, self.augment),
        )

    def _is_direct(self) -> bool:
        """Whether `direct` stands for the `loss` and `differentiate` that this learner has."""
        home = next(cls for cls in type(self).__mro__ if "direct" in vars(cls))
        return self.network.is_direct and self.can_be_direct() and is_as_in(home, self, ("loss", "differentiate"))

    @property
    def is_plain(self) -> bool:
        """Whether a new network learns the present lesson and nothing else; see `parts/twins.py`."""
        is_new = len(self.outputs.tasks) == 1 or not self.shared()
        return is_new and learns_plainly(self, GradientLearner)

    def prepare(self, lesson: Lesson) -> None:
        """What training needs and a checkpoint does not hold: the data, the active outputs and their places, the loss
        and the penalty."""
        self.data, self.validation = self.rehearsal.beside(lesson.train), lesson.validation
        self.judged = self.outputs.active(lesson.index, self.loss_over)
        self.active, self.places, own = self._active_outputs(lesson)
        if own is not None and own.earlier:
            self.data, self.places = self.rehearsal.told_apart(self.data, self.places, own.earlier)
        rows = self.active.stop - self.active.start
        self.sample_flops = step_flops(self.network, self.outline.shape, rows)
        self.criterion, self._plain_grad = Criterion(own=own), None
        if self.class_weighted:
            counts = self.rehearsal.counts(lesson.train, len(self.places))
            plain = self.statistics == "plain"
            self.criterion = Criterion(class_weights(counts, self.places, rows), own, plain)
            if plain:
                self._plain_grad = torch.zeros_like(self.network.grad)
                self.sample_flops = self.sample_flops // (1 + BACKWARD) * (1 + 2 * BACKWARD)
        self.current_pull = self.pull() if self.strength else None
        frozen = self.freeze_bn_stats and len(self.outputs.tasks) > 1
        self.network.freeze_statistics(self.shared() if frozen else ())

    def _active_outputs(self, lesson: Lesson) -> tuple[Outputs, Tensor, OwnTasks | None]:
        """The outputs in the training softmax, and for every class its place among them. Where the softmax runs over a
        task's labels, each exemplar's runs over those of its own task: all outputs are active, with masks by number."""
        if len(self.rehearsal.memory) and (self.needs_task or self.loss_over == "task"):
            return self.outputs.active_by_task()
        return *self.outputs.active(lesson.index, self.loss_over), None

    @property
    def look_flops(self) -> int:
        outputs = self.judged[0]
        return len(self.validation) * (self.forward_flops + head_flops(self.network, outputs.stop - outputs.start))

    def accuracy(self) -> float:
        """What early stopping looks at: the network's outputs for the lesson's validation data."""
        self.operations += self.look_flops
        return accuracy(self.network, self.validation, *self.judged)

    def predict(self, x: Tensor, task: int | None = None) -> Tensor:
        with torch.no_grad():
            scores = self.network.scores(self.network.features(x.to(self.device)))
        return scores[:, self.outputs.rows(task)].to(x.device)

    def columns(self, task: int | None = None) -> list[int]:
        return self.outputs.classes(task)

    def parameters(self) -> Tensor:
        return self.network.theta

    def flops(self) -> int:
        return self.operations + self.fit.operations

    def fresh_network(self) -> FlatNetwork:
        """A network with its initial trunk and no outputs; the same one every time."""
        return self.blueprint.build(self.outline.shape, self.seed)

    def _initial_rows(self, names: Sequence[tuple[int | None, int]]) -> Tensor:
        return initial_rows(self.network.trunk, self.seed, names)

    def state(self) -> State:
        network = self.network
        tensors = {"parameters": network.theta[: network.trunk_size], "heads": network.theta[network.blocks[HEAD]]}
        tensors |= {f"appended.{name}": values.detach() for name, values in network.appended.items()}
        tensors |= {f"buffers.{name}": value for name, value in self.network.buffers().items()}
        tensors |= self.kept | self.fit.tensors()
        plain = {**self.fit.plain(), "operations": GradientLearner.flops(self), "outputs": self.outputs.state()}
        if network.appended:
            plain["appended"] = list(network.appended)  # in their order, which a file does not keep
        return State(tensors | self.rehearsal.tensors(), plain | self.rehearsal.plain())

    def load(self, state: State) -> None:
        tensors = {name: value.to(self.device) for name, value in state.tensors.items()}
        appended = {name: tensors.pop(f"appended.{name}") for name in state.plain.get("appended", ())}
        theta = torch.cat([tensors.pop("parameters"), tensors.pop("heads"), *appended.values()])
        self.network.assign(theta, {name: len(values) for name, values in appended.items()})
        self.network.assign_buffers({name: tensors.pop(f"buffers.{name}") for name in self.network.buffers()})
        self.fit.load(tensors, state.plain)
        self.rehearsal.load(tensors, state.plain)
        others = self.rehearsal.tensors()
        self.kept = {name: value.clone() for name, value in tensors.items() if name not in others}
        self.operations, self.fit.operations = state.plain["operations"], 0
        self.outputs.load(state.plain["outputs"])
