"""Early stopping: a look at validation accuracy now and then, patience, and the best state in the end."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol

from torch import Tensor

from engram.core import Lesson
from engram.errors import BadData
from engram.settings import apply, defaults, setting

EARLY = (0, 1, 2, 3, 4, 5, 10)  # steps of Veniat et al. 2021: a network that needs no training is then the best one
BEST = "best."  # how names of what will be restored begin in a state
GATHERED = "gathered."  # and behind that those of what an owner gathered
NOTHING: Mapping[str, Tensor] = MappingProxyType({})


class Network(Protocol):
    """What is kept and restored of a network."""

    theta: Tensor

    def assign(self, theta: Tensor, /) -> None: ...

    def buffers(self) -> dict[str, Tensor]: ...

    def assign_buffers(self, buffers: Mapping[str, Tensor], /) -> None: ...


class Stopping:
    """The best accuracy so far, when it was reached, and the network as it was then."""

    stop = setting(
        "no",
        "what ends a task: its number of steps (no), or no rise of its validation accuracy for a while (patience)",
        choices=("no", "patience"),
    )
    stop_on = setting(
        "validation",
        "what stop=patience looks at: held-out data of the task, or its test data, which marks every result",
        choices=("validation", "test"),
    )
    patience = setting(300, "steps without a rise of validation accuracy after which a task ends", at_least=1)
    patience_epochs = setting(
        0, "epochs without a rise of validation accuracy that a task is given at least", at_least=0
    )
    look_every = setting(0, "steps between two looks at validation accuracy; 0 is an epoch", at_least=0)
    look_early = setting(
        False, f"also look after {', '.join(map(str, EARLY[:-1]))} and {EARLY[-1]} steps (Veniat et al. 2021)"
    )
    stop_at = setting(
        0.0,
        "stop=patience: validation accuracy at which a task ends at once, as 1, after which none can rise; 0 for none",
        at_least=0,
        at_most=1,
    )
    least_epochs = setting(0, "epochs before which no task ends by stop=patience", at_least=0)

    def __init__(self, values: Mapping[str, Any]):
        apply(self, defaults(Stopping) | dict(values))
        self.clear()

    def clear(self) -> None:
        """As before a first look."""
        self.best, self.best_step = -1.0, 0
        self.stopped_at: int | None = None
        self.kept: dict[str, Tensor] = {}

    def __bool__(self) -> bool:
        return bool(self.stop != "no")

    def require_data(self, lesson: Lesson) -> None:
        """Something to look at."""
        if self and not len(lesson.validation):
            raise BadData(
                f"task {lesson.index + 1} ({lesson.name}) has no validation data for stop={self.stop} to look at; hold "
                "some out with validation=0.1, or use stop=no"
            )

    def is_due(self, step: int, per_epoch: int) -> bool:
        """Whether validation accuracy is looked at after so many steps."""
        if self.look_early and step in EARLY:
            return True
        return step > 0 and step % (self.look_every or per_epoch) == 0

    def look(
        self, accuracy: float, step: int, per_epoch: int, network: Network, gathered: Mapping[str, Tensor] = NOTHING
    ) -> None:
        """Keep the network, and what was gathered on its way, where it is better than ever; say when it is good enough
        or patience is over (`stopped_at`)."""
        if accuracy > self.best:
            self.best, self.best_step = accuracy, step
            self.kept = {"theta": network.theta.clone()}
            self.kept |= {f"buffers.{name}": value.clone() for name, value in network.buffers().items()}
            self.kept |= {f"{GATHERED}{name}": value.clone() for name, value in gathered.items()}
            if 0 < self.stop_at <= accuracy:
                self.stopped_at = step
        elif step - self.best_step >= self._patience(per_epoch) and step >= self.least_epochs * per_epoch:
            self.stopped_at = step

    def _patience(self, per_epoch: int) -> int:
        return max(self.patience, self.patience_epochs * per_epoch)

    def restore(self, network: Network, gathered: Mapping[str, Tensor] = NOTHING) -> None:
        """Put the best state back into the network, and into what was gathered: steps that are undone leave no
        trace."""
        network.assign(self.kept.pop("theta"))
        for name, value in take_out(self.kept, GATHERED).items():
            gathered[name].copy_(value)
        network.assign_buffers({name.removeprefix("buffers."): value for name, value in self.kept.items()})
        self.kept = {}

    def tensors(self) -> dict[str, Tensor]:
        return {f"{BEST}{name}": value for name, value in self.kept.items()}

    def plain(self) -> dict[str, Any]:
        return {"stopping": [self.best, self.best_step, self.stopped_at]} if self else {}

    def load(self, tensors: dict[str, Tensor], plain: Mapping[str, Any]) -> None:
        """Take what is its own out of a state's tensors."""
        self.clear()
        self.kept = take_out(tensors, BEST)
        self.best, self.best_step, self.stopped_at = plain.get("stopping", (-1.0, 0, None))


def looks_at(settings: Mapping[str, Any]) -> str:
    """Which data decides when a task ends, with these settings of a learner: validation, test, or none."""
    return "none" if settings.get("stop", "no") == "no" else str(settings.get("stop_on", "validation"))


def take_out(tensors: dict[str, Tensor], start: str) -> dict[str, Tensor]:
    """Copies of the tensors whose names begin like this, by the rest of their names; they are taken out."""
    names = [name for name in tensors if name.startswith(start)]
    return {name.removeprefix(start): tensors.pop(name).clone() for name in names}
