"""Which training samples are held out for validation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from engram.errors import BadSetting
from engram.settings import Setting
from engram.streams.seeding import shuffled


@dataclass(frozen=True)
class Held(Setting):
    """A share below 1, or a whole number of samples."""

    def parse(self, name: str, value: Any) -> Any:
        value = super().parse(name, value)
        if value >= 1 and value != int(value):
            raise BadSetting(f"{name}={value} is neither a share below 1 nor a whole number of samples of every class")
        return value


SHARE = Held(
    0.1,
    "share of every class's training samples held out for validation; from 1 on, so many of every class",
    at_least=0,
)


def hold_out(rows: Mapping[int, Tensor], share: float, seed: int, task: int) -> tuple[Tensor, Tensor]:
    """The rows to train on and the rows to validate on, both ascending; `rows` maps each class to its rows.

    Every class gives the same share, rounded, or the same number; at least one sample and never its last. What a class
    gives depends on the seed, the task and the class only, so it does not change with the other classes of the task.
    """
    share = SHARE.parse("validation", share)
    kept, held = [], []
    for label, own in rows.items():
        count = _held_count(len(own), share)
        if count:
            own = own[shuffled(len(own), seed, "validation", task, label)]
        kept.append(own[: len(own) - count])
        held.append(own[len(own) - count :])
    return torch.cat(kept).sort().values, torch.cat(held).sort().values


def _held_count(samples: int, share: float) -> int:
    if share == 0 or samples < 2:
        return 0
    wanted = round(share * samples) if share < 1 else int(share)
    return min(max(1, wanted), samples - 1)
