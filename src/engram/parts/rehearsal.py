"""Exemplars of earlier lessons, rehearsed beside a lesson's own samples.

    Vanilla-S, EWC-S, PI-S and RWalk-S of Chaudhry et al. 2018 are learners with `exemplars` above 0.

Exemplars are chosen at the end of a lesson, from its training data, with the network as it is then, and are never
revised; a budget only cuts sets to their first ones. A class that comes back has a set of each of its lessons: with
`exemplars` each has so many, and of a budget they have the one share of their class together, as equally as it goes,
the newest what cannot be divided. With none of the settings below a learner is what it was.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from engram.core import Lesson, Split
from engram.errors import BadSetting
from engram.parts.exemplars import SAMPLING, ExemplarMemory
from engram.settings import apply, setting


class Rehearsal:
    """The memory, what a lesson is trained on with it, and in which batches."""

    exemplars = setting(0, "samples of every class that are kept and rehearsed", at_least=0)
    exemplar_budget = setting(
        0, "samples that are kept of all classes together, shared equally (instead of exemplars)", at_least=0
    )
    sampling = setting("mof", "how exemplars are chosen: " + ", ".join(SAMPLING), choices=tuple(SAMPLING))
    mixing = setting(
        "concat",
        "exemplars are shuffled into the data (concat), or every batch has as many of them as new samples (balanced)",
        choices=("concat", "balanced"),
        late=True,
    )

    def __init__(self, values: Mapping[str, Any]):
        apply(self, values)
        if self.exemplars and self.exemplar_budget:
            raise BadSetting(
                f"exemplars={self.exemplars} came with exemplar_budget={self.exemplar_budget}; give only one of the two"
            )
        self.memory = ExemplarMemory()

    def __bool__(self) -> bool:
        """Whether anything is to be kept."""
        return bool(self.exemplars or self.exemplar_budget)

    def check(self, lesson: Lesson, heads: Collection[Collection[int]]) -> None:
        """A budget must leave one exemplar for every class, and none may have an output in several `heads`, the classes
        of earlier tasks that have outputs of their own."""
        classes = self._count(lesson)
        if 0 < self.exemplar_budget < classes:
            raise BadSetting(
                f"exemplar_budget={self.exemplar_budget} is less than one for each of the {classes} classes up to task "
                f"{lesson.index + 1} ({lesson.name}); give at least {classes}"
            )
        again = next((label for label in lesson.classes if any(label in classes for classes in heads)), None)
        if again is not None:
            raise BadSetting(
                f"exemplars with heads=per-task need every class in one task only, but class {again} comes back in "
                f"task {lesson.index + 1} ({lesson.name}); use heads=growing"
            )

    def beside(self, train: Split) -> Split:
        """A lesson's samples and the exemplars, which come last."""
        return Split.join([train, self.memory.split()]) if len(self.memory) else train

    def told_apart(self, data: Split, places: Tensor, earlier: Mapping[tuple[int, int], int]) -> tuple[Split, Tensor]:
        """What `beside` gave, and where each label has its place, when exemplars of a task and place that are among
        `earlier` have a label of their own, whose place is the number given there."""
        labels: dict[tuple[int | None, int], int] = {pair: len(places) + k for k, pair in enumerate(earlier)}
        y, start = data.y.clone(), len(data) - len(self.memory)
        for (task, label), size in zip(self.memory.sets(), self.memory.sizes, strict=True):
            y[start : start + size] = labels.get((task, int(places[label])), label)
            start += size
        numbers = places.new_tensor(list(earlier.values()))
        return Split(data.x, y, data.rows, data.transform, data.moves), torch.cat([places, numbers])

    @property
    def balanced(self) -> bool:
        """Whether there are exemplars, and batches hold as many of them as new samples."""
        return self.mixing == "balanced" and len(self.memory) > 0

    def presented(self, samples: int) -> int:
        """What of these samples, exemplars included, an epoch is counted by."""
        return samples - len(self.memory) if self.balanced else samples

    def balanced_batches(
        self, new: int, batch: int, shuffle: torch.Generator, draw: torch.Generator
    ) -> Sequence[Tensor]:
        """Every new sample once, and beside each an exemplar, drawn in rounds of all of them."""
        kept = len(self.memory)
        order = torch.randperm(new, generator=shuffle)
        rounds = [new + torch.randperm(kept, generator=draw) for _ in range(math.ceil(new / kept))]
        pairs = zip(order.split(batch), torch.cat(rounds)[:new].split(batch), strict=True)
        return [torch.cat(pair) for pair in pairs]

    def counts(self, train: Split, classes: int) -> Tensor:
        """How many samples of each class an epoch presents."""
        counts = torch.bincount(train.y, minlength=classes).double()
        if len(self.memory):
            share = len(train) / len(self.memory) if self.balanced else 1.0
            counts += share * torch.bincount(self.memory.split().y, minlength=classes)
        return counts

    def keep(self, lesson: Lesson, choose: Callable[[Split, int, int], Tensor]) -> None:
        """Keep exemplars of the lesson's classes, at the positions that `choose(own samples, label, how many)` says; a
        budget makes room for them first."""
        splits = {c: lesson.train.take((lesson.train.y == c).nonzero().squeeze(1)) for c in lesson.classes}
        room = dict.fromkeys(splits, self.exemplars)
        if self.exemplar_budget:
            room = self._make_room({label: len(own) for label, own in splits.items()}, self._count(lesson))
        for label, own in splits.items():
            if len(own) and room[label]:
                self.memory.add(own.take(choose(own, label, room[label])), lesson.index)

    def _count(self, lesson: Lesson) -> int:
        """How many different classes share a budget."""
        return len({label for _, label in self.memory.sets()}.union(lesson.classes))

    def _make_room(self, new: Mapping[int, int], classes: int) -> dict[int, int]:
        """Cut old sets to what a budget leaves them; the room for new ones, by class, of which there are so many
        samples."""
        labels, sizes, share = [label for _, label in self.memory.sets()], self.memory.sizes, self.exemplar_budget
        share //= classes
        most, room = [0] * len(sizes), {}
        for label in dict.fromkeys((*labels, *new)):
            places = [place for place, each in enumerate(labels) if each == label]
            *old, room[label] = portions(share, [*(sizes[place] for place in places), new.get(label, 0)])
            for place, portion in zip(places, old, strict=True):
                most[place] = portion
        self.memory.reduce(most)
        return room

    def tensors(self) -> dict[str, Tensor]:
        return self.memory.tensors()

    def plain(self) -> dict[str, Any]:
        return {"exemplars": self.memory.plain()} if self.memory.sizes else {}

    def load(self, tensors: Mapping[str, Tensor], plain: Mapping[str, Any]) -> None:
        self.memory = ExemplarMemory()
        if "exemplars" in plain:
            self.memory.load(tensors, plain["exemplars"])


def portions(share: int, sizes: Sequence[int]) -> list[int]:
    """What sets of these sizes have of a share: equally much, all of the small ones, and the last ones what is left.

    >>> portions(11, [5, 2, 5, 5])
    [3, 2, 3, 3]
    >>> portions(5, [5, 5, 5])
    [1, 2, 2]
    """
    level, left = max(sizes), share
    for count, size in zip(range(len(sizes), 0, -1), sorted(sizes), strict=True):
        if size * count > left:
            level = left // count
            break
        left -= size
    found = [min(size, level) for size in sizes]
    left = share - sum(found)
    for place in reversed(range(len(sizes))):
        if left and sizes[place] > level:
            found[place] += 1
            left -= 1
    return found
