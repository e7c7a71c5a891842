"""MNTDP-D: modular networks with a task-driven prior, the deterministic search (Veniat et al. 2021, section 4).

Every task has a path through a library of frozen modules. For a new task

1. the prior looks for the past task whose path is most like it: the one on whose features, those before the head, a
   classifier by the five nearest neighbours is right most often;
2. candidates keep the first b modules of that path, frozen, and have new ones behind them, b = 0 … L. With b = 0 that
   is a network of its own, as `independent` trains it; with b = L the whole old predictor, if it has as many classes;
3. each is trained by itself until it stops;
4. the one with the best validation accuracy gives the task its path, and its new modules join the library; of equal
   ones that with fewer. All others are dropped.

Nothing that an old path uses is ever changed, so nothing is forgotten, to the bit. While a task is learned, it is
predicted by the candidate that was best at the last look. What else may be tried, see `parts/wide.py`, is off.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from engram.core import Lesson, Split, pick
from engram.parts.candidates import Plan
from engram.parts.fit import Fit
from engram.parts.library import Path
from engram.parts.modular import Modular
from engram.parts.nearest import accuracy, features
from engram.parts.search import Search
from engram.parts.stopping import Stopping
from engram.parts.walk import beginnings
from engram.parts.wide import Wide
from engram.randomness import generator
from engram.settings import setting


class MntdpD(Modular):
    """Its `fit` is a search."""

    name = "mntdp-d"
    parts = (Wide,)

    sources = setting(1, "past paths that candidates are made from, the nearest ones; 0: all", at_least=0, late=True)
    prior = setting(
        "nearest",
        "how past paths are chosen: by nearest neighbours on their features, or at random",
        choices=("nearest", "random"),
        late=True,
    )
    neighbours = setting(5, "nearest neighbours that vote", at_least=1, late=True)
    prior_samples = setting(1000, "training and validation samples that the prior looks at", at_least=1, late=True)

    def __init__(self, *args: Any, **settings: Any):
        super().__init__(*args, **settings)
        self.wide = Wide(self._values(Wide), len(self.library.layers))
        values = self._values(Fit) | self._values(Stopping)
        self.fit: Search = Search(  # type: ignore[assignment]
            self.library, values, self.wide.adapter_rate, self.wide.screen_steps
        )
        self._notes: dict[str, Any] = {}

    def begin(self, lesson: Lesson) -> None:
        self.check(lesson)
        names = self.outputs.add(lesson.index, lesson.classes)
        past = list(dict.fromkeys(reversed(self.library.paths.values())))  # of equally good ones the newest
        fitting = [path for path in past if self.library.outputs(path) == len(lesson.classes)]
        sources = self._sources(lesson, past)
        plans = [Plan("branch", prefix, len(prefix)) for prefix in beginnings(sources)]
        plans += [Plan("whole", path) for path in sources if path in fitting]
        for path in sources:
            plans += self.wide.plans(path, path in fitting)
        screened = fitting if self.wide.screen else []
        self.fit.begin(lesson.index, plans + self.wide.waiting(), self._initial_rows(names), screened)

    def _sources(self, lesson: Lesson, past: list[Path]) -> list[Path]:
        """The past paths that candidates are made from, the best first."""
        if self.prior == "random":
            order = torch.randperm(len(past), generator=generator(self.seed, "sources", lesson.index)).tolist()
            past = [past[k] for k in order]
        elif len(past) > (self.sources or len(past)):
            scores = self._nearest(lesson, past)
            past = sorted(past, key=lambda path: -scores[path])
        return past[: self.sources or None]

    def _nearest(self, lesson: Lesson, paths: list[Path]) -> dict[Path, float]:
        """How well nearest neighbours do on the features of each path."""
        _, places = self.outputs.active(lesson.index, self.loss_over)
        known, asked = self._some(lesson.train, lesson, "train"), self._some(lesson.validation, lesson, "validation")
        walk = self.fit.walk
        near, far = features(walk, paths, known), features(walk, paths, asked)
        labels, truth = pick(places, known.y), pick(places, asked.y)
        found = {}
        for path in paths:
            pair = near[path[:-1]], labels, far[path[:-1]], truth
            found[path], operations = accuracy(*pair, self.neighbours)
            self.operations += operations
        return found

    def _some(self, data: Split, lesson: Lesson, which: str) -> Split:
        """As many samples as the prior looks at."""
        order = torch.randperm(len(data), generator=generator(self.seed, "prior", lesson.index, which))
        return data.take(order[: self.prior_samples].sort().values)

    def prepare(self, lesson: Lesson) -> None:
        super().prepare(lesson)
        self.fit.look_at(lesson.validation, self._some(lesson.validation, lesson, "validation"), self.places)

    def end(self, lesson: Lesson) -> None:
        scored = self.fit.scored()
        described = [{**self._described(each.plan), "validation": score, "steps": each.steps} for each, score in scored]
        path = scored[0][0].join(lesson.index)
        self._notes = {"path": list(path), **described[0], "candidates": described}

    def _described(self, plan: Plan) -> dict[str, Any]:
        """A candidate in a note: its kind, the first task (from 1) whose modules it uses and how many of them, which
        are the last ones where its kind is front."""
        count, wanted = len(self.library.layers), plan.path or None
        kept = {"front": count - plan.first, "ridge": count - 1, "branch": plan.first, "warm": plan.first}
        tasks = (task + 1 for task, path in self.library.paths.items() if path[: len(plan.path)] == wanted)
        return {"kind": plan.kind, "source": next(tasks, None), "kept": kept.get(plan.kind, count)}

    def notes(self) -> Mapping[str, Any]:
        return self._notes

    def predict(self, x: Tensor, task: int | None = None) -> Tensor:
        if task is None or task != self.fit.task:
            return super().predict(x, task)
        return self.fit.best_so_far().scores(x.to(self.device)).to(x.device)
