"""Modular networks with paths found by sampling (MNTDP-S, the stochastic search of Veniat et al. 2021, section 4).

As in `mntdp-d` every task has a path through a library of modules that are never changed again. But the candidates are
not trained one by one: they share one new module a layer, and a distribution says how likely each path is. Modules and
distribution learn in turn, until one path is likely enough.

The distribution Γ over paths says where a path leaves that of the nearest task: a categorical at every node. In turn

    θ      a path π ~ Γ for every example of one half of the data; a step of the new modules on its loss
    Γ      the same with the other half; REINFORCE with reward r = −loss and the batch's mean as the baseline:
           a step along  E[(r − mean r) ∇ log Γ(π)] + entropy · ∇ H(Γ)

until a path has a chance above `certain`, or half of the steps are done. Then the new modules of the likeliest path are
fitted to all data; validation data decide when that ends, and nothing else. Nothing is forgotten, to the bit.

At first all paths are equally likely, as the paper says; `start=nodes` makes the choices at every node so, by which
half of the examples have nothing old. In steps of Γ modules are in evaluation mode, as in the published code.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from engram.core import Lesson
from engram.parts.candidates import Recipe
from engram.parts.fit import Fit
from engram.parts.modular import Modular
from engram.parts.sampled import Sampled
from engram.parts.stopping import Stopping
from engram.parts.walk import beginnings
from engram.randomness import generator


class MntdpS(Modular):
    """Its `fit` is a search by sampling."""

    name = "mntdp-s"
    keeps = "a library of modules"
    paper = "Veniat et al.: Efficient continual learning with modular networks and task-driven priors, ICLR 2021"
    parts = (Sampled,)

    schedule = "constant"  # withdraws the setting: there are two things to fit, one after the other

    def __init__(self, *args: Any, **settings: Any):
        super().__init__(*args, **settings)
        values = self._values(Fit) | self._values(Stopping) | self._values(Sampled)
        self.fit: Sampled = Sampled(self.library, values, partial(generator, self.seed))

    def begin(self, lesson: Lesson) -> None:
        self.check(lesson)
        names = self.outputs.add(lesson.index, lesson.classes)
        sources = self.nearest_paths(lesson, self.past_paths())
        plans = [Recipe("branch", prefix, len(prefix)) for prefix in beginnings(sources)]
        plans += [Recipe("whole", path) for path in sources if self.library.outputs(path) == len(lesson.classes)]
        self.fit.begin(lesson.index, plans, self._initial_rows(names))

    def prepare(self, lesson: Lesson) -> None:
        super().prepare(lesson)
        self.fit.look_at(lesson.validation, lesson.validation, self.places)

    def end(self, lesson: Lesson) -> None:
        (found,) = self.fit.candidates
        described = self.described(found.plan)
        path = found.join(lesson.index)
        self._notes = {"path": list(path), **described, "chance": self.fit.chance, "searched": self.fit.done}
