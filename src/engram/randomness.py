"""Randomness by name: one generator per purpose and place, derived from the seed, never the global one.

A generator is made where it is used, from the seed and what it is for (`generator(seed, "order", task, epoch)`), so
there is no generator state to save, and switching one component off shifts no other.
"""

from __future__ import annotations

import hashlib
import json

import torch


def derived_seed(seed: int, *purpose: str | int) -> int:
    """A 63-bit seed that depends on every word of the purpose."""
    digest = hashlib.sha256(json.dumps([seed, *purpose]).encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


def generator(seed: int, *purpose: str | int) -> torch.Generator:
    return torch.Generator().manual_seed(derived_seed(seed, *purpose))
