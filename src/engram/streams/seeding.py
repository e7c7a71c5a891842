"""Random order that depends on a seed and a purpose and on nothing else."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import torch
from torch import Tensor

from engram.settings import Setting

SEED = Setting(0, "decides every random choice", at_least=0, at_most=2**63 - 1)


def shuffled(count: int, seed: int, *purpose: str | int) -> Tensor:
    """The numbers 0 … count - 1 in an order that belongs to this seed and this purpose.

    Sorts raw 64-bit words, because numpy promises that a bit generator's words never change from version to version,
    and promises nothing of the kind for its `permutation`, nor torch for its `randperm`.
    """
    return torch.from_numpy(np.argsort(_words(count, seed, *purpose), kind="stable"))


def drawn(count: int, below: int, seed: int, *purpose: str | int) -> Tensor:
    """So many numbers from 0 to below - 1, all as likely, that belong to this seed and this purpose."""
    return torch.from_numpy((_words(count, seed, *purpose) % np.uint64(below)).astype(np.int64))


def _words(count: int, seed: int, *purpose: str | int) -> np.ndarray[Any, np.dtype[np.uint64]]:
    key = hashlib.sha256(repr((seed, *purpose)).encode()).digest()
    return np.random.PCG64(int.from_bytes(key, "little")).random_raw(count)
