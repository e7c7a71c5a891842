"""Fit: one network, fitted to one split. The loop of everything that is trained by gradients.

    ( batch ─▶ before_step ─▶ loss ─▶ differentiate ─▶ edit ─▶ descend ─▶ after_step )*

A fit owns the optimiser, its rate, the position, when to stop, and what of these is saved. Who owns the fit has the
network and says what a step does with it. Several networks are fitted to the same batches in `lockstep`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol
from weakref import proxy

import torch
import torch.nn.functional as F
from torch import Tensor

from engram.core import Lesson, Split, Step, pick
from engram.errors import BadData, Diverged
from engram.networks import FlatNetwork, Outputs
from engram.parts.augmentation import Change
from engram.parts.optimisers import OPTIMISERS
from engram.parts.stopping import NOTHING, Stopping, take_out
from engram.parts.twins import Twins
from engram.settings import apply, defaults, setting

SLOTS = "optimiser."  # how names of its slots begin in a state
LOOK = 1024  # samples at a time when accuracy is looked at


def require_samples(lesson: Lesson) -> None:
    if not len(lesson.train):
        raise BadData(f"task {lesson.index + 1} ({lesson.name}) has no training samples")


class Owner(Protocol):
    """Who is fitted."""

    network: FlatNetwork
    validation: Split | None  # the data that early stopping looks at
    operations: int  # beside those of the fit

    @property
    def is_plain(self) -> bool:
        """Whether a step is one down the plain loss of the network's outputs and changes nothing else."""

    @property
    def around(self) -> Mapping[str, Tensor]:
        """The frozen values that samples go through beside those of its network, by name."""

    @property
    def gathered(self) -> Mapping[str, Tensor]:
        """What steps add to beside the network, by name: where they are undone it goes back with it, in place."""

    @property
    def look_flops(self) -> int:
        """What one look at the accuracy adds to the operations."""

    def before_step(self, x: Tensor, y: Tensor) -> None: ...

    def loss(self, x: Tensor, y: Tensor) -> Tensor: ...

    def differentiate(self, loss: Tensor) -> None: ...

    def edit(self) -> None: ...

    def descend(self) -> None: ...

    def after_step(self) -> None: ...

    def accuracy(self) -> float:
        """On the validation data."""


@dataclass(frozen=True)
class Material:
    """What is learned from: all that training needs and a checkpoint does not hold.

    `places` has for every label its place among the outputs; `epoch` gives the batches of an epoch as positions in the
    data, of which there are `per_epoch`; `source` the generator of a step's random numbers; `name` is for messages.
    `augmented` makes of a batch, which is at these positions, what the step with this number learns from.
    `direct` takes the place of the owner's `loss` and `differentiate`, where both can be had at once and faster. In
    `twins` it may be found what another fit came to that began as this one.
    """

    name: str
    data: Split
    places: Tensor
    epoch: Callable[[int], Sequence[Tensor]]
    per_epoch: int
    source: Callable[[int], torch.Generator]
    sample_flops: int
    augmented: Change | None = None
    direct: Callable[[Tensor, Tensor], Tensor] | None = None
    twins: Twins | None = None


class Fit:
    """Training by mini-batches, from its settings. `step` is the position in the material; None between two."""

    epochs = setting(1, "passes over the data of a task", at_least=1)
    iterations = setting(0, "steps of a task, whatever its size; 0 is as many as the epochs have", at_least=0)
    batch = setting(64, "samples in a mini-batch", at_least=1)
    rate = setting(1e-3, "size of a step", above=0)
    schedule = setting(
        "constant", "the rate within a task: constant, or falling linearly to zero", choices=("constant", "linear")
    )
    optimizer = setting("adam", "adam, sgd or nadam", choices=tuple(OPTIMISERS))
    momentum = setting(0.0, "momentum of sgd", at_least=0, below=1)
    weight_decay = setting(
        0.0, "pull of all trained weights towards zero, as a share of them that is added to the gradient", at_least=0
    )
    optimizer_reset = setting(
        "full",
        "the optimiser between tasks: full (as new), slots (moments only) or none",
        choices=("full", "slots", "none"),
        revised=(("none", 1),),  # what was left of momentum moved outputs that a lesson does not have
    )

    def __init__(self, owner: Owner, values: Mapping[str, Any]):
        """`values` of these settings, and of those of `Stopping`."""
        apply(self, defaults(Fit) | dict(values))
        self.owner: Owner = proxy(owner)  # who holds the fit: a circle would keep both in memory beyond their use
        self.optimiser = OPTIMISERS[self.optimizer](self.rate, self.momentum, self.weight_decay)
        self.stopping = Stopping(values)
        self.step: int | None = None
        self.twin: str | None = None  # the name that it shares with all who begin like it
        self.operations = 0

    def begin(self, anew: bool = False) -> None:
        """Make the optimiser ready for the next material; `anew`: for a network that it has not seen."""
        if anew:
            self.optimiser.vectors = {}
        self.optimiser.fit(len(self.owner.network.theta), self.owner.network.theta.device)
        self.optimiser.reset("full" if anew else self.optimizer_reset)
        self.stopping.clear()
        self.step = 0

    def use(self, material: Material) -> None:
        """Take this material, from the beginning or from where it was left."""
        self.material = material
        self.planned = self.iterations or self.epochs * material.per_epoch
        self.total = self.planned if self.stopping.stopped_at is None else self.stopping.stopped_at
        self._batches: Sequence[Tensor] = ()
        self._epoch = -1
        self.twin = material.twins.key(self, self.twin) if material.twins else None
        self._is_to_meet = self.twin is not None

    def run(self) -> Iterator[Step]:
        return lockstep([self])

    def finish(self) -> None:
        """Nothing of the material is kept."""
        del self.material
        self.step = None

    def meet(self) -> None:
        """Go to the end at once, where a twin has been there and nobody looks at what is left of the way."""
        twins = self.material.twins
        if self._is_to_meet and twins and self.twin and (self.step or 0) >= twins.after:
            self._is_to_meet = False
            if twins.met(self, self.twin):
                self.twin = None

    def arrive(self, step: int) -> None:
        """Be at this step, at which it ends, with the operations and looks of all steps till there counted."""
        assert self.step is not None
        sizes = [len(batch) for batch in self.material.epoch(0)]
        samples = sum(sizes[each % len(sizes)] for each in range(self.step, step))
        looks = sum(map(self._is_due, range(self.step + 1 if self.step else 0, step + 1)))
        self.operations += samples * self.material.sample_flops
        self.owner.operations += looks * self.owner.look_flops if looks else 0
        self.optimiser.steps += step - self.step
        self.step = self.total = step

    def give_up(self) -> None:
        """End here, as it was at its best look; without any it goes on."""
        if self.step != self.total and self.stopping.kept:
            self.stopping.stopped_at = self.total = self.step
            self.stopping.restore(self.owner.network, self.owner.gathered)

    def next_batch(self) -> tuple[Tensor, Tensor]:
        assert self.step is not None
        epoch, place = divmod(self.step, self.material.per_epoch)
        if epoch != self._epoch:
            self._batches, self._epoch = self.material.epoch(epoch), epoch
        index, augmented = self._batches[place], self.material.augmented
        x, y = self.material.data.batch(index)
        return (x if augmented is None else augmented(x, index, self.step)), y

    def take(self, x: Tensor, y: Tensor) -> None:
        """One step on a batch."""
        owner, material, step = self.owner, self.material, self.step
        assert step is not None
        if self.stopping and step == 0:
            self._look(step)
            if self.total == 0:  # it is good enough as it is
                return
        if self.schedule == "linear":
            self.optimiser.rate = self.rate * (1 - step / self.planned)
        trunk = owner.network.trunk
        if trunk.draws:
            trunk.reseed(material.source(step))
        y = pick(material.places, y)
        owner.before_step(x, y)
        if material.direct is None:
            loss = owner.loss(x, y)
            owner.differentiate(loss)
        else:
            loss = material.direct(x, y)
        require_finite(loss.item(), material.name, step, self.rate)
        owner.edit()
        owner.descend()
        owner.after_step()
        self.operations += len(x) * material.sample_flops
        self.step = step + 1
        if self.stopping:
            self._look(self.step)
        if self.step == self.total and material.twins and self.twin:
            material.twins.keep(self, self.twin)

    def _look(self, step: int) -> None:
        """Where it is time to, look at the accuracy; at the end go back to where it was best."""
        stopping, network = self.stopping, self.owner.network
        if self._is_due(step):
            stopping.look(self.owner.accuracy(), step, self.material.per_epoch, network, self.owner.gathered)
            self.total = self.planned if stopping.stopped_at is None else stopping.stopped_at
        if step == self.total:
            stopping.restore(network, self.owner.gathered)

    @property
    def lasting_steps(self) -> int:
        """How many of the steps taken are not undone: at the end, with early stopping, those up to the best look."""
        taken = self.step or 0
        return self.stopping.best_step if self.stopping and taken == self.total else taken

    def _is_due(self, step: int) -> bool:
        """Whether the accuracy is looked at after so many steps."""
        return bool(self.stopping) and (step == self.planned or self.stopping.is_due(step, self.material.per_epoch))

    def tensors(self) -> dict[str, Tensor]:
        if self.step is None and self.optimizer_reset != "none":
            return {}
        slots = {f"{SLOTS}{name}": vector for name, vector in self.optimiser.vectors.items()}
        return slots | self.stopping.tensors()

    def plain(self) -> dict[str, Any]:
        found = {"step": self.step, "optimiser_steps": self.optimiser.steps}
        if self.step is None:
            return found
        return found | self.stopping.plain() | ({"twin": self.twin} if self.twin else {})

    def load(self, tensors: dict[str, Tensor], plain: Mapping[str, Any]) -> None:
        """Take what is its own out of a state's tensors."""
        self.optimiser.vectors = take_out(tensors, SLOTS)
        self.optimiser.fit(len(self.owner.network.theta), self.owner.network.theta.device)
        self.optimiser.steps = plain["optimiser_steps"]
        self.stopping.load(tensors, plain)
        self.step, self.twin = plain["step"], plain.get("twin")


def require_finite(loss: float, name: str, step: int, rate: float) -> None:
    """Refuse to go on from a loss that is none, at a material of this name after so many steps."""
    if not math.isfinite(loss):
        raise Diverged(
            f"the loss became {loss} at {name}, step {step + 1}; lower the rate (now {rate:g}) or check the data"
        )


def lockstep(fits: Sequence[Fit]) -> Iterator[Step]:
    """Fit several networks to the same material, batch by batch, each until it stops by itself. Each takes the steps
    that it would take alone; a batch is made once for all. One that is taken out of `fits` on the way is left there."""
    while True:
        yield Step(max(fit.step or 0 for fit in _going(fits) or fits), max(fit.total for fit in fits))
        if not _going(fits):
            return
        for fit in _going(fits):
            fit.meet()
        going = _going(fits)
        if going:
            x, y = going[0].next_batch()
        for fit in going:
            fit.take(x, y)


def _going(fits: Sequence[Fit]) -> list[Fit]:
    return [fit for fit in fits if fit.step != fit.total]


class Plain:
    """An owner that is a network and some of its outputs: plain training with the cross-entropy."""

    is_plain = True
    around: Mapping[str, Tensor] = MappingProxyType({})
    gathered = NOTHING
    look_flops = 0

    def __init__(self, network: FlatNetwork, outputs: Outputs, values: Mapping[str, Any], validation: Split | None):
        self.network, self.outputs, self.validation = network, outputs, validation
        self.fit = Fit(self, values)
        self.operations = 0

    def before_step(self, x: Tensor, y: Tensor) -> None:
        """Nothing is measured."""

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(self.network.training_scores(x, self.outputs), y)

    def differentiate(self, loss: Tensor) -> None:
        self.network.backward(loss)

    def edit(self) -> None:
        """The gradient stays as it is."""

    def descend(self) -> None:
        self.fit.optimiser.step(self.network.theta, self.network.grad, *self.network.trained)

    def after_step(self) -> None:
        """Nothing is measured."""

    def accuracy(self) -> float:
        if self.validation is None:
            raise RuntimeError("there is no validation data to stop by; give some, or stop=no")
        return accuracy(self.network, self.validation, self.outputs, self.fit.material.places)


def accuracy(network: FlatNetwork, data: Split, outputs: Outputs, places: Tensor) -> float:
    """The share of samples whose highest score among these outputs is their own label's."""
    right = 0
    with torch.no_grad():
        for x, y in data.batches(LOOK):
            found = network.scores(network.features(x), outputs).argmax(1)
            right += int((found == pick(places, y)).sum())
    return right / len(data)
