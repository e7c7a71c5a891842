"""Accuracy of a learner on tasks: single-head over all classes seen, multi-head over the task's own.

Both are readings of the same scores. Whatever is measured comes by reading: `{"single": …, "multi": …}`, without
`single` for a learner that must be told the task. Evaluation changes no state.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from engram.core import Curve, Learner, Row, Split, Task
from engram.errors import Diverged

BATCH = 250  # larger ones leave the cache: convolutions are a tenth slower with 1000


@dataclass(frozen=True)
class Hits:
    """For every sample its label, the place of its task among `tasks` tasks, and whether each reading got it right."""

    tasks: int
    labels: Tensor
    places: Tensor
    right: Mapping[str, Tensor]

    def shares(self) -> dict[str, tuple[float, ...]]:
        """Accuracy on each task."""
        return {head: tuple(_shares(right, self.places, self.tasks)) for head, right in self.right.items()}

    def union(self) -> dict[str, float]:
        """The share of all samples that are right, whichever task they are of."""
        return {head: share(right) for head, right in self.right.items() if len(right)}

    def per_class(self) -> dict[str, dict[str, float]]:
        """Accuracy on each class over all tasks that have it."""
        found, places = torch.unique(self.labels, return_inverse=True)
        names = [str(label) for label in found.tolist()]
        shares = {head: _shares(right, places, len(names)) for head, right in self.right.items()}
        return {head: dict(zip(names, values, strict=True)) for head, values in shares.items()}


@dataclass(frozen=True)
class Evaluation:
    """What was measured on some tasks: accuracy on each, on all their test samples together, and on each class; and on
    the validation data of these tasks or of others."""

    shares: Mapping[str, tuple[float, ...]]
    union: Mapping[str, float]
    per_class: Mapping[str, Mapping[str, float]]
    validation: Mapping[str, tuple[float, ...]]


def evaluate(learner: Learner, tasks: Sequence[Task], held_out: Sequence[Task] | None = None) -> Evaluation:
    """Test accuracy on every task, and validation accuracy (on the tasks of `held_out`, if it is given) where all of
    them have validation data."""
    test = hits(learner, tasks, [task.test for task in tasks])
    asked = tasks if held_out is None else held_out
    measurable = all(len(task.validation) for task in asked)
    validation = hits(learner, asked, [task.validation for task in asked]).shares() if measurable else {}
    return Evaluation(test.shares(), test.union(), test.per_class(), validation)


def carried_on(row: Row, earlier: Sequence[Task], now: Evaluation, fresh: Sequence[Task]) -> Evaluation | None:
    """What was measured in a row on earlier tasks, whose predictors are still the same, and now on fresh ones: to the
    last bit as if all were measured now, since a share is a count divided by a count. None where the row has too
    little."""
    before, last = row.per_class.get("multi", {}), now.per_class["multi"]
    sizes, more = _class_sizes(earlier), _class_sizes(fresh)
    if len(row.multi) != len(earlier) or before.keys() != sizes.keys():
        return None
    shares = (*row.multi, *now.shares["multi"])
    tests = [len(task.test) for task in (*earlier, *fresh)]
    right = sum(round(share * size) for share, size in zip(shares, tests, strict=True))
    classes = sorted(sizes | more, key=int)
    counts = {c: round(before.get(c, 0) * sizes[c]) + round(last.get(c, 0) * more[c]) for c in classes}
    per_class = {label: count / (sizes[label] + more[label]) for label, count in counts.items()}
    validation = {}
    if "multi" in row.validation and "multi" in now.validation:
        validation = {"multi": (*row.validation["multi"], *now.validation["multi"])}
    return Evaluation({"multi": shares}, {"multi": right / sum(tests)}, {"multi": per_class}, validation)


def _class_sizes(tasks: Sequence[Task]) -> Counter[str]:
    """How many test samples there are of each class."""
    return Counter(str(label) for task in tasks for label in task.test.y.tolist())


class Moment(NamedTuple):
    """Accuracy in the middle of a lesson, in one reading: on each task's test data, on all of it together, and on
    held-out samples of the task being learned."""

    tasks: tuple[float, ...]
    union: float
    validation: float | None


def look(learner: Learner, seen: Sequence[Task], held_out: bool = False) -> dict[str, Moment]:
    """A point of a learning curve by reading. The last task is the one being learned."""
    test = hits(learner, seen, [task.test for task in seen])
    validation: dict[str, tuple[float, ...]] = {}
    if held_out and len(seen[-1].validation):
        validation = hits(learner, seen[-1:], [seen[-1].validation]).shares()
    union = test.union()
    return {
        head: Moment(shares, union[head], validation[head][0] if validation else None)
        for head, shares in test.shares().items()
    }


def read_moment(saved: Any, needs_task: bool) -> dict[str, Moment]:
    """A point of a curve that went through JSON; older ones had one reading, and no name for it."""
    named = saved if isinstance(saved, Mapping) else {"multi" if needs_task else "single": saved}
    return {head: Moment(tuple(tasks), *rest) for head, (tasks, *rest) in named.items()}


def curves_of(moments: Sequence[tuple[int, Mapping[str, Moment]]], wide: bool) -> dict[str, Curve]:
    """The curve in each reading that all moments have; of all tasks seen if it is `wide`, else of the current one."""
    heads = [head for head in (moments[0][1] if moments else ()) if all(head in moment for _, moment in moments)]
    steps = tuple(step for step, _ in moments)
    return {head: _curve(steps, [moment[head] for _, moment in moments], wide) for head in heads}


def _curve(steps: tuple[int, ...], seen: Sequence[Moment], wide: bool) -> Curve:
    current = tuple(moment.tasks[-1] for moment in seen)
    if not wide:
        return Curve(steps, current)
    validation = tuple(moment.validation for moment in seen if moment.validation is not None)
    return Curve(steps, current, tuple(m.tasks for m in seen), tuple(m.union for m in seen), validation)


class _Piece(NamedTuple):
    """Samples of one task on their way into a batch."""

    task: Task
    x: Tensor
    y: Tensor


def hits(learner: Learner, tasks: Sequence[Task], splits: Sequence[Split]) -> Hits:
    """What the learner gets right of each task's split. Small ones share a batch, unless the learner has to be told the
    task: a thousand predictions of two samples each take far longer than eight of 250."""
    heads = ("multi",) if learner.needs_task else ("single", "multi")
    right = {head: [torch.empty(0, dtype=torch.bool)] for head in heads}
    for pieces in _batches(tasks, splits, apart=learner.needs_task):
        for head, found in _judge(learner, pieces).items():
            right[head].append(found)
    sizes = torch.tensor([len(split) for split in splits], dtype=torch.int64)
    labels = torch.cat([torch.empty(0, dtype=torch.int64), *(split.y for split in splits)])
    places = torch.repeat_interleave(torch.arange(len(splits)), sizes)
    return Hits(len(splits), labels, places, {head: torch.cat(found) for head, found in right.items()})


def _batches(tasks: Sequence[Task], splits: Sequence[Split], apart: bool) -> Iterator[list[_Piece]]:
    """Every sample once, in order: as many whole splits, or parts of a large one, as fit into a batch."""
    pieces: list[_Piece] = []
    room = BATCH
    for task, split in zip(tasks, splits, strict=True):
        for x, y in split.batches(BATCH):
            if pieces and (apart or len(y) > room):
                yield pieces
                pieces, room = [], BATCH
            pieces.append(_Piece(task, x, y))
            room -= len(y)
    if pieces:
        yield pieces


def _judge(learner: Learner, pieces: Sequence[_Piece]) -> dict[str, Tensor]:
    """By reading, which samples of a batch are right."""
    asked = pieces[0].task.index if learner.needs_task else None
    classes, y = torch.tensor(learner.columns(asked)), torch.cat([piece.y for piece in pieces])
    scores = learner.predict(torch.cat([piece.x for piece in pieces]), asked)
    _check(scores, pieces)
    if learner.needs_task:
        return {"multi": classes[scores.argmax(1)] == y}
    own = scores.masked_fill(_others(classes, pieces), -math.inf)
    return {"single": classes[scores.argmax(1)] == y, "multi": classes[own.argmax(1)] == y}


def _others(classes: Tensor, pieces: Sequence[_Piece]) -> Tensor:
    """For every sample the columns that stand for no class of its task."""
    kinds = {piece.task.classes: None for piece in pieces}
    masks = {kind: ~torch.isin(classes, torch.tensor(kind)) for kind in kinds}
    sizes = torch.tensor([len(piece.y) for piece in pieces])
    return torch.stack([masks[piece.task.classes] for piece in pieces]).repeat_interleave(sizes, 0)


def _check(scores: Tensor, pieces: Sequence[_Piece]) -> None:
    if torch.isfinite(scores).all():
        return
    for piece, own in zip(pieces, scores.split([len(piece.y) for piece in pieces]), strict=True):
        if not torch.isfinite(own).all():
            task = piece.task
            raise Diverged(f"the scores on task {task.index + 1} ({task.name}) are not finite; lower the rate")


def share(right: Tensor) -> float:
    """The share that is right, exactly: a count divided by a count."""
    return int(right.sum()) / len(right)


def _shares(right: Tensor, groups: Tensor, count: int) -> list[float]:
    """The share that is right in each of `count` groups of samples."""
    totals = torch.bincount(groups, minlength=count).tolist()
    correct = torch.bincount(groups, weights=right.double(), minlength=count).tolist()
    return [hit / total for hit, total in zip(correct, totals, strict=True)]
