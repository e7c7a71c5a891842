"""Candidates for a task's path, compared on the same batches: what is frozen of them is computed once.

First, where there is something to screen, an adapter is fitted for a few steps before each of several paths; the one
that gets on best is the source of the plans that wait for it; of many the worse may be left on the way. Then all
candidates are fitted in lockstep, each until it stops by itself; the worse may be ended before.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from engram.core import Split, State, Step
from engram.parts.candidates import Before, Branch, Ready, Recipe, TrainedCandidate, Whole
from engram.parts.fit import Material, lockstep
from engram.parts.held_out import HeldOut
from engram.parts.library import Library, Path
from engram.parts.ridge_head import RidgeHead
from engram.parts.stopping import Stopping, take_out
from engram.parts.walk import PathWalk, walked_flops

TRAINED = {"branch": Branch, "warm": Branch, "front": Before, "adapter": Before}


class Search:
    """What a `GradientLearner` sees as one fit."""

    def __init__(
        self,
        library: Library,
        values: Mapping[str, Any],
        adapter_rate: float = 0.0,
        screen_steps: int = 0,
        finalists: int = 0,
        halving: int = 0,
        halved: str = "beyond",
    ):
        """`values` are the settings of every fit; those of adapters have a rate of their own. See `Wide`."""
        self.library, self.values = library, values
        self._finalists, self._halving, self._halved = finalists, halving, halved
        self._adapting = {**values, "rate": adapter_rate}
        self._screening = {**self._adapting, "stop": "no", "iterations": screen_steps}
        self.stopping = Stopping(values)
        self._spent = 0
        self._clear()

    def _clear(self) -> None:
        self.walk, self._trunk = PathWalk(self.library), PathWalk(self.library)  # the second for training alone
        self.screened: list[Before] = []
        self._entered = 0  # of them at the beginning
        self.waiting: list[Recipe] = []  # for the path that screening finds
        self.candidates: list[TrainedCandidate | Ready] = []
        self.task: int | None = None  # for which a path is looked for
        self.held_out: HeldOut | None = None
        self._counted = False
        self._ahead = 0  # steps of screening, once it is over
        self._sizes: list[int] = []  # of an epoch's batches
        self._counted_before = 0  # of the trunk's operations, by a process that was left

    @property
    def trained(self) -> list[TrainedCandidate]:
        return [candidate for candidate in self.candidates if isinstance(candidate, TrainedCandidate)]

    @property
    def rivals(self) -> list[TrainedCandidate]:
        """The trained candidates of which the worse may be ended: never the network of its own, which is the task's if
        nothing else helps."""
        spared = range(1 if self._halved == "all" else len(self.library.layers))
        return [each for each in self.trained if each.plan.kind != "branch" or each.plan.first not in spared]

    @property
    def step(self) -> int | None:
        """The position inside a task; None between two."""
        if self.task is None:
            return None
        return self._ahead + max(candidate.steps for candidate in self.screened or self.trained)

    @property
    def operations(self) -> int:
        everyone = [*self.screened, *self.candidates]
        fits = sum(each.fit.operations for each in everyone if isinstance(each, TrainedCandidate))
        trunk = self._trunk_operations() - self._counted_before
        return self._spent + self.walk.operations + fits + trunk + sum(each.operations for each in everyone)

    def _trunk_operations(self) -> int:
        """Of frozen modules in the steps so far, in each of which what several candidates begin with is computed once;
        with those of candidates that took over what a twin came to."""
        total, last = 0, 0
        for stop in sorted({candidate.steps for candidate in self.trained}) if self._sizes else ():
            samples = sum(self._sizes[step % len(self._sizes)] for step in range(last, stop))
            prefixes = [candidate.prefix for candidate in self.trained if candidate.steps >= stop]
            total, last = total + samples * walked_flops(self.library, prefixes), stop
        return total

    def begin(self, task: int, plans: Sequence[Recipe], rows: Tensor, screened: Sequence[Path] = ()) -> None:
        """Look for a path among candidates made by these plans. Where there are paths to screen, those without a path
        wait for the best of them. `rows` are those that a new head begins with."""
        self.task, self._rows = task, rows.view(-1, self.library.features + 1)
        self.screened = [Before(Recipe("adapter", path), self._trunk, self._rows, self._screening) for path in screened]
        self._entered = len(self.screened)
        waiting = [plan for plan in plans if not plan.path and plan.kind != "branch"]
        self.candidates = [self._made(plan) for plan in plans if plan not in waiting]
        self.waiting = waiting if screened else []
        for candidate in [*self.screened, *self.trained]:
            candidate.fit.begin()

    def _made(self, plan: Recipe) -> TrainedCandidate | Ready:
        if plan.kind == "whole":
            return Whole(plan, self.walk)
        if plan.kind == "ridge":
            return RidgeHead(plan, self.walk, len(self._rows))
        values = self._adapting if plan.kind == "adapter" else self.values
        return TRAINED[plan.kind](plan, self._trunk, self._rows, values)

    def look_at(self, validation: Split, some: Split, places: Tensor) -> None:
        """The data that candidates are compared on, and as many of them as are enough for screening."""
        self._few = HeldOut(some, places, self.walk, [], counted=True)
        prefixes = list(dict.fromkeys(each.prefix for each in self.trained if isinstance(each, Branch)))
        self.held_out = HeldOut(validation, places, self.walk, prefixes, self._counted)

    def use(self, material: Material) -> None:
        """Take this material, from the beginning or from where it was left."""
        self._material, self._sizes = material, [len(batch) for batch in material.epoch(0)]
        self._counted_before = self._trunk_operations()
        assert self.held_out is not None
        for screened in self.screened:
            screened.use(self._compared(material), self._few)
        self._give(self.candidates)

    def _give(self, candidates: Sequence[TrainedCandidate | Ready]) -> None:
        """Let candidates take the material."""
        assert self.held_out is not None
        last = max(self._halvings(len(self.rivals) + len(self.waiting)), default=0)
        raced, rivals = _watched(self._material, last), self.rivals
        for candidate in candidates:
            candidate.use(raced if candidate in rivals else self._material, self.held_out)

    def _compared(self, material: Material) -> Material:
        """What screened paths learn from."""
        return _watched(material, self._screening["iterations"] // 2 + 1) if self._finalists else material

    def _halvings(self, rivals: int) -> dict[int, int]:
        """After which steps how many of so many rivals go on: half of them, half of these, at last one."""
        times = range((rivals - 1).bit_length()) if self._halving and self.stopping and rivals else ()
        return {self._halving * 2**done: math.ceil(rivals / 2 ** (done + 1)) for done in times}

    def run(self) -> Iterator[Step]:
        if self.screened:
            yield from self._screen()
        for step in lockstep([candidate.fit for candidate in self.trained]):
            self._halve(step.done)
            yield Step(self._ahead + step.done, self._ahead + step.total)

    def _screen(self) -> Iterator[Step]:
        """Find the source of the plans that wait for it, or take what another search found that compared the same paths
        (one with another rate, which is not that of adapters)."""
        twins, name, before = self._material.twins, self._name_of_screening(), self.operations
        longest = max(candidate.fit.planned for candidate in self.trained)
        fits = [candidate.fit for candidate in self.screened]
        entered = [candidate.plan.path for candidate in self.screened]  # numbers of modules are another library's own
        for step in lockstep(fits):
            self._leave_the_worst(step)
            fits[:] = [candidate.fit for candidate in self.screened]
            yield Step(step.done, step.total + longest)
            found = twins.place.twin(name) if twins and name and step.done == twins.after else None
            if found is not None:
                self._spent += found.plain["operations"] - (self.operations - before)
                self._decide(entered[found.plain["place"]], found.plain["steps"])
                return
        best = max(self.screened, key=lambda candidate: candidate.score())  # of equal ones the first
        place, spent = entered.index(best.plan.path), self.operations - before
        if twins and name:
            twins.place.keep_twin(name, State({}, {"place": place, "steps": best.steps, "operations": spent}))
        self._decide(best.plan.path, best.steps)

    def _name_of_screening(self) -> str | None:
        """What it shares with all that compare the same paths in the same way; None where it has none, or was begun by
        a process that was left."""
        names = [candidate.fit.twin for candidate in self.screened if candidate.fit.twin]
        if self.step or len(names) < len(self.screened):
            return None
        sha = hashlib.sha256(json.dumps(["screening", names, self._finalists]).encode())
        self._few.add_to(sha)
        return names[0][:8] + sha.hexdigest()

    def _leave_the_worst(self, step: Step) -> None:
        """After a quarter of the steps half of the screened paths go on, after half of them a quarter. Who is at such a
        step again, because it was left there, finds that they have gone."""
        share = {step.total // 4: 2, step.total // 2: 4}.get(step.done)
        if not self._finalists or share is None or step.done == 0:
            return
        stay = max(self._finalists, -(-self._entered // share))
        if len(self.screened) > stay:
            scores = {each.plan.path: each.score() for each in self.screened}
            best = sorted(self.screened, key=lambda each: -scores[each.plan.path])[:stay]
            gone = [each for each in self.screened if each not in best]
            self._spent += sum(each.operations + each.fit.operations for each in gone)
            self.screened = [each for each in self.screened if each in best]

    def _halve(self, step: int) -> None:
        """End the worse rivals where it is time to. Who was ended keeps its place behind all that went on, so that
        nobody else is when a search is at such a step again."""
        stay = self._halvings(len(self.rivals)).get(step)
        if stay is not None:
            best_first = sorted(self.rivals, key=lambda each: -each.so_far)
            for rival in best_first[stay:]:
                rival.fit.give_up()

    def _decide(self, path: Path, steps: int) -> None:
        """The waiting plans are made with this path, which was the best after so many steps."""
        plans = [plan._replace(path=path) for plan in self.waiting]
        there = [candidate.plan for candidate in self.candidates]
        added = [self._made(plan) for plan in plans if plan not in there]
        self._ahead = steps
        self._spent += sum(candidate.operations + candidate.fit.operations for candidate in self.screened)
        self.screened, self.waiting = [], []
        self.candidates += added
        for candidate in added:
            if isinstance(candidate, TrainedCandidate):
                candidate.fit.begin()
        self._give(added)

    def best_so_far(self) -> TrainedCandidate | Ready:
        """By the last look; of equal ones that with fewer new modules."""
        return max(self.candidates, key=lambda each: _merit(each, each.so_far))

    def scores(self, x: Tensor) -> Tensor:
        """Of samples of the present task, as far as its path is known."""
        return self.best_so_far().scores(x)

    def scored(self) -> list[tuple[TrainedCandidate | Ready, float]]:
        """Every candidate with the validation accuracy that it is chosen by, the best one first. One that is alone
        needs none."""
        alone = len(self.candidates) == 1
        found = [(each, each.so_far if alone else each.score()) for each in self.candidates]
        return sorted(found, key=lambda pair: _merit(*pair), reverse=True)

    def finish(self) -> None:
        """Nothing of the candidates is kept."""
        self._spent = self.operations
        self._clear()
        del self._material, self._rows, self._few

    def tensors(self) -> dict[str, Tensor]:
        groups: dict[str, Sequence[TrainedCandidate | Ready]] = {
            "screened": self.screened,
            "candidate": self.candidates,
        }
        return {
            f"{group}.{number}.{name}": value
            for group, members in groups.items()
            for number, candidate in enumerate(members)
            for name, value in candidate.tensors().items()
        }

    def plain(self) -> dict[str, Any]:
        if self.task is None:
            return {"step": None}
        return {
            "step": self.step,
            "task": self.task,
            "rows": len(self._rows),
            "screened": [candidate.plain() for candidate in self.screened],
            "entered": self._entered,
            "waiting": [list(plan) for plan in self.waiting],
            "candidates": [candidate.plain() for candidate in self.candidates],
            "counted": self._counted if self.held_out is None else self.held_out.counted,
            "ahead": self._ahead,
        }

    def load(self, tensors: dict[str, Tensor], plain: Mapping[str, Any]) -> None:
        self._clear()
        self._spent = 0
        if plain["step"] is None:
            return
        groups = {"screened": plain["screened"], "candidate": plain["candidates"]}
        screened, plans = ([_plan(each["plan"]) for each in group] for group in groups.values())
        rows = torch.zeros(plain["rows"], self.library.features + 1)
        self.begin(plain["task"], plans, rows, [plan.path for plan in screened])
        self.waiting = [_plan(each) for each in plain["waiting"]]
        self._entered = plain.get("entered", self._entered)
        for group, members in (("screened", self.screened), ("candidate", self.candidates)):
            for number, (candidate, own) in enumerate(zip(members, groups[group], strict=True)):
                candidate.load(take_out(tensors, f"{group}.{number}."), own)
        self._counted, self._ahead = plain["counted"], plain["ahead"]


def _watched(material: Material, step: int) -> Material:
    """The same for fits that are compared until this step: before it nobody takes what a twin came to."""
    twins = material.twins
    return material if twins is None else replace(material, twins=replace(twins, after=max(twins.after, step)))


def planned(values: Mapping[str, Any], material: Material) -> int:
    """Steps of a fit with these settings, if nothing ends it early."""
    return int(values["iterations"] or values["epochs"] * material.per_epoch)


def _merit(candidate: TrainedCandidate | Ready, score: float) -> tuple[float, int, int]:
    modules, parameters = candidate.new
    return score, -modules, -parameters


def _plan(plain: Sequence[Any]) -> Recipe:
    kind, path, first = plain
    return Recipe(kind, tuple(path), first)
