"""The nouns of Engram, in the order in which data flows: the file to read first.

    Dataset ─▶ Stream of Tasks ─▶ Lesson ─▶ Learner ─▶ Row (and Curve, Cost) ─▶ Record

A `Task` has training, validation and test data. A `Lesson` is what a protocol lets a learner see of it, and has
no test data: a method cannot peek, because there is nothing to peek at.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from engram.errors import BadState
from engram.samples import ALIGNMENT as ALIGNMENT
from engram.samples import Split, is_row_by_row, rows_by_class
from engram.samples import canonical as canonical
from engram.samples import pick as pick
from engram.transform import Several, Transform


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples as they were published: nothing scaled, shuffled or split beyond the official train and test sets.

    `x` is (samples, *shape), images as (channels, height, width); `y` holds class numbers 0 … len(classes) - 1.
    A batch is `x * scale` in float32, so bytes stay bytes in memory. `in_both` are the rows of the test set whose
    samples are known to be in the training set too.
    """

    name: str
    x_train: Tensor
    y_train: Tensor
    x_test: Tensor
    y_test: Tensor
    classes: tuple[str, ...]
    scale: float
    digest: str
    in_both: tuple[int, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.x_train.shape[1:])

    @cached_property
    def train_rows(self) -> dict[int, Tensor]:
        """Rows of the training set by class."""
        return rows_by_class(self.y_train)

    @cached_property
    def test_rows(self) -> dict[int, Tensor]:
        return rows_by_class(self.y_test)


@dataclass(frozen=True)
class Lesson:
    """What a learner may see of a task. There is no test split."""

    name: str
    index: int
    classes: tuple[int, ...]
    train: Split
    validation: Split

    def to(self, device: torch.device | str) -> Lesson:
        """The same lesson with its samples on a device."""
        return replace(self, train=self.train.to(device), validation=self.validation.to(device))

    @staticmethod
    def union(lessons: Sequence[Lesson]) -> Lesson:
        """Several lessons taught at once: the joint reference. One lesson is its own union."""
        if len(lessons) == 1:
            return lessons[0]
        return Lesson(
            name=" ∪ ".join(lesson.name for lesson in lessons),
            index=lessons[-1].index,
            classes=tuple(dict.fromkeys(c for lesson in lessons for c in lesson.classes)),
            train=Split.join([lesson.train for lesson in lessons]),
            validation=Split.join([lesson.validation for lesson in lessons]),
        )


@dataclass(frozen=True)
class Task:
    """One part of a stream. Labels are class numbers of the whole stream."""

    name: str
    index: int
    classes: tuple[int, ...]
    train: Split
    validation: Split
    test: Split

    def lesson(self) -> Lesson:
        return Lesson(self.name, self.index, self.classes, self.train, self.validation)


@dataclass(frozen=True)
class Outline:
    """What is known of a stream before its first task: a sample's shape and the classes, in order of appearance."""

    shape: tuple[int, ...]
    classes: tuple[int, ...]


@dataclass(frozen=True)
class Stream:
    """Tasks in order, built when they are asked for. `spec` (plain JSON) defines every byte of every task. Where a
    stream `brings_validation` data of its own, no share of the training samples is held out."""

    spec: Mapping[str, Any]
    outline: Outline
    count: int
    build: Callable[[int, float], Task]
    validation: float = 0.1
    class_names: tuple[str, ...] = ()
    brings_validation: bool = False
    _built: dict[int, Task] = field(default_factory=dict, repr=False, compare=False)

    @property
    def name(self) -> str:
        return str(self.spec["name"])

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Task:
        if not -self.count <= index < self.count:
            raise IndexError(f"task {index} of a stream of {self.count}")
        index %= self.count
        if index not in self._built:
            self._built[index] = self.build(index, self.validation)
        return self._built[index]

    def __iter__(self) -> Iterator[Task]:
        return (self[k] for k in range(self.count))

    @property
    def tasks(self) -> tuple[Task, ...]:
        return tuple(self)

    def with_validation(self, share: float) -> Stream:
        """The same stream with this share of every class's training samples held out. The protocol decides it."""
        return (
            self if share == self.validation or self.brings_validation else replace(self, validation=share, _built={})
        )

    def digest(self) -> str:
        """One sha256 over every byte of every task."""
        sha = hashlib.sha256(json.dumps([list(self.outline.shape), list(self.outline.classes)]).encode())
        for task in self:
            for split in (task.train, task.validation, task.test):
                for x, y in split.batches(4096):
                    sha.update(x.contiguous().numpy().tobytes())
                    sha.update(y.contiguous().numpy().tobytes())
        return sha.hexdigest()


class Step(NamedTuple):
    """What `Learner.learn` yields after each unit of work: how far the lesson has come."""

    done: int
    total: int


@dataclass
class State:
    """The whole truth about a learner between two steps: tensors, and plain JSON for the rest.

    A file gives tensors back row by row. A learner that holds one in another order would go on with other bits than its
    copy that was saved and loaded, and nobody but the learner can change what it computes with: so no state can be made
    of such a tensor, whoever makes it, and what `Learner.load` is given is always row by row.
    """

    tensors: dict[str, Tensor]
    plain: dict[str, Any]

    def __post_init__(self) -> None:
        for name, values in self.tensors.items():
            if isinstance(values, Tensor) and not is_row_by_row(values):
                raise BadState(
                    f"tensor '{name}' of shape {tuple(values.shape)} has the strides {values.stride()}, which a file "
                    "does not keep; where the learner makes it, use engram.core.canonical(tensor)"
                )


class Learner:
    """A method. Learns lesson after lesson; never sees a test set, never logs, never prints.

    `learn` may be left at any yield, `state` taken, and the state loaded into a fresh learner in another process:
    calling `learn` there with the same lesson goes on where the first one stood and ends with the same bits. Classes
    of a lesson that the outline does not have are learned too, as if they had come last in it.
    """

    name: ClassVar[str] = ""
    keeps: ClassVar[str] = ""  # of earlier tasks, in a few words
    paper: ClassVar[str] = ""  # where it was published
    needs_task: ClassVar[bool] = False
    penalises: ClassVar[bool] = False  # with `strength` 0 it is bit-identical to `finetune`
    bits: ClassVar[int] = 0  # raised by every change of this method alone that changes its bits: part of its keys
    uncounted: str = ""  # kinds of layers whose operations `flops` leaves out
    class_names: tuple[str, ...] = ()  # where a file says them, see `engram.load`
    transform: Transform | Several | None = None  # and what the samples that it learned from had gone through
    twins: Any = None  # where it may find what others learned that began as it does, see `parts/twins.py`
    made_with: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *args: Any, **settings: Any) -> Any:
        """Remember what it is made with: another process makes it again from that, see `engram.save`."""
        learner = super().__new__(cls)
        learner.made_with = args, settings
        return learner

    def __init__(self, outline: Outline, seed: int = 0, network: Any = None, **settings: Any):
        """`network` is a `networks.Blueprint`; `settings` are those that the class declares."""
        raise NotImplementedError

    @classmethod
    def least_bytes(cls, outline: Outline, network: Any, settings: Mapping[str, Any]) -> int:
        """Memory that it takes at least, known before anything is built: what a run is refused by."""
        return 0

    @classmethod
    def uses_validation(cls, settings: Mapping[str, Any]) -> bool:
        """Whether it looks at a lesson's held-out samples, so that some are held out whatever the protocol."""
        return False

    @classmethod
    def require_tasks(cls, tasks: Iterable[Task | Lesson], seen: int = 0) -> None:
        """Refuse tasks that it cannot learn after as many as it has `seen`. Asked about a whole stream before anything
        is trained, whose tasks are built when they are looked at: here none is."""

    def learn(self, lesson: Lesson) -> Iterator[Step]:
        raise NotImplementedError

    def predict(self, x: Tensor, task: int | None = None) -> Tensor:
        """Scores, one column for each of `self.columns(task)`. With a task: over that task's classes only."""
        raise NotImplementedError

    def columns(self, task: int | None = None) -> list[int]:
        """The class that each column of `predict(x, task)` stands for."""
        raise NotImplementedError

    def changed_by(self, lesson: Lesson) -> Collection[int] | None:
        """The tasks that it may predict differently, told the task, after this lesson, with which it has just been
        taught; None for all. Of a learner that `needs_task` no others are evaluated again."""
        return None

    def notes(self) -> Mapping[str, Any]:
        """What is worth knowing about the lesson just taught beside accuracies, as plain JSON that its row keeps."""
        return {}

    def state(self) -> State:
        raise NotImplementedError

    def load(self, state: State) -> None:
        raise NotImplementedError

    def parameters(self) -> Tensor:
        """All trained parameters as one float32 vector, in order."""
        raise NotImplementedError

    def flops(self) -> int:
        """Training operations so far: 2 a multiply-add, forward and backward, search included."""
        raise NotImplementedError


@dataclass(frozen=True)
class Curve:
    """Test accuracy on the current task while it is learned, at given numbers of steps, in one reading of the scores.

    Where a protocol asks for it, also on every task seen so far (`tasks`, one tuple a moment), on all their samples
    together (`union`), and on the current task's validation data.
    """

    steps: tuple[int, ...]
    accuracy: tuple[float, ...]
    tasks: tuple[tuple[float, ...], ...] = ()
    union: tuple[float, ...] = ()
    validation: tuple[float, ...] = ()


@dataclass(frozen=True)
class Cost:
    """What a learner keeps (bytes, itemised), what its training took (operations) and how long (wall clock). The
    operations are too few where there are layers that cannot be counted (`uncounted`)."""

    bytes: Mapping[str, int]
    flops: int
    seconds: float
    uncounted: str = ""


class Machine(NamedTuple):
    """The kind of machine that grew a node: on another kind the same training can end in other bits."""

    capability: str  # the processor's instructions that torch uses
    torch: str
    platform: str
    processor: str = ""  # which it is, where that is known

    def __str__(self) -> str:
        named = f" ({self.processor})" if self.processor else ""
        return f"{self.platform} {self.capability}{named} with torch {self.torch}"


@dataclass(frozen=True)
class Row:
    """What was measured at one node, in two readings of the same scores: `single` (over all classes seen; None for a
    learner that must be told the task) and `multi` (over the task's own). What is a mapping has a part for each reading
    that was measured.

    Accuracies are those on the tasks seen, in order of first appearance; on some of them only where `places` says so.
    Those on each class and on the `union` of all test sets are there if all tasks were measured. In older stores there
    is no `machine`. `notes` are the learner's own words about the lesson, where it has some.
    """

    single: tuple[float, ...] | None
    multi: tuple[float, ...]
    per_class: Mapping[str, Mapping[str, float]]
    validation: Mapping[str, tuple[float, ...]]
    curves: Mapping[str, Curve]
    cost: Cost
    parameters_sha256: str
    union: Mapping[str, float] = field(default_factory=dict)
    places: tuple[int, ...] | None = None
    machine: Machine | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)

    def reading(self, head: str) -> str:
        """What a record with this head reads: single-head accuracies only where there are some."""
        return "multi" if self.single is None else head

    def accuracy(self, head: str) -> tuple[float, ...]:
        """On each task that was measured."""
        return self.multi if self.single is None or head == "multi" else self.single
