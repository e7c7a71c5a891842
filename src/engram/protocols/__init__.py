"""Protocols: who may see what, and which settings are kept. One file per policy.

The registry is the folder: a `Protocol` here that has a `name` is one.
"""

from __future__ import annotations

from typing import Any

from engram.errors import UnknownName
from engram.own import in_folder
from engram.protocols.measuring import Measuring, read_evaluate
from engram.protocols.policy import Decision, Kept, Outcome, Policy, Protocol, RunFailed, grid_of, outcome_of
from engram.protocols.selection import Choice, select_prescient, select_realistic

PROTOCOLS: dict[str, type[Protocol]] = in_folder(
    __name__, lambda value: isinstance(value, type) and issubclass(value, Protocol)
)

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
