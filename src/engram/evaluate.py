"""Accuracy of a learner on tasks: single-head over all classes seen, multi-head over the task's own.

Evaluation changes no state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from engram.core import Learner, Split, Task
from engram.errors import Diverged

BATCH = 250  # larger ones leave the cache: convolutions are a tenth slower with 1000


@dataclass(frozen=True)
class Evaluation:
    """Accuracy on each task. `single` is None for a learner that must be told the task. `union` is the share of all
    test samples that are right, whichever task they are of."""

    single: tuple[float, ...] | None
    multi: tuple[float, ...]
    union: float
    per_class: Mapping[str, float]
    validation: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True)
class Hits:
    """For every sample its label, and whether each reading of the scores got it right."""

    labels: Tensor
    single: Tensor | None
    multi: Tensor

    @property
    def best(self) -> Tensor:
        """The single-head reading where there is one."""
        return self.multi if self.single is None else self.single


def evaluate(learner: Learner, tasks: Sequence[Task]) -> Evaluation:
    """Test accuracy on every task, and validation accuracy where there is validation data."""
    test = [hits(learner, task, task.test) for task in tasks]
    validation: dict[str, tuple[float, ...]] = {}
    if all(len(task.validation) for task in tasks):
        held_out = [hits(learner, task, task.validation) for task in tasks]
        validation = {"single": _shares(h.best for h in held_out), "multi": _shares(h.multi for h in held_out)}
    return Evaluation(
        single=None if learner.needs_task else _shares(h.best for h in test),
        multi=_shares(h.multi for h in test),
        union=_pooled(test),
        per_class=_per_class(test),
        validation=validation,
    )


class Moment(NamedTuple):
    """Accuracy in the middle of a lesson: on each task's test data, on all of it together, and on held-out samples of
    the task being learned."""

    tasks: tuple[float, ...]
    union: float
    validation: float | None


def look(learner: Learner, seen: Sequence[Task], held_out: bool = False) -> Moment:
    """A point of a learning curve. The last task is the one being learned."""
    test = [hits(learner, task, task.test) for task in seen]
    current = seen[-1]
    measured = held_out and len(current.validation) > 0
    validation = share(hits(learner, current, current.validation).best) if measured else None
    return Moment(_shares(h.best for h in test), _pooled(test), validation)


def hits(learner: Learner, task: Task, split: Split) -> Hits:
    asked = task.index if learner.needs_task else None
    classes = torch.tensor(learner.columns(asked))
    other = torch.tensor([label not in set(task.classes) for label in classes.tolist()])
    single, multi = [], []
    for x, y in split.batches(BATCH):
        scores = learner.predict(x, asked)
        if not torch.isfinite(scores).all():
            raise Diverged(f"the scores on task {task.index + 1} ({task.name}) are not finite; lower the rate")
        if not learner.needs_task:
            single.append(classes[scores.argmax(1)] == y)
            scores = scores.masked_fill(other, float("-inf"))
        multi.append(classes[scores.argmax(1)] == y)
    return Hits(split.y, torch.cat(single) if single else None, torch.cat(multi))


def share(right: Tensor) -> float:
    """The share that is right, exactly: a count divided by a count."""
    return int(right.sum()) / len(right)


def _shares(rights: Iterator[Tensor]) -> tuple[float, ...]:
    return tuple(share(right) for right in rights)


def _pooled(results: Sequence[Hits]) -> float:
    return share(torch.cat([h.best for h in results]))


def _per_class(results: Sequence[Hits]) -> dict[str, float]:
    """Accuracy on each class over all tasks that have it."""
    found, places = torch.unique(torch.cat([h.labels for h in results]), return_inverse=True)
    right = torch.cat([h.best for h in results])
    totals, correct = torch.bincount(places).tolist(), torch.bincount(places, weights=right.double()).tolist()
    return {str(label): hit / total for label, hit, total in zip(found.tolist(), correct, totals, strict=True)}
