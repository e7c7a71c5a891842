"""What a stream does to a sample on its way into a batch, as one value: kept with the samples by whoever keeps some.

    order ─▶ width ─▶ channels ─▶ size ─▶ scale ─▶ colour ─▶ minus shift ─▶ over deviation

The first two only rearrange what is there: samples are kept rearranged, in their own number format, and what is left to
do to them (`arranged`) is kept beside them. Two transforms are equal if they do the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor

from engram.errors import BadData

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Transform:
    """`permutation` reorders the features and `width` pads the flattened sample with zeros. Images get as many
    `channels` (from grey) and the `size` (height, width), by the mean over each new pixel's area, by the nearest old
    pixel or between old pixels. `colour` is what black becomes, and white stays. `shift` is subtracted after scaling,
    and what is left is divided by `deviation`: both have the final shape, or one that is stretched to it."""

    scale: float = 1.0
    permutation: Tensor | None = None
    width: int | None = None
    shift: Tensor | None = None
    deviation: Tensor | None = None
    channels: int | None = None
    size: tuple[int, int] | None = None
    sizing: str = "average"
    colour: tuple[float, ...] | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Transform):
            return NotImplemented
        return all(_same(getattr(self, field.name), getattr(other, field.name)) for field in fields(self))

    def __hash__(self) -> int:
        return hash((self.scale, self.width, self.channels, self.size, self.sizing, self.colour))

    def arrange(self, x: Tensor) -> Tensor:
        """The samples in order and width, in their own number format."""
        if self.permutation is not None:
            x = x.flatten(1).index_select(1, self.permutation).view(x.shape)
        if self.width is not None:
            flat = x.flatten(1)
            x = F.pad(flat, (0, self.width - flat.shape[1]))
        return x

    def finish(self, x: Tensor, rows: Tensor | slice | None = None) -> Tensor:
        """All the rest, in float32. `rows` says where the samples are kept: that matters to `Several`."""
        x = self.pictured(x.float() if x.dtype != torch.float32 else x)
        x = self.coloured(x * self.scale if self.scale != 1.0 else x)
        x = x if self.shift is None else x - self.shift
        return x if self.deviation is None else x / self.deviation

    def pictured(self, x: Tensor) -> Tensor:
        """Images with the channels and of the size that are asked for."""
        if self.size is not None and tuple(x.shape[2:]) != self.size:
            x = self._sized(x, self.size)
        if self.channels is None or x.shape[1] == self.channels:
            return x
        if x.shape[1] != 1:
            raise BadData(f"images of {x.shape[1]} channels cannot get {self.channels}; only grey ones can")
        return x.expand(-1, self.channels, -1, -1)

    def _sized(self, x: Tensor, size: tuple[int, int]) -> Tensor:
        if self.sizing == "average":
            return F.adaptive_avg_pool2d(x, size)
        return F.interpolate(x, size, mode=self.sizing)

    def coloured(self, x: Tensor) -> Tensor:
        """Images from 0 to 1 with their black turned into the colour: x + (1 − x) · colour, each channel by its own.

        Veniat et al. 2021 have the image's brightest value in the place of 1; that of a digit that was resized is less,
        in each another, and no channel would be constant. Here one that is full of colour is exactly 1 everywhere, so
        that it is known to have no deviation.
        """
        if self.colour is None:
            return x
        return torch.lerp(x, torch.ones_like(x), x.new_tensor(self.colour).view(-1, 1, 1))

    def arranged(self) -> Transform:
        """What is left to do to samples that are in order and width already."""
        if self.permutation is None and self.width is None:
            return self
        kept = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("permutation", "width")}
        return Transform(**kept)

    def shape(self, raw: Sequence[int]) -> tuple[int, ...]:
        """The shape of a sample in a batch."""
        if self.width is not None:
            return (self.width,)
        shape = tuple(raw)
        if self.channels is not None:
            shape = (self.channels, *shape[1:])
        return shape if self.size is None else (*shape[:1], *self.size)

    def offset(self, rows: Tensor | slice) -> Tensor | None:
        """What was subtracted from each sample, in the units of the batch."""
        if self.shift is None or self.deviation is None:
            return self.shift
        return self.shift / self.deviation

    def to(self, device: torch.device | str) -> Transform:
        """The same on a device."""
        moved: dict[str, Any] = {name: value.to(device) for name, value in self.tensors().items()}
        return replace(self, **moved)

    def parts(self, rows: Tensor | slice, count: int) -> tuple[tuple[Transform, ...], Tensor]:
        """The transforms of these samples, and for each of them which one is its own."""
        return (self,), torch.zeros(count, dtype=torch.int32)

    def tensors(self) -> dict[str, Tensor]:
        found = {name: getattr(self, name) for name in _TENSORS}
        return {name: value for name, value in found.items() if value is not None}

    def plain(self) -> dict[str, Any]:
        """The rest, as plain JSON: what is not as it is by default, and always the scale."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in _TENSORS}
        return {n: v for n, v in own.items() if n == "scale" or v != getattr(Transform, n)}

    @staticmethod
    def load(tensors: Mapping[str, Tensor], plain: Mapping[str, Any]) -> Transform | Several:
        """What `tensors` and `plain` gave; others among them are ignored."""
        if "each" in plain:
            each = [Transform._load(under(f"{k}.", tensors), own) for k, own in enumerate(plain["each"])]
            return Several(tuple(each), tensors["which"])
        return Transform._load(tensors, plain)

    @staticmethod
    def _load(tensors: Mapping[str, Tensor], plain: Mapping[str, Any]) -> Transform:
        own = {f.name: plain[f.name] for f in fields(Transform) if f.name in plain}
        own |= {name: tensors[name] for name in _TENSORS if name in tensors}
        return Transform(**own | {name: tuple(own[name]) for name in ("size", "colour") if own.get(name)})


_TENSORS = ("permutation", "shift", "deviation")


class Several:
    """Different transforms of samples that are kept together: `which` has for each of these the number of its own.

    They differ in numbers only (see `can_share`), so that a batch is scaled and shifted at once, whatever is in it.
    """

    def __init__(self, each: tuple[Transform, ...], which: Tensor):
        self.each, self.which = each, which
        first = each[0]
        self._picture = Transform(channels=first.channels, size=first.size, sizing=first.sizing, colour=first.colour)
        self._scale = torch.tensor([t.scale for t in each], device=which.device)
        self._shift = _stack([t.shift for t in each], 0.0)
        self._deviation = _stack([t.deviation for t in each], 1.0)

    def arrange(self, x: Tensor) -> Tensor:
        return x

    def finish(self, x: Tensor, rows: Tensor | slice) -> Tensor:
        which = self.which[rows]
        x = self._picture.pictured(x.float() if x.dtype != torch.float32 else x)
        x = self._picture.coloured(x * self._scale.index_select(0, which).view(-1, *[1] * (x.dim() - 1)))
        x = x if self._shift is None else x - self._shift.index_select(0, which)
        return x if self._deviation is None else x / self._deviation.index_select(0, which)

    def shape(self, raw: Sequence[int]) -> tuple[int, ...]:
        return self._picture.shape(raw)

    def offset(self, rows: Tensor | slice) -> Tensor | None:
        if self._shift is None:
            return None
        offsets = self._shift if self._deviation is None else self._shift / self._deviation
        return offsets.index_select(0, self.which[rows])

    def to(self, device: torch.device | str) -> Several:
        return Several(tuple(transform.to(device) for transform in self.each), self.which.to(device))

    def arranged(self) -> Several:
        return self

    def parts(self, rows: Tensor | slice, count: int) -> tuple[tuple[Transform, ...], Tensor]:
        return self.each, self.which[rows]

    def tensors(self) -> dict[str, Tensor]:
        own = {f"{k}.{name}": value for k, t in enumerate(self.each) for name, value in t.tensors().items()}
        return {"which": self.which, **own}

    def plain(self) -> dict[str, Any]:
        return {"each": [transform.plain() for transform in self.each]}


def can_share(transforms: Sequence[Transform]) -> bool:
    """Whether samples can be kept together in their own format: what is left to do to them differs in numbers only."""
    return len({(t.width, t.channels, t.size, t.sizing, t.colour) for t in transforms}) == 1


def _stack(values: Sequence[Tensor | None], neutral: float) -> Tensor | None:
    """One row a transform, those that have none do nothing; None where nobody has any."""
    given = [value for value in values if value is not None]
    if not given:
        return None
    shape = torch.broadcast_shapes(*(value.shape for value in given))
    rows = [given[0].new_full(shape, neutral) if value is None else value.expand(shape) for value in values]
    return torch.stack(rows)


def under(prefix: str, tensors: Mapping[str, T]) -> dict[str, T]:
    """Those whose names begin so, without it."""
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return a is b or torch.equal(a, b)
    return type(a) is type(b) and bool(a == b)
