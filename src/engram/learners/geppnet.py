"""A self-organising map that keeps all data (GeppNet, Gepperth and Karaoguz 2016, as compared by Kemker et al. 2018).

A map of prototypes orders itself by the data, and a linear readout says the class of each place on it. Later on only
samples change it about which it is unsure or wrong, so that what it knows is left in peace. New samples take turns with
any of those that were ever seen, all of which are kept.

Base session: first the map alone orders itself, with rate and radius falling exponentially, then map and linear readout
learn together (`parts/som.py`, `parts/readout.py`). Later sessions: a sample is learned only if it is novel, which is
if its confidence m < threshold; m is how far the largest output lies above the second, negative if it is the wrong one.
Samples are new ones first, then any of all that were ever seen, which are kept for that.

The original text leaves constants open, and so do Kemker et al. Defaults marked "calibrated" reproduce their Table S6.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from engram.core import Learner, Lesson, Outline, Split, State, Step, Task, canonical
from engram.errors import BadData
from engram.networks import Blueprint
from engram.parts.fit import require_samples
from engram.parts.outputs import OutputLayer
from engram.parts.readout import Readout
from engram.parts.som import SelfOrganisingMap
from engram.randomness import generator
from engram.settings import apply, declared, resolve, setting
from engram.transform import under

BLOCK = 64  # samples that the map learns between two steps
LOOK = 1000  # samples at a time where all are looked at


class GeppNet(Learner):
    """One step is a block of up to 64 iterations, each of which draws one sample."""

    name = "geppnet"
    keeps = "all data"
    paper = "Gepperth, Karaoguz: A bio-inspired incremental learning architecture for applied perceptual problems, 2016"
    parts = (Readout,)

    map_side = setting(
        23, "units along a side of the map (Kemker et al., Table S4; originally 30)", at_least=2, lasting=True
    )
    base_iterations = setting(80_000, "samples drawn in the first session (Table S4)", at_least=1)
    later_iterations = setting(20_000, "samples drawn in each later session (Table S4)", at_least=1, late=True)
    most_passes = setting(
        1000,
        "at most so many draws in a session for each of its own samples (a limit for small data; the published "
        "experiments need 670)",
        at_least=1,
    )
    map_share = setting(
        0.5, "share of the first session in which the map learns alone (calibrated)", at_least=0, at_most=1
    )
    map_rate = setting(0.1, "ε of the map at the beginning (Table S4)", above=0, at_most=1)
    map_rate_end = setting(0.01, "ε of the map after its ordering (calibrated)", above=0, at_most=1)
    map_rate_later = setting(0.01, "ε of the map in later sessions (calibrated)", above=0, at_most=1, late=True)
    map_radius = setting(
        0.25, "σ of the neighbourhood at the beginning, in sides of the map (calibrated: n/4)", at_least=1e-3
    )
    map_radius_end = setting(0.5, "σ after the ordering, in units (calibrated: 1 costs 3 points)", at_least=1e-3)
    map_spread = setting(
        0.05, "deviation of the units around the mean of the first session, at the start (calibrated)", at_least=0
    )
    threshold = setting(0.5, "novel is what has a lower confidence, in later sessions (Table S4)", late=True)
    replay = setting(
        0.5,
        "last share of a later session that draws from all data, not from its own (calibrated)",
        at_least=0,
        at_most=1,
        late=True,
    )

    def __init__(self, outline: Outline, seed: int = 0, network: Blueprint | None = None, **settings: Any):
        """`network` is not used: the map is all there is."""
        apply(self, resolve(f"learner '{self.name}'", declared(type(self)), settings))
        self.outline, self.seed = outline, seed
        units = self.map_side**2
        self.map = SelfOrganisingMap(self.map_side, torch.zeros(units, math.prod(outline.shape)))
        self.readout = Readout(units, **{name: getattr(self, name) for name in declared(Readout)})
        self.outputs = OutputLayer("growing", outline.classes)
        self.samples: Split | None = None
        self.sessions = 0  # begun so far
        self.new = 0  # samples of the last one
        self.done: int | None = None

    @classmethod
    def least_bytes(cls, outline: Outline, network: Blueprint | None, settings: Mapping[str, Any]) -> int:
        """The map, a copy while it is made, and the readout."""
        return 4 * settings["map_side"] ** 2 * (2 * math.prod(outline.shape) + len(outline.classes))

    @classmethod
    def require_tasks(cls, tasks: Iterable[Task | Lesson], seen: int = 0) -> None:
        for number, task in enumerate(tasks, seen):
            where, samples = f"task {task.index + 1} ({task.name})", len(task.train)
            if samples < 2:
                raise BadData(
                    f"{where} has {samples} of at least 2 training samples that learner '{cls.name}' needs in every "
                    "task; give more, or choose another learner"
                )
            if not number and len(task.train.y.unique()) < 2:
                raise BadData(
                    f"{where} is the first and has 1 class; learner '{cls.name}' needs 2 there to tell how sure it is: "
                    "give the first task more classes"
                )

    def learn(self, lesson: Lesson) -> Iterator[Step]:
        if self.done is None:
            self._begin(lesson)
            self.done = 0
        blocks = self._blocks()
        for start, stop in blocks[self.done :]:
            yield Step(self.done, len(blocks))
            self._learn(start, stop)
            self.done += 1
        yield Step(len(blocks), len(blocks))
        self._end()
        self.done = None

    def _begin(self, lesson: Lesson) -> None:
        require_samples(lesson)
        self.require_tasks([lesson], self.sessions)
        mean = _mean(lesson)
        if not self.sessions:
            draw = generator(self.seed, "initialisation", "map")
            noise = torch.randn(self.map.weights.shape, generator=draw)
            self.map.weights = noise.mul_(self.map_spread).add_(mean)
        self.readout.grow(len(self.outputs.add(lesson.index, lesson.classes)))
        self.samples = Split.join([lesson.train] if self.samples is None else [self.samples, lesson.train])
        self.sessions, self.new = self.sessions + 1, len(lesson.train)

    def _parts(self) -> tuple[int, int]:
        """Iterations of both parts of a session: map alone and with the readout; or new samples and all."""
        total = self.base_iterations if self.sessions == 1 else self.later_iterations
        total = min(total, self.most_passes * self.new)
        first = round(total * (self.map_share if self.sessions == 1 else 1 - self.replay))
        return first, total - first

    def _cuts(self) -> set[int]:
        """Iterations at which a block has to end."""
        first, second = self._parts()
        return {0, first, first + second}

    def _blocks(self) -> list[tuple[int, int]]:
        """The iterations of every step. They follow from the settings and the number of new samples alone, so that a
        session that is taken up again rounds as if it had not been left."""
        ends = sorted(self._cuts())
        return [(k, min(k + BLOCK, stop)) for start, stop in pairwise(ends) for k in range(start, stop, BLOCK)]

    def _learn(self, start: int, stop: int) -> None:
        first, _ = self._parts()
        if self.sessions > 1:
            x, y = self._draw(stop - start, only_new=start < first)
            self._take_in(x, y, stop)
            return
        x, y = self._draw(stop - start)
        if start < first:
            self._order(x, start, first)
        else:
            self._adapt(x, y, self.map_rate_end, math.inf)

    def _kept(self) -> Split:
        if self.samples is None:
            raise RuntimeError("no session has begun")
        return self.samples

    def _draw(self, count: int, only_new: bool = False) -> tuple[Tensor, Tensor]:
        """Samples of all that are kept, and the outputs of their classes."""
        kept = self._kept()
        chance, first = generator(self.seed, "order", self.sessions, self.done or 0), len(kept) - self.new
        x, y = kept.batch(torch.randint(first if only_new else 0, len(kept), (count,), generator=chance))
        _, places = self.outputs.active(0, "all")
        return canonical(x.flatten(1)), places[y]

    def _order(self, x: Tensor, start: int, total: int) -> None:
        """The map alone, with rate and radius on their way to their last values."""
        block, first = self.map.block(x), self.map_radius * self.map_side
        for t in range(len(x)):
            row, way = block.rows[t], (start + t) / total
            best = int(row.argmin())
            self.readout.notice(float(row[best]))
            rate = self.map_rate * (self.map_rate_end / self.map_rate) ** way
            block.pull(t, best, rate, first * (self.map_radius_end / first) ** way)
        block.close()

    def _adapt(self, x: Tensor, y: Tensor, map_rate: float, threshold: float) -> None:
        """Map and readout, each with its error, for samples that are novel."""
        block = self.map.block(x)
        for t, target in enumerate(y.tolist()):
            row = block.rows[t]
            best = int(row.argmin())
            if self.readout.correct(row, best, target, threshold):
                self.readout.notice(float(row[best]))
                block.pull(t, best, map_rate, self.map_radius_end)
        block.close()

    def _take_in(self, x: Tensor, y: Tensor, stop: int) -> None:
        """Samples of a later session."""
        self._adapt(x, y, self.map_rate_later, self.threshold)

    def _end(self) -> None:
        """What is to be done at a session's end."""

    def predict(self, x: Tensor, task: int | None = None) -> Tensor:
        squares = self.map.squared_distances(canonical(x.flatten(1)))
        return self.readout.outputs(squares)[:, self.outputs.rows(task)]

    def columns(self, task: int | None = None) -> list[int]:
        return self.outputs.classes(task)

    def parameters(self) -> Tensor:
        return torch.cat([self.map.weights.flatten(), self.readout.weights.flatten()])

    def flops(self) -> int:
        """Those of matrix products. Where the readout learns it has one vector at a time, see `costs.counter`."""
        return self.map.operations

    def state(self) -> State:
        kept = {} if self.samples is None else {f"samples.{name}": t for name, t in self.samples.tensors().items()}
        tensors = {"map": self.map.weights, "readout": self.readout.weights, **kept}
        plain = {
            "done": self.done,
            "sessions": self.sessions,
            "new": self.new,
            "kappa": self.readout.kappa,
            "operations": self.map.operations,
            "outputs": self.outputs.state(),
            "samples": {} if self.samples is None else self.samples.plain(),
        }
        return State(tensors, plain)

    def load(self, state: State) -> None:
        self.map.weights, self.readout.weights = state.tensors["map"].clone(), state.tensors["readout"].clone()
        self.done, self.sessions, self.new = (state.plain[name] for name in ("done", "sessions", "new"))
        self.readout.kappa, self.map.operations = state.plain["kappa"], state.plain["operations"]
        self.outputs.load(state.plain["outputs"])
        kept = {name: tensor.clone() for name, tensor in under("samples.", state.tensors).items()}
        self.samples = Split.load(kept, state.plain["samples"]) if kept else None


def _mean(lesson: Lesson) -> Tensor:
    """The mean sample, if all of them can be measured by."""
    total = torch.zeros(math.prod(lesson.train.shape), dtype=torch.float64)
    for x, _ in lesson.train.batches(LOOK):
        if not x.flatten(1).square().sum(1).isfinite().all():
            raise BadData(
                f"task {lesson.index + 1} ({lesson.name}) has samples that are not numbers or too large to be squared; "
                "take them out"
            )
        total += x.flatten(1).double().sum(0)
    return (total / len(lesson.train)).float()
