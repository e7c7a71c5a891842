"""Which row of the output layer stands for which class: one growing or masked head, a head for every task, or one head
in which a row is a place in a task's list of classes, whatever the class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import torch
from torch import Tensor

from engram.errors import NeedsTask
from engram.networks import Outputs, Trunk
from engram.randomness import generator

PER_TASK, SHARED = "per-task", "shared"


@dataclass(frozen=True)
class OwnTasks:
    """For every sample the softmax over the outputs of its own task. A sample goes by a number: its output's for the
    last task that has its class, and for every earlier one that has it too a number beyond all outputs.

    `masks`: for each number 0 at the outputs of the task, else −∞. `right`: for each number the output. `earlier`: the
    numbers beyond the outputs, by task and output."""

    masks: Tensor
    right: Tensor
    earlier: Mapping[tuple[int, int], int]


class OutputLayer:
    """Book-keeping of rows. A row is named by (task, class); with one head for all tasks the task is None. Of one that
    is `shared` the name is a place in the list of a task's classes."""

    def __init__(self, kind: str, all_classes: Sequence[int], device: torch.device | str = "cpu"):
        self.kind, self.all_classes = kind, tuple(all_classes)
        self.device = device  # of what `active` gives
        self.names: list[tuple[int | None, int]] = []
        self.tasks: dict[int, tuple[int, ...]] = {}
        self._rows: dict[tuple[int | None, int], int] = {}  # the place of every name, known without looking for it
        self._seen: dict[int, None] = {}  # every class once, in order of first appearance

    def add(self, task: int, classes: Sequence[int]) -> list[tuple[int | None, int]]:
        """Register a task; the names of the rows that it makes necessary, in order."""
        self.open(classes)
        wanted = self.all_classes if self.kind == "masked" else classes
        names = self._names(task, wanted)
        new = [name for name in names if name not in self._rows]
        self._note(new, {task: tuple(classes)})
        return new

    def open(self, classes: Iterable[int]) -> None:
        """Classes that nobody spoke of come after all others."""
        self.all_classes = tuple(dict.fromkeys((*self.all_classes, *classes)))

    def _note(self, names: Sequence[tuple[int | None, int]], tasks: Mapping[int, tuple[int, ...]]) -> None:
        for name in names:
            self._rows[name] = len(self.names)
            self.names.append(name)
        self.tasks |= tasks
        labels = dict.fromkeys(chain.from_iterable(tasks.values()))
        self._seen |= labels
        self.open(labels)

    def active(self, task: int, loss_over: str) -> tuple[Outputs, Tensor]:
        """The outputs in the training softmax, and for every class its place among them."""
        if self.needs_task or loss_over == "task":
            rows = self.rows(task)
        elif loss_over == "seen":
            rows = self.rows(None)
        else:
            rows = list(range(len(self.names)))
        outputs = Outputs.of(rows, self.device)
        places = torch.full((max(self.all_classes) + 1,), -1)
        labels = self.classes(task) if self.kind == SHARED else [self.names[row][1] for row in rows]
        for label, row in zip(labels, rows, strict=True):
            places[label] = row - outputs.start
        return outputs, places.to(self.device)

    def active_by_task(self) -> tuple[Outputs, Tensor, OwnTasks]:
        """All outputs, the place of every class, and the softmax of each task."""
        places = torch.full((max(self.all_classes) + 1,), -1)
        places[[label for _, label in self.names]] = torch.arange(len(self.names))
        rows = {task: self.rows(task) for task in self.tasks}
        last = {row: task for task, own in rows.items() for row in own}
        again = [(task, row) for task, own in rows.items() for row in own if last[row] != task]
        right = [*range(len(self.names)), *(row for _, row in again)]
        masks = torch.full((len(right), len(self.names)), float("-inf"))
        earlier = {pair: len(self.names) + k for k, pair in enumerate(again)}
        for task, own in rows.items():
            mask = torch.full((len(self.names),), float("-inf"))
            mask[own] = 0
            masks[[earlier.get((task, row), row) for row in own]] = mask
        by_task = OwnTasks(masks.to(self.device), torch.tensor(right, device=self.device), earlier)
        return Outputs(0, len(self.names)), places.to(self.device), by_task

    def rows(self, task: int | None) -> list[int]:
        """The rows of a task's classes, or of all classes seen."""
        return [self._rows[name] for name in self._names(task, self.classes(task))]

    def classes(self, task: int | None) -> list[int]:
        if task is None:
            if self.needs_task:
                own = "outputs of its own" if self.kind == PER_TASK else "its own meaning of the outputs"
                raise NeedsTask(f"every task has {own} here: say which task, or evaluate with --head multi")
            return list(self._seen)
        if task not in self.tasks:
            learned = ", ".join(str(t + 1) for t in self.tasks) or "none yet"
            raise NeedsTask(f"task {task + 1} has not been learned (learned: {learned})")
        return list(self.tasks[task])

    @property
    def needs_task(self) -> bool:
        """Whether what an output stands for depends on the task."""
        return self.kind in (PER_TASK, SHARED)

    def _names(self, task: int | None, classes: Sequence[int]) -> list[tuple[int | None, int]]:
        wanted = range(len(classes)) if self.kind == SHARED else classes
        return [(task if self.kind == PER_TASK else None, label) for label in wanted]

    def state(self) -> dict[str, Any]:
        """Numbers side by side: after a thousand tasks, reading a list for each would take longer than learning one."""
        return {
            "owners": [task for task, _ in self.names],
            "labels": [label for _, label in self.names],
            "tasks": list(self.tasks),
            "sizes": list(map(len, self.tasks.values())),
            "classes": list(chain.from_iterable(self.tasks.values())),
        }

    def load(self, state: dict[str, Any]) -> None:
        names, tasks = _read(state) if "sizes" in state else _read_older(state)
        self.names, self.tasks, self._rows, self._seen = [], {}, {}, {}
        self._note(names, tasks)


def _read(state: dict[str, Any]) -> tuple[list[tuple[int | None, int]], dict[int, tuple[int, ...]]]:
    classes = iter(state["classes"])
    tasks = {task: tuple(islice(classes, size)) for task, size in zip(state["tasks"], state["sizes"], strict=True)}
    return list(zip(state["owners"], state["labels"], strict=True)), tasks


def _read_older(state: dict[str, Any]) -> tuple[list[tuple[int | None, int]], dict[int, tuple[int, ...]]]:
    """A pair for every row and for every task: what older versions wrote."""
    return [(task, label) for task, label in state["names"]], {task: tuple(own) for task, own in state["tasks"]}


def initial_rows(trunk: Trunk, seed: int, names: Sequence[tuple[int | None, int]]) -> Tensor:
    """Rows of the head for these tasks and labels, each from a generator of its own."""
    rows = [torch.empty(0)]
    for task, label in names:
        where = ("head", label) if task is None else ("head", label, task)
        rows.append(trunk.head_rows(1, generator(seed, "initialisation", *where)).flatten())
    return torch.cat(rows)
