"""Modular networks with a task-driven prior (MNTDP-D, the deterministic search of Veniat et al. 2021, section 4).

Every task has a path through a library of modules that are never changed again. For a new one the most similar past
task is looked for, and its path is tried with its last modules replaced by new ones, from none of them to all. The
candidate that is best on validation data stays, and its new modules join the library.

In full, for a new task

1. the prior looks for the past task whose path is most like it: the one on whose features, those before the head, a
   classifier by the five nearest neighbours is right most often;
2. candidates keep the first b modules of that path, frozen, and have new ones behind them, b = 0 … L. With b = 0 that
   is a network of its own, as `independent` trains it; with b = L the whole old predictor, if it has as many classes;
3. each is trained by itself until it stops;
4. the one with the best validation accuracy gives the task its path, and its new modules join the library; of equal
   ones that with fewer. All others are dropped.

Nothing that an old path uses is ever changed, so nothing is forgotten, to the bit. While a task is learned, it is
predicted by the candidate that was best at the last look. What else may be tried is off: `search=wide`, or its parts.
A path that ends in a head by ridge regression, which one of these parts can bring, gives its modules to later tasks,
and is not tried as a whole.
"""

from __future__ import annotations

from typing import Any

from engram.core import Lesson
from engram.parts.candidates import Recipe
from engram.parts.fit import Fit
from engram.parts.modular import Modular
from engram.parts.search import Search
from engram.parts.stopping import Stopping
from engram.parts.walk import beginnings
from engram.parts.wide import Wide


class MntdpD(Modular):
    """Its `fit` is a search."""

    name = "mntdp-d"
    keeps = "a library of modules"
    paper = "Veniat et al.: Efficient continual learning with modular networks and task-driven priors, ICLR 2021"
    parts = (Wide,)

    def __init__(self, *args: Any, **settings: Any):
        super().__init__(*args, **settings)
        self.wide = Wide(self._values(Wide), len(self.library.layers))
        values = self._values(Fit) | self._values(Stopping)
        names = ("adapter_rate", "screen_steps", "finalists", "halving", "halved")
        self.fit = Search(self.library, values, **{name: getattr(self.wide, name) for name in names})

    def begin(self, lesson: Lesson) -> None:
        self.check(lesson)
        names = self.outputs.add(lesson.index, lesson.classes)
        past = self.past_paths()
        fitting = [path for path in past if self.library.outputs(path) == len(lesson.classes)]
        ranked = self.ranked_paths(lesson, past)
        sources = ranked[: self.sources or None]
        plans = [Recipe("branch", prefix, len(prefix)) for prefix in beginnings(sources)]
        plans += [Recipe("whole", path) for path in sources if path in fitting]
        for path in sources:
            plans += self.wide.plans(path, path in fitting)
        plans += self.wide.warmed([path for path in ranked if path not in sources], len(sources))
        screened = fitting if self.wide.screen else []
        self.fit.begin(lesson.index, plans + self.wide.waiting(), self._initial_rows(names), screened)

    def prepare(self, lesson: Lesson) -> None:
        super().prepare(lesson)
        self.fit.look_at(lesson.validation, self.some(lesson.validation, lesson, "validation"), self.places)

    def end(self, lesson: Lesson) -> None:
        scored = self.fit.scored()
        described = [
            {**self.described(each.plan), "validation": score if score >= 0 else None, "steps": each.steps}
            for each, score in scored  # one that is alone need not have been looked at
        ]
        path = scored[0][0].join(lesson.index)
        self._notes = {"path": list(path), **described[0], "candidates": described}
