"""Devices: where networks are and compute."""

from __future__ import annotations

import warnings

import torch

from engram.errors import BadSetting


def devices() -> list[str]:
    """Those of this machine."""
    kind = torch.accelerator.current_accelerator(check_available=True)
    return ["cpu", *(f"{kind}:{number}" for number in range(torch.accelerator.device_count() if kind else 0))]


def find_device(name: str) -> str:
    """The name of a device of this machine, as it is in keys: the first of a kind is meant where no number is given.
    "auto" is the first that is not the CPU, where there is one.

    >>> find_device("cpu")
    'cpu'
    """
    known = devices()
    if name == "auto":
        if len(known) == 1:
            warnings.warn("torch finds no GPU on this machine: device auto is the CPU", stacklevel=2)
        return known[:2][-1]
    found = next((device for device in known if name in (device, device.removesuffix(":0"))), None)
    if found is None:
        raise BadSetting(f"there is no device {name!r} on this machine; use one of: {', '.join(known)}, or auto")
    return found
