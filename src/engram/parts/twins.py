"""Trained once for all that need it: plain fits that begin alike end alike, to the bit.

On one stream `independent`, the candidate of `mntdp-d` that has everything new, and the first tasks of many learners
train the same network from the same values on the same samples in the same order; so do two searches that have a
candidate in common. Such a fit is known by a digest of all that it begins with. What it came to is kept under that, and
the next one that begins so takes it, from the step on after which nobody looks at it before its end. What it would have
cost is counted as if it had been trained.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from torch import Tensor

from engram.core import Split, State, pick
from engram.networks import Outputs
from engram.parts.stopping import Stopping
from engram.settings import declared, revised

if TYPE_CHECKING:
    from engram.parts.fit import Fit

STEP = ("before_step", "loss", "differentiate", "edit", "descend", "after_step", "accuracy", "direct")
BATCHES = ("epoch", "steps_per_epoch", "_material")
SAID_OTHERWISE = ("epochs", "iterations", "optimizer_reset")  # by the number of steps, and that there is a reset
ROWS = 4096  # samples at a time when their bytes are looked at


class Shelf(Protocol):
    """Where it is kept what fits came to."""

    def twin(self, key: str) -> State | None: ...

    def keep_twin(self, key: str, state: State) -> None: ...


@dataclass(frozen=True)
class Twins:
    """The twins that a fit may have at a place. `words` are what can change its bits and is not seen in its beginning
    (the machine, where its random numbers come from); `after` is the last step at which somebody looks at it."""

    place: Shelf
    words: tuple[Any, ...]
    after: int = 0

    def key(self, fit: Fit, known: str | None) -> str | None:
        """The name of a fit that begins, or of one that goes on and was `known` by it; None where it has none, or was
        trained so far where other bits come out."""
        start = hashlib.sha256(json.dumps(self.words).encode()).hexdigest()[:8]
        if fit.step:
            return known if known and known.startswith(start) else None
        return start + beginning(fit) if _is_plain(fit) else None

    def met(self, fit: Fit, key: str) -> bool:
        """Whether there was a twin, whose end is now that of the fit too."""
        found = self.place.twin(key)
        if found is None:
            return False
        network, tensors = fit.owner.network, dict(found.tensors)
        network.assign(tensors.pop("theta"))
        network.assign_buffers(tensors)
        fit.stopping.load({}, found.plain)
        fit.arrive(found.plain["step"])
        return True

    def keep(self, fit: Fit, key: str) -> None:
        """A fit has come to its end."""
        network = fit.owner.network
        self.place.keep_twin(key, State({"theta": network.theta, **network.buffers()}, fit.plain()))


def _is_plain(fit: Fit) -> bool:
    """Whether all that is done is to train all of a network of the library's on the plain loss, and nobody asks for its
    optimiser afterwards."""
    network = fit.owner.network
    whole = network.trained == [slice(0, len(network.theta))] and not network.keeps_statistics
    return fit.owner.is_plain and whole and network.trunk.is_ours and fit.optimizer_reset != "none"


def learns_plainly(learner: Any, home: type) -> bool:
    """Whether a gradient learner prepared for a lesson has its samples alone, all outputs and every step of the loop as
    its home has it."""
    alone = learner.criterion.is_plain and learner.current_pull is None and not len(learner.rehearsal.memory)
    return alone and learner.active == Outputs(0, learner.network.rows) and is_as_in(home, learner, STEP)


def twins_of(learner: Any, home: type, *words: Any) -> Twins | None:
    """Those of a learner whose random numbers come from these words. One that has batches of its own, and not as its
    home has them, has none: a fit's name does not say which."""
    if learner.twins is None or not is_as_in(home, learner, BATCHES):
        return None
    return replace(learner.twins, words=(*learner.twins.words, *words))


def is_as_in(home: type, learner: object, names: Collection[str]) -> bool:
    """Whether a learner has the methods of these names as a class above it has them."""
    return all(getattr(type(learner), name) is getattr(home, name) and name not in vars(learner) for name in names)


def beginning(fit: Fit) -> str:
    """A digest of all that a fit begins with."""
    network, material, optimiser = fit.owner.network, fit.material, fit.optimiser
    settings = {name: getattr(fit, name) for name in declared(type(fit)) if name not in SAID_OTHERWISE}
    settings |= {name: getattr(fit.stopping, name) for name in declared(Stopping)}
    steps = [fit.planned, material.per_epoch, optimiser.steps]
    # a learner of one's own may have given its optimiser others than those of the settings
    steps += [type(optimiser).__name__, optimiser.momentum, optimiser.weight_decay]
    steps += [optimiser.rate] if fit.schedule == "constant" else []  # where it falls every step sets it anew
    trunk = [network.trunk.name, network.trunk.bits, network.trunk.settings, network.trunk.begins, network.rows]
    trunk += filter(None, [revised(declared(type(network.trunk)), network.trunk.settings)])
    sha = hashlib.sha256(json.dumps([settings, steps, trunk, material.data.shape]).encode())
    _add(sha, {"theta": network.theta, **network.buffers(), **fit.owner.around})
    for split in (material.data, fit.owner.validation if fit.stopping else None):
        if split is not None:
            add_samples(sha, split, pick(material.places, split.y))
    return sha.hexdigest()


def add_samples(sha: Any, split: Split, labels: Tensor) -> None:
    """Put all that a learner can see of samples into a digest, under these labels."""
    transforms, which = split.parts()
    for transform in transforms:
        sha.update(json.dumps(transform.plain(), sort_keys=True).encode())
        _add(sha, transform.tensors())
    moves = {} if split.moves is None else {"moves": split.moves}
    _add(sha, {"which": which, "places": labels, **moves})
    for start in range(0, len(split), ROWS):
        _add(sha, {"x": split.raw(slice(start, start + ROWS))})


def _add(sha: Any, tensors: Mapping[str, Tensor]) -> None:
    for name, values in tensors.items():
        sha.update(f"{name} {values.dtype} {tuple(values.shape)} ".encode())
        sha.update(values.detach().cpu().contiguous().numpy())
