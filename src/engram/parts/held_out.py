"""Validation data as frozen modules see them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from torch import Tensor

from engram.core import Split, pick
from engram.parts.fit import LOOK
from engram.parts.library import Path
from engram.parts.twins import add_samples
from engram.parts.walk import PathWalk, walked_flops

ROOM = 1 << 30  # bytes of it that are held while candidates are compared


class HeldOut:
    """What the candidates' frozen modules make of validation data: computed once, as far as there is room."""

    def __init__(self, data: Split, places: Tensor, walk: PathWalk, prefixes: Sequence[Path], counted: bool):
        """`counted`: this was computed before, by a process that was left, and its operations were counted."""
        self.data, self.counted = data, counted
        self._places, self._walk, self._prefixes = places, walk, prefixes
        self._known: dict[Path, list[Tensor]] | None = None

    def beyond(self, prefixes: Sequence[Path]) -> HeldOut:
        """The same data, for candidates behind these prefixes."""
        return HeldOut(self.data, self._places, self._walk, prefixes, counted=False)

    def accuracy(self, prefix: Path, scores: Callable[[Tensor], Tensor]) -> float:
        """The share that is right by these scores of what some first modules give."""
        right = (int((scores(x).argmax(1) == pick(self._places, y)).sum().item()) for x, y in self._batches(prefix))
        return sum(right) / len(self.data)

    def add_to(self, sha: Any) -> None:
        """Put the data, and what is right, into a digest."""
        add_samples(sha, self.data, pick(self._places, self.data.y))

    def flops(self, prefix: Path) -> int:
        """What `accuracy` adds to the operations of the walk."""
        return 0 if prefix in self._seen() else len(self.data) * walked_flops(self._walk.library, [prefix])

    def _batches(self, prefix: Path) -> Iterator[tuple[Tensor, Tensor]]:
        known = self._seen()
        if prefix in known:
            yield from zip(known[prefix], self.data.y.split(LOOK), strict=True)
            return
        for x, y in self.data.batches(LOOK):
            yield self._walk.at(x, prefix), y

    def _seen(self) -> dict[Path, list[Tensor]]:
        if self._known is None and self._prefixes:
            before = self._walk.operations
            self._known = self._see()
            self._walk.operations = before if self.counted else self._walk.operations
            self.counted = True
        return self._known or {}

    def _see(self) -> dict[Path, list[Tensor]]:
        known: dict[Path, list[Tensor]] = {prefix: [] for prefix in self._with_room()}
        for x, _ in self.data.batches(LOOK):
            for prefix, found in known.items():
                found.append(self._walk.at(x, prefix))
        return known

    def _with_room(self) -> list[Path]:
        """The longest beginnings come first, because they save most. The data themselves are not held again."""
        x, _ = self.data.batch(slice(0, 1))
        room, found = ROOM // 4, []
        for prefix in sorted(filter(None, self._prefixes), key=len, reverse=True):
            room -= self._walk.at(x, prefix).numel() * len(self.data)
            if room >= 0:
                found.append(prefix)
        return sorted(found)
