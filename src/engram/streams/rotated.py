"""All classes in every task, the images turned a little further each time (Lopez-Paz and Ranzato 2017)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from engram.errors import BadData
from engram.settings import Setting
from engram.streams.inputs import INPUTS
from engram.streams.plan import Kind, Part, Plan
from engram.streams.source import Source


@dataclass(frozen=True)
class Turned(Part):
    """A part whose images are turned."""

    degrees: float = 0.0

    def order(self, seed: int) -> Tensor | None:
        return turned(self.source.dataset.shape, self.degrees) if self.degrees % 360 else None


def turned(shape: Sequence[int], degrees: float) -> Tensor:
    """For each pixel of an image (channels, height, width) turned to the left, the nearest one of the image as it was.
    What comes in from outside repeats the border.

    >>> turned((1, 2, 3), 180).tolist()
    [5, 4, 3, 2, 1, 0]
    """
    channels, height, width = shape
    middle_down, middle_right = (height - 1) / 2, (width - 1) / 2
    down = torch.arange(height, dtype=torch.float64)[:, None] - middle_down
    right = torch.arange(width, dtype=torch.float64) - middle_right
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    rows = _nearest(right * sine + down * cosine + middle_down, height)
    columns = _nearest(right * cosine - down * sine + middle_right, width)
    return (torch.arange(channels)[:, None, None] * height * width + rows * width + columns).flatten()


def _nearest(places: Tensor, count: int) -> Tensor:
    """Half-way goes up, though rounding errors may have put it a little below."""
    return (places + 0.5 + 1e-6).floor().long().clamp(0, count - 1)


def plan(sources: Sequence[Source], seed: int, options: Mapping[str, Any]) -> Plan:
    """Task k is turned k times, whatever the number of tasks; the first one stays as it is."""
    source = sources[0]
    if len(source.dataset.shape) != 3:
        raise BadData(
            f"stream 'rotated' turns images, and samples of {source.name} have the shape {source.dataset.shape}; "
            "choose a dataset of images, or the stream 'permuted'"
        )
    angles = [k * options["degrees"] for k in range(options["tasks"])]
    everything = tuple(range(source.class_count))
    return Plan(tuple(Turned(f"turned by {angle:g}°", source, everything, degrees=angle) for angle in angles), options)


KIND = Kind(
    name="rotated",
    version=1,
    help="all classes in every task, images turned a little further each time",
    options={
        "tasks": Setting(10, "number of tasks", at_least=1, at_most=10_000),
        "degrees": Setting(18.0, "from one task to the next, to the left", above=0, below=360),
        **INPUTS,
    },
    plan=plan,
)
