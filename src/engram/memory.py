"""How much memory may be asked for, and one sentence before anything that would take more is begun."""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import suppress
from pathlib import Path

from engram.errors import TooLarge
from engram.settings import Setting

INSIST = "ENGRAM_MAX_BYTES"
WORTH_A_WORD = 1 << 28
_TRIM_ABOVE, _MAP_ABOVE = -1, -3  # the numbers that mallopt knows them by
_CONTAINER = Path("/sys/fs/cgroup/memory.max")  # what a container may have, which is "max" outside of one
_UNKNOWN = 1 << 36
_INSISTED = Setting(0, "the most bytes that a dataset or a learner may take", at_least=1, at_most=10**24)


def machine_bytes() -> int:
    """The memory of this machine, or of the container that this process is in."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")] if hasattr(os, "sysconf") else [_UNKNOWN]
    with suppress(OSError, ValueError):
        found.append(int(_CONTAINER.read_text()))
    return min(found)


def keep_freed() -> None:
    """Ask this process's allocator (glibc) not to give memory back to the system after every step and take it again at
    the next: zeroing new pages was a tenth of a step of a convolutional network, and a third in large batches."""
    if sys.platform == "linux":
        import ctypes  # here, because `engram --help` does without

        with suppress(AttributeError):  # another C library
            ctypes.CDLL(None).mallopt(_MAP_ABOVE, 1 << 28)
            ctypes.CDLL(None).mallopt(_TRIM_ABOVE, 1 << 30)


def require(needed: int, what: str, way_out: str, most: int | None = None) -> None:
    """Refuse what needs more bytes than `most` or than the machine has, unless $ENGRAM_MAX_BYTES allows it."""
    insisted = os.environ.get(INSIST)
    if insisted is not None:
        allowed, whose = _INSISTED.parse(INSIST, insisted), f"{INSIST} allows"
    elif most is not None and most < machine_bytes():
        allowed, whose = most, "is allowed"
    else:
        allowed, whose = machine_bytes(), "this machine has"
    if needed > allowed:
        raise TooLarge(
            f"{what} would take at least {shown(needed)} of memory and {shown(allowed)} {whose}; "
            f"{way_out}, or set {INSIST}={needed} to insist"
        )


def say_if_large(needed: int, what: str) -> None:
    """A word about what is possible and takes a good deal."""
    if needed > WORTH_A_WORD:
        warnings.warn(f"{what} takes at least {shown(needed)} of memory in every worker process", stacklevel=3)


def shown(count: int) -> str:
    """Bytes as people say them.

    >>> shown(900), shown(89_800_000), shown(1_073_741_824), shown(2 * 10**15)
    ('0.9 kB', '89.8 MB', '1.07 GB', '2,000,000 GB')
    """
    for unit, size in (("GB", 10**9), ("MB", 10**6)):
        if count >= size:
            return f"{count / size:.3g} {unit}" if count < 1000 * size else f"{count / size:,.0f} {unit}"
    return f"{count / 1000:.3g} kB"
