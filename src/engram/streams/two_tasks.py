"""The twelve two-task streams of Pfülb et al. 2018, on any dataset of ten classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from engram.errors import BadSetting
from engram.streams import pair
from engram.streams.inputs import INPUTS
from engram.streams.plan import Kind, Plan
from engram.streams.source import Source

CLASSES = 10
# The classes of both tasks, one digit a class.
SPLITS = {
    "d5-5a": ("01234", "56789"),
    "d5-5b": ("02468", "13579"),
    "d5-5c": ("34689", "01257"),
    "d5-5d": ("02567", "13489"),
    "d5-5e": ("01345", "26789"),
    "d5-5f": ("03489", "12567"),
    "d5-5g": ("05678", "12349"),
    "d5-5h": ("02368", "14579"),
    "d9-1a": ("012345678", "9"),
    "d9-1b": ("123456789", "0"),
    "d9-1c": ("023456789", "1"),
}


def plan(fixed: Mapping[str, Any], name: str, sources: Sequence[Source], seed: int, options: Mapping[str, Any]) -> Plan:
    """The `pair` with these fixed options. They follow from the name, so the spec does not repeat them."""
    source = sources[0]
    if source.class_count != CLASSES:
        raise BadSetting(
            f"stream '{name}' needs a dataset of {CLASSES} classes, {source.name} has {source.class_count}; "
            "choose a dataset such as mnist or digits, or the stream 'pair'"
        )
    return replace(pair.plan(sources, seed, {**options, **fixed}), options=options)


def _kind(name: str, help: str, **fixed: Any) -> Kind:
    return Kind(
        name,
        1,
        f"{help} (Pfülb et al. 2018)",
        INPUTS,
        partial(plan, {"first": (), "second": (), "permuted": False, **fixed}, name),
    )


def _split(name: str, first: str, second: str) -> Kind:
    help = f"classes {' '.join(first)}, then {' '.join(second)}"
    return _kind(name, help, first=_classes(first), second=_classes(second))


def _classes(digits: str) -> tuple[int, ...]:
    return tuple(map(int, digits))


KINDS = {name: _split(name, *both) for name, both in SPLITS.items()} | {
    "dp10-10": _kind("dp10-10", "ten classes under one permutation, then under another", permuted=True)
}
