"""What every kind of stream can do to its samples: the options, and the numbers that they subtract and divide by."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from engram.core import Split
from engram.errors import BadSetting
from engram.settings import Setting
from engram.streams.validation import SHARE

CENTRED = Setting(False, "subtract the mean training image of the whole dataset, a look at tasks that are yet to come")
NORMALISED = Setting(
    False,
    "bring each task's samples to mean 0 and deviation 1, by its own training samples, each channel for itself "
    "(samples that are no images are one channel)",
)
STANDARDISED = Setting(
    False,
    "bring every feature of all tasks to mean 0 and deviation 1, by the training samples of the first task of its "
    "dataset, which are known before the others come",
)
CHANGES = {"centred": CENTRED, "normalised": NORMALISED, "standardised": STANDARDISED}
INPUTS = {**CHANGES, "validation": SHARE}
CHUNK = 4096  # samples that are summed at a time


def check_inputs(changes: Mapping[str, bool]) -> None:
    wanted = [name for name, value in changes.items() if value]
    if len(wanted) > 1:
        raise BadSetting(
            f"{wanted[0]}=true came with {wanted[1]}=true, and both subtract a mean; give only one of the two"
        )


def channel_statistics(data: Split, chunk: int = CHUNK) -> tuple[Tensor, Tensor]:
    """Mean and deviation of each channel as a batch has it, in a shape that is stretched to a sample's: (channels, 1,
    1) for images, (1,) for all others. A channel without any difference has the deviation 1."""
    image = len(data.shape) == 3
    over = (0, 2, 3) if image else tuple(range(len(data.shape) + 1))
    shape = (data.shape[0], 1, 1) if image else (1,) * len(data.shape)
    count = len(data) * torch.Size(data.shape).numel() // shape[0]
    return _statistics(data, over, shape, count, chunk)


def feature_statistics(data: Split, chunk: int = CHUNK) -> tuple[Tensor, Tensor]:
    """Mean and deviation of each feature as a batch has it; 1 for one without any difference."""
    return _statistics(data, (0,), data.shape, len(data), chunk)


def _statistics(
    data: Split, over: tuple[int, ...], shape: tuple[int, ...], count: int, chunk: int
) -> tuple[Tensor, Tensor]:
    """Of `count` numbers each, which lie `over` these dimensions, in this `shape`."""
    mean = sum((x.double().sum(over) for x, _ in data.batches(chunk)), torch.zeros(())).view(shape) / count
    squares = ((x.double() - mean).square().sum(over) for x, _ in data.batches(chunk))
    deviation = (sum(squares, torch.zeros(())).view(shape) / count).sqrt()
    return mean.float(), torch.where(deviation > 0, deviation, 1.0).float()
