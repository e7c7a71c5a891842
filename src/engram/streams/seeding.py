"""Random order that depends on a seed and a purpose and on nothing else."""

from __future__ import annotations

import hashlib

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
    key = hashlib.sha256(repr((seed, *purpose)).encode()).digest()
    words = np.random.PCG64(int.from_bytes(key, "little")).random_raw(count)
    return torch.from_numpy(np.argsort(words, kind="stable"))
