"""Protocols: who may see what, and which settings are kept. One file per policy."""

from __future__ import annotations

from engram.errors import UnknownName
from engram.protocols.policy import Outcome, Policy, Protocol, RunFailed, grid_of
from engram.protocols.selection import Choice, select_prescient, select_realistic
from engram.protocols.sequential import Sequential
from engram.protocols.stream_level import StreamLevel
from engram.protocols.task_level import TaskLevel

PROTOCOLS: dict[str, Protocol] = {p.name: p for p in (Sequential(), TaskLevel(), StreamLevel())}

__all__ = [
    "PROTOCOLS",
    "Choice",
    "Outcome",
    "Policy",
    "Protocol",
    "RunFailed",
    "grid_of",
    "protocol",
    "select_prescient",
    "select_realistic",
]


def protocol(name: str) -> Protocol:
    if name not in PROTOCOLS:
        raise UnknownName("protocol", name, PROTOCOLS)
    return PROTOCOLS[name]
