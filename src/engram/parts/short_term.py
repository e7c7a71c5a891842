"""A short-term memory: the last few samples that were put into it."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from engram.parts.som import squared_distances


class ShortTermMemory:
    """Has its whole room from the start. What is held comes first, the oldest before the others."""

    def __init__(self, size: int, inputs: int):
        self.x, self.y = torch.zeros(size, inputs), torch.zeros(size, dtype=torch.int64)
        self.held = 0

    def push(self, x: Tensor, y: Tensor) -> None:
        """Take these in; the oldest make room."""
        old = slice(max(0, self.held + len(x) - len(self.x)), self.held)
        last = slice(max(0, len(x) - len(self.x)), None)
        held_x, held_y = torch.cat([self.x[old], x[last]]), torch.cat([self.y[old], y[last]])
        self.held = len(held_x)
        self.x[: self.held], self.y[: self.held] = held_x, held_y

    def empty(self) -> None:
        self.x.zero_()
        self.y.zero_()
        self.held = 0

    def nearest(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The squared distance of each sample to the nearest that is held, and that one's label."""
        squares, places = squared_distances(x, self.x[: self.held]).min(1)
        return squares, self.y[places]

    def tensors(self) -> dict[str, Tensor]:
        return {"memory.x": self.x, "memory.y": self.y}

    def load(self, tensors: Mapping[str, Tensor], held: int) -> None:
        self.x, self.y, self.held = tensors["memory.x"].clone(), tensors["memory.y"].clone(), held
