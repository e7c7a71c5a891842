"""Samples with their labels and their transform, and where tensors lie in memory: see `engram.core` for the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from engram.errors import BadData
from engram.moves import moved
from engram.transform import Several, Transform, can_share

ALIGNMENT = 64  # bytes: a tensor that torch makes begins at a multiple of them


def is_row_by_row(values: Tensor) -> bool:
    """Whether the values lie in memory in the order in which they are counted, dimensions of size 1 included: these are
    no matter to `is_contiguous`, but products and convolutions choose their way by them. Where there are no values any
    strides will do: those of numpy are others than torch's."""
    expected = 1
    for size, stride in zip(reversed(values.shape), reversed(values.stride())):
        if stride != expected and values.numel():
            return False
        expected *= max(size, 1)
    return True


def canonical(values: Tensor) -> Tensor:
    """The values row by row in memory, from where torch would put a tensor of their own; themselves if that is so.

    The same product of the same numbers can round differently when they lie in another order or at another address.
    """
    if values.data_ptr() % ALIGNMENT == 0 and is_row_by_row(values):
        return values
    return values.clone(memory_format=torch.contiguous_format)


def pick(values: Tensor, index: Tensor | slice) -> Tensor:
    """`values[index]`, several times faster for a tensor of positions."""
    return values[index] if isinstance(index, slice) else values.index_select(0, index.to(values.device))


PLAIN = Transform()


class Split:
    """Some rows of a dataset with their labels, and what a stream does to each sample on its way into a batch."""

    def __init__(
        self,
        x: Tensor,
        y: Tensor,
        rows: Tensor | None = None,
        transform: Transform | Several = PLAIN,
        moves: Tensor | None = None,
    ):
        """`y` labels the chosen `rows` of `x` (all of them by default); `moves` says of each how it is shifted."""
        count = len(x) if rows is None else len(rows)
        if len(y) != count:
            raise BadData(f"{count} samples came with {len(y)} labels; give one label a sample")
        self.x, self.y, self.rows, self.transform, self.moves = x, y, rows, transform, moves

    def __len__(self) -> int:
        return len(self.y)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.transform.shape(self.x.shape[1:])

    def raw(self, index: Tensor | slice) -> Tensor:
        """The samples at these positions in the dataset's own number format, in order and width."""
        return self.transform.arrange(pick(self.x, self._places(index)))

    def batch(self, index: Tensor | slice) -> tuple[Tensor, Tensor]:
        """Transformed float32 samples and their labels."""
        places = self._places(index)
        x = self.transform.finish(self.transform.arrange(pick(self.x, places)), places)
        if self.moves is not None:
            x = self.restored(x, index, partial(moved, moves=pick(self.moves, index)))
        return canonical(x), pick(self.y, index)

    def restored(self, x: Tensor, index: Tensor | slice, change: Callable[[Tensor], Tensor]) -> Tensor:
        """A batch of the samples at these positions, changed before anything was subtracted from them: zeros that come
        in are black."""
        offset = self.offset(index)
        return change(x) if offset is None else change(x + offset) - offset

    def _places(self, index: Tensor | slice) -> Tensor | slice:
        """The rows of `x` that these positions are."""
        return index if self.rows is None else pick(self.rows, index)

    def take(self, index: Tensor) -> Split:
        """The split that holds only these positions."""
        index = index.to(self.y.device)
        rows = index if self.rows is None else self.rows[index]
        return Split(self.x, self.y[index], rows, self.transform, None if self.moves is None else self.moves[index])

    def to(self, device: torch.device | str) -> Split:
        """The same samples on a device; itself where they are there."""
        if self.x.device == torch.device(device):
            return self
        rows, moves = (None if own is None else own.to(device) for own in (self.rows, self.moves))
        return Split(self.x.to(device), self.y.to(device), rows, self.transform.to(device), moves)

    def batches(self, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Every sample once, in order."""
        for start in range(0, len(self), size):
            yield self.batch(slice(start, start + size))

    def parts(self) -> tuple[tuple[Transform, ...], Tensor]:
        """What is left to do to the raw samples: the different ways, and for each sample which one is its own."""
        return self.transform.arranged().parts(self._places(slice(None)), len(self))

    def offset(self, index: Tensor | slice = slice(None)) -> Tensor | None:
        """What a stream subtracts from the samples at these positions, in the units of a batch."""
        return self.transform.offset(self._places(index))

    @staticmethod
    def join(splits: Sequence[Split]) -> Split:
        """The samples of several splits as one, copied: in their own number format, each with its transform, or as
        batches have them where formats differ or samples are shifted."""
        if len({s.shape for s in splits}) > 1:
            raise BadData(f"samples of different shapes ({', '.join(str(s.shape) for s in splits)}) cannot be joined")
        y, raws = torch.cat([s.y for s in splits]), [s.raw(slice(None)) for s in splits]
        transforms = [transform for s in splits for transform in s.parts()[0]]
        formats = {(raw.dtype, raw.shape[1:]) for raw in raws}
        if len(formats) > 1 or not can_share(transforms) or any(s.moves is not None for s in splits):
            return Split(torch.cat([s.batch(slice(None))[0] for s in splits]), y)
        return Split(canonical(torch.cat(raws)), y, transform=_together([s.parts() for s in splits]))

    def tensors(self) -> dict[str, Tensor]:
        """What a state holds of samples that are kept, as `join` makes them."""
        return {"x": self.x, "y": self.y, **self.transform.tensors()}

    def plain(self) -> dict[str, Any]:
        """The rest of it, as plain JSON."""
        return self.transform.plain()

    @staticmethod
    def load(tensors: Mapping[str, Tensor], plain: Mapping[str, Any]) -> Split:
        """The split that `tensors` and `plain` were of; it holds these very tensors."""
        return Split(tensors["x"], tensors["y"], transform=Transform.load(tensors, plain))


def _together(parts: Sequence[tuple[tuple[Transform, ...], Tensor]]) -> Transform | Several:
    """One transform for all samples, or each one's own: equal ones are kept once, and unused ones not at all."""
    each: list[Transform] = []
    which = []
    for transforms, numbers in parts:
        places = torch.full((len(transforms),), -1, dtype=torch.int32)
        for number in numbers.unique().tolist():
            if transforms[number] not in each:
                each.append(transforms[number])
            places[number] = each.index(transforms[number])
        which.append(places.index_select(0, numbers))
    if not each:
        return parts[0][0][0]
    return each[0] if len(each) == 1 else Several(tuple(each), torch.cat(which))


def rows_by_class(labels: Tensor) -> dict[int, Tensor]:
    """The rows of every class that occurs, ascending, by one sort."""
    order = labels.argsort(stable=True)
    found, counts = labels[order].unique_consecutive(return_counts=True)
    return dict(zip(found.tolist(), order.split(counts.tolist()), strict=True))
