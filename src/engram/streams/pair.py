"""Two tasks: two sets of classes, or all classes under two permutations (Pfülb & Gepperth 2019: D5-5, DP10-10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engram.errors import BadSetting
from engram.settings import Setting
from engram.streams.inputs import INPUTS
from engram.streams.permuted import permuted_part
from engram.streams.plan import Kind, Part, Plan, title
from engram.streams.source import Source
from engram.streams.split import even_sizes


def plan(sources: Sequence[Source], seed: int, options: Mapping[str, Any]) -> Plan:
    """Two parts. A class set that is not given is what the other one leaves."""
    source = sources[0]
    if options["permuted"]:
        return Plan(_permuted(source, options), options)
    sets = _complete(source, options["first"], options["second"])
    _check(source, *sets)
    parts = tuple(Part(title(source.name, classes), source, classes) for classes in sets)
    return Plan(parts, {**options, "first": sets[0], "second": sets[1]})


def _permuted(source: Source, options: Mapping[str, Any]) -> tuple[Part, ...]:
    for name in ("first", "second"):
        if options[name]:
            raise BadSetting(f"{name}={_show(options[name])} has no effect with permuted=true; leave one of them out")
    return permuted_part(source, 0), permuted_part(source, 1)


def _complete(
    source: Source, first: tuple[int, ...], second: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    everything = range(source.class_count)
    if not first and not second:
        half = even_sizes(source, 2)[0]
        return tuple(everything[:half]), tuple(everything[half:])
    if not first:
        return tuple(c for c in everything if c not in second), second
    return first, second or tuple(c for c in everything if c not in first)


def _check(source: Source, first: tuple[int, ...], second: tuple[int, ...]) -> None:
    for name, classes in (("first", first), ("second", second)):
        _check_set(source, name, classes)
    both = sorted(set(first) & set(second))
    if both:
        raise BadSetting(f"first and second share the classes {_show(both)}; every class may be in one of them only")


def _check_set(source: Source, name: str, classes: tuple[int, ...]) -> None:
    if not classes:
        raise BadSetting(f"{name} has no classes, because the other task takes all {source.class_count}; give it fewer")
    beyond = [c for c in classes if c >= source.class_count]
    if beyond:
        raise BadSetting(
            f"{name}={_show(classes)} names classes that {source.name} does not have: {_show(beyond)}; "
            f"its classes are 0 to {source.class_count - 1}"
        )
    if len(set(classes)) < len(classes):
        raise BadSetting(f"{name}={_show(classes)} names a class twice; give every class once")


def _show(classes: Sequence[int]) -> str:
    return "-".join(map(str, classes))


KIND = Kind(
    name="pair",
    version=1,
    help="two tasks: two sets of classes, or all classes under two permutations",
    options={
        "first": Setting((), "classes of the first task, for example 0-1-2-3-4 (default: the first half)", at_least=0),
        "second": Setting((), "classes of the second task (default: those not in the first)", at_least=0),
        "permuted": Setting(False, "both tasks have all classes, each under a permutation of its own"),
        **INPUTS,
    },
    plan=plan,
)
