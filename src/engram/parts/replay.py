"""A memory of samples as they entered a batch, changed and normalised, each with its output and its task.

A ring keeps the last samples of every class of every task. A reservoir keeps each sample that was seen with the same
probability, whatever its class; room is made for it whenever a task begins, and filled before anything is replaced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from engram.core import pick
from engram.settings import apply, setting

NOBODY = -1  # the task of a place that is still empty
Places = tuple[Tensor, Tensor]  # which samples of a batch are kept, and where


class Replay:
    """`x`, the `row` of the output layer that is right, and the `task`, one of each for every place."""

    memory = setting(15, "samples kept of every class of every task; 0 is finetune with the same heads", at_least=0)
    buffer = setting(
        "ring",
        "what is kept: the last samples of every class (ring), or all that were seen with equal chances (reservoir)",
        choices=("ring", "reservoir"),
        revised=(("reservoir", 1),),  # samples that a task had and never saw were counted as seen
    )

    def __init__(self, values: Mapping[str, Any], shape: tuple[int, ...], device: torch.device | str = "cpu"):
        apply(self, values)
        self.x = torch.empty(0, *shape, device=device)
        self.row, self.task = (torch.empty(0, dtype=torch.int32, device=device) for _ in range(2))
        self.came: list[int] = []  # of a ring: how many samples of each class of the present task came so far
        self.seen = self.different = 0  # samples so far, and how many of them are not the same again

    def make_room(self, counts: Sequence[int]) -> None:
        """For a task that has so many training samples of each of its classes: no more than there are samples."""
        room = sum(self._sizes(counts)) if self.buffer == "ring" else min(self.memory * len(counts), sum(counts))
        self.x = torch.cat([self.x, self.x.new_zeros(room, *self.x.shape[1:])])
        self.row = torch.cat([self.row, self.row.new_zeros(room)])
        self.task = torch.cat([self.task, self.task.new_full((room,), NOBODY)])
        self.came = [0] * len(counts)

    def attend(self, task: int, rows: Sequence[int], counts: Sequence[int]) -> None:
        """The task that samples come from now, with the row of the output layer of each of its classes."""
        self.present, self._rows, self._room = task, torch.tensor(rows), torch.tensor(self._sizes(counts))
        self._starts = len(self.row) - self._room.flip(0).cumsum(0).flip(0)  # the present task's places come last

    def _sizes(self, counts: Sequence[int]) -> list[int]:
        return [min(self.memory, count) for count in counts]

    def draw(self, most: int, draw: torch.Generator) -> tuple[Tensor, Tensor, Tensor] | None:
        """Samples of other tasks, their rows and their tasks, with replacement: as many as there are, and no more than
        `most`."""
        tasks = self.task.cpu()
        others = ((tasks != self.present) & (tasks != NOBODY)).nonzero().squeeze(1)
        if not len(others):
            return None
        chosen = others[torch.randint(len(others), (min(len(others), most),), generator=draw)]
        return pick(self.x, chosen), pick(self.row, chosen).long(), pick(self.task, chosen)

    def keep(self, x: Tensor, rows: Tensor, draw: torch.Generator) -> None:
        """Put samples of the present task where the ring or the reservoir has them."""
        if not len(self.row):
            return
        which, places = self._ring(rows.cpu()) if self.buffer == "ring" else self._reservoir(len(rows), draw)
        self.seen += len(rows)
        places = places.to(self.x.device)
        self.x.index_copy_(0, places, pick(x, which))
        self.row.index_copy_(0, places, pick(rows, which).int())
        self.task.index_fill_(0, places, self.present)

    def _ring(self, rows: Tensor) -> Places:
        """The last of each class of the batch, behind those that came before, around and around."""
        of_class = rows[:, None] == self._rows
        so_far, label = of_class.cumsum(0), of_class.int().argmax(1)
        rank, total = so_far.gather(1, label[:, None]).squeeze(1) - 1, so_far[-1]
        last = (rank >= (total - self._room)[label]).nonzero().squeeze(1)
        came, label = torch.tensor(self.came), label[last]
        self.came = (came + total).tolist()
        return last, self._starts[label] + (came[label] + rank[last]) % self._room[label]

    def _reservoir(self, count: int, draw: torch.Generator) -> Places:
        """Empty places first; then sample n takes the place of another with the chance of places/n."""
        filled, size = int((self.task.cpu() != NOBODY).sum()), len(self.task)
        numbers = torch.arange(self.seen, self.seen + count, dtype=torch.float64) + 1
        lots = (torch.rand(count, generator=draw, dtype=torch.float64) * numbers).long()
        lots[: size - filled] = torch.arange(filled, min(size, filled + count))
        last = {place: sample for sample, place in enumerate(lots.tolist()) if place < size}  # the later one stays
        return torch.tensor(list(last.values()), dtype=torch.long), torch.tensor(list(last), dtype=torch.long)

    def finish(self, samples: int) -> None:
        """A task of so many training samples has ended: those that came count once, however often they did."""
        self.different += min(samples, self.seen - self.different)
        self.seen = self.different

    def tensors(self) -> dict[str, Tensor]:
        return {"memory.x": self.x, "memory.row": self.row, "memory.task": self.task} if len(self.row) else {}

    def plain(self) -> dict[str, Any]:
        return {"came": self.came, "seen": self.seen, "different": self.different}

    def load(self, tensors: Mapping[str, Tensor], plain: Mapping[str, Any]) -> None:
        """Hold what `tensors` (by the rest of their names) and `plain` gave."""
        if tensors:
            self.x, self.row, self.task = (tensors[name].clone() for name in ("x", "row", "task"))
        self.came, self.seen, self.different = list(plain["came"]), plain["seen"], plain["different"]
