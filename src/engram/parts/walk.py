"""Frozen modules of a library applied to batches, each distinct beginning of several paths once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from engram.parts.library import Library, Path


class PathWalk:
    """Frozen modules applied to a batch, along one path after another. What the next has in common with the last one is
    not computed again: of paths in order every distinct beginning is computed once, see `walked_flops`."""

    def __init__(self, library: Library):
        self.library = library
        self.operations = 0
        self.forget()

    def forget(self) -> None:
        """Hold no batch."""
        self._path: Path = ()
        self._known: list[Tensor] = []  # the batch, and what each module of the path has made of it

    def at(self, x: Tensor, prefix: Path) -> Tensor:
        """What these first modules make of a batch."""
        if not self._known or self._known[0] is not x:
            self._path, self._known = (), [x]
        common = _common(self._path, prefix)
        if common < len(prefix):
            del self._known[common + 1 :]
            self._path = prefix
        with torch.no_grad():
            for layer in range(common, len(prefix)):
                self._known.append(self.library.apply(layer, prefix[layer], self._known[-1]))
                self.operations += len(x) * self.library.flops(layer, prefix[layer])
        return self._known[len(prefix)]


def beginnings(paths: Iterable[Path]) -> list[Path]:
    """Every distinct beginning of these paths without their heads, the empty one too, in the order of a `PathWalk`.

    >>> beginnings([(0, 0, 1), (0, 2, 3)])
    [(), (0,), (0, 0), (0, 2)]
    """
    return sorted({(), *(path[:length] for path in paths for length in range(1, len(path)))})


def walked_flops(library: Library, prefixes: Iterable[Path]) -> int:
    """Operations of a walk along these beginnings, one after another, for one sample."""
    total = 0
    last: Path = ()
    for prefix in prefixes:
        common = _common(last, prefix)
        if common < len(prefix):
            total += sum(library.flops(layer, prefix[layer]) for layer in range(common, len(prefix)))
            last = prefix
    return total


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """How many modules two paths begin with alike."""
    return next((k for k, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
