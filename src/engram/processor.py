"""Which processor this is: two that both have AVX-512 were seen to round the same training differently."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from functools import cache
from pathlib import Path

_LISTED = Path("/proc/cpuinfo")  # on Linux
_LIMITS = ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA")  # by which oneDNN is told to use fewer instructions


@cache
def processor() -> str:
    """Its maker, family and model, with a limit that oneDNN was given; empty where nothing is known."""
    found = _on_linux() or platform.processor()
    limits = [os.environ[name] for name in _LIMITS if os.environ.get(name)]
    return ", ".join(filter(None, [found, *(f"oneDNN up to {limit}" for limit in limits[:1])]))


def _on_linux() -> str:
    """As the kernel lists the first one."""
    facts: dict[str, str] = {}
    with suppress(OSError):
        first = _LISTED.read_text(encoding="utf-8", errors="replace").split("\n\n")[0]
        parts = (line.partition(":") for line in first.splitlines())
        facts = {name.strip(): value.strip() for name, _, value in parts}
    names = ("vendor_id", "cpu family", "model") if "vendor_id" in facts else ("CPU implementer", "CPU part")
    return " ".join(facts[name] for name in names if name in facts)
