"""Protocols: who may see what, and which settings are kept. One file per policy."""

from __future__ import annotations

from typing import Any

from engram.errors import UnknownName
from engram.protocols.measuring import Measuring, read_evaluate
from engram.protocols.policy import Decision, Kept, Outcome, Policy, Protocol, RunFailed, grid_of, outcome_of
from engram.protocols.prescient import Prescient
from engram.protocols.realistic import Realistic
from engram.protocols.selection import Choice, select_prescient, select_realistic
from engram.protocols.sequential import Sequential
from engram.protocols.stream_level import StreamLevel
from engram.protocols.task_level import TaskLevel

PROTOCOLS: dict[str, type[Protocol]] = {p.name: p for p in (Sequential, TaskLevel, StreamLevel, Realistic, Prescient)}

__all__ = [
    "PROTOCOLS",
    "Choice",
    "Decision",
    "Kept",
    "Measuring",
    "Outcome",
    "Policy",
    "Protocol",
    "RunFailed",
    "grid_of",
    "outcome_of",
    "protocol",
    "protocol_class",
    "read_evaluate",
    "select_prescient",
    "select_realistic",
]


def protocol_class(name: str) -> type[Protocol]:
    if name not in PROTOCOLS:
        raise UnknownName("protocol", name, PROTOCOLS)
    return PROTOCOLS[name]


def protocol(name: str, **settings: Any) -> Protocol:
    """A protocol with these settings of its own, the others at their defaults."""
    return protocol_class(name)(**settings)
