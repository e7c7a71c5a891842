"""Settings, declared once where they are used: name, default, what is allowed, one line of help.

A class declares them as attributes and reads them as plain values:

    class Learner:
        rate = setting(1e-3, "size of a step", above=0)

`declared(Learner)` lists them, `resolve` turns what a user wrote into checked values, and the command line, the
documentation and the keys of the tree all read the same declarations.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engram.errors import BadSetting, UnknownName

MOST_WHOLE = 10**9  # of a whole number that declares no limit: products of two of them still fit into 64 bits
MOST_REAL = 3.4e38  # of any other number: beyond it float32 has only infinity
WORTH_A_WORD = 1e12  # a number that hardly anybody means


@dataclass(frozen=True)
class Setting:
    """One declared setting. `late` says that it has no effect before the second task, so that nodes of the first
    task are shared by all its values; `lasting` that what is kept depends on it, so that it stays for all tasks;
    `limit` that it may refuse a lesson and changes nothing of one, so that keys of nodes are without it; `revised` has
    values that came to mean something else, and how often: part of the keys of nodes and runs."""

    default: Any
    help: str
    choices: tuple[Any, ...] | None = None
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    below: float | None = None
    late: bool = False
    lasting: bool = False
    limit: bool = False
    revised: tuple[tuple[Any, int], ...] = ()
    several: bool = False  # a tuple of such values, each of the kind of the first default

    def parse(self, name: str, value: Any) -> Any:
        """The checked value of `value`, which may be text from a command line."""
        if self.several:
            return self._parse_each(name, value)
        value = self._convert(name, value)
        if self.choices is not None and value not in self.choices:
            raise BadSetting(f"{name}={value!r} is not possible; choose one of: {', '.join(map(str, self.choices))}")
        for part in value if isinstance(value, tuple) else (value,):
            self._check_range(name, part)
        return value

    def _parse_each(self, name: str, values: Any) -> tuple[Any, ...]:
        one = replace(self, default=self.default[0], several=False)
        listed = values if isinstance(values, (list, tuple)) else [values]
        if not listed:
            raise BadSetting(f"{name} has no values to choose from; give at least one")
        return tuple(dict.fromkeys(one.parse(name, value) for value in listed))

    def _convert(self, name: str, value: Any) -> Any:
        try:
            return _CONVERT[type(self.default)](value)
        except (ValueError, TypeError, OverflowError):
            kind, given = _KINDS[type(self.default)], repr(value)
            if isinstance(value, (list, tuple)) and len(value) > 1:
                kind, given = f"one value, which is {kind}", ",".join(map(str, value))
            raise BadSetting(f"{name}={given} is not {kind}; for example {name}={shown(self.default)}") from None

    def _check_range(self, name: str, value: Any) -> None:
        if not isinstance(value, (int, float)):
            return
        limits = (
            (self.at_least, lambda v, b: v >= b, "at least"),
            (self.above, lambda v, b: v > b, "above"),
            (self._most(value), lambda v, b: v <= b, "at most"),
            (self.below, lambda v, b: v < b, "below"),
        )
        for bound, holds, words in limits:
            if bound is not None and not holds(value, bound):
                raise BadSetting(f"{name}={value} is out of range; it must be {words} {bound:g}")

    def _most(self, value: float) -> float | None:
        """Every number has an upper limit, so that none overflows on its way."""
        if self.at_most is not None:
            return self.at_most
        return MOST_WHOLE if isinstance(value, int) else MOST_REAL


def setting(default: Any, help: str, **limits: Any) -> Any:
    """Declare a setting in a class body. Typed `Any`, because instances hold the value itself."""
    return Setting(default, help, **limits)


def declared(owner: type) -> dict[str, Setting]:
    """All settings that a class declares or inherits, base classes first, with those of the `parts` that a class says
    it is made of. A later attribute that is no setting withdraws one."""
    found: dict[str, Setting] = {}
    for cls in reversed(owner.__mro__):
        for part in vars(cls).get("parts", ()):
            found |= declared(part)
        for name, value in vars(cls).items():
            if isinstance(value, Setting):
                found[name] = value
            elif name in found:
                del found[name]
    return found


def revised(known: Mapping[str, Setting], values: Mapping[str, Any]) -> dict[str, int]:
    """Which of these values came to mean something else, with how often they did."""
    times = {f"{name} revised": dict(each.revised).get(values.get(name)) for name, each in known.items()}
    return {name: often for name, often in times.items() if often}


def defaults(owner: type) -> dict[str, Any]:
    """What the settings of a class are where nobody says otherwise."""
    return {name: each.default for name, each in declared(owner).items()}


def resolve(kind: str, settings: Mapping[str, Setting], given: Mapping[str, Any]) -> dict[str, Any]:
    """Every setting with its value, defaults filled in. `kind` names the owner in an error ("learner 'ewc'")."""
    for name in given:
        if name not in settings:
            raise UnknownName(f"setting of {kind} called", name, settings)
    return {name: s.parse(name, given[name]) if name in given else s.default for name, s in settings.items()}


def say_if_extreme(settings: Mapping[str, Setting], values: Mapping[str, Any]) -> None:
    """A word about numbers that are possible and hardly meant."""
    for name, value in values.items():
        if isinstance(value, float) and abs(value) > WORTH_A_WORD:
            warnings.warn(f"{name}={value:g} is very large; its default is {settings[name].default:g}", stacklevel=3)


def apply(owner: Any, values: Mapping[str, Any]) -> None:
    """Make resolved settings plain attributes of an instance."""
    for name, value in values.items():
        setattr(owner, name, value)


def shown(value: Any) -> str:
    """A value as it is written on a command line.

    >>> shown((256, 256)), shown(True), shown(10.0), shown(1e-3)
    ('256-256', 'true', '10', '0.001')
    """
    if isinstance(value, tuple):
        return "-".join(map(shown, value))
    return str(value).lower() if isinstance(value, bool) else str(value).removesuffix(".0")


def _boolean(value: Any) -> bool:
    words = {"true": True, "yes": True, "1": True, "on": True, "false": False, "no": False, "0": False, "off": False}
    if isinstance(value, bool):
        return value
    if str(value).lower() not in words:
        raise ValueError(value)
    return words[str(value).lower()]


def _whole(value: Any) -> int:
    if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
        raise ValueError(value)
    return int(value)


def _real(value: Any) -> float:
    number = float(value)
    if isinstance(value, bool) or not math.isfinite(number):
        raise ValueError(value)
    return number


def _wholes(value: Any) -> tuple[int, ...]:
    """Several whole numbers: 256-256, (256, 256) or a single one."""
    if isinstance(value, str):
        return tuple(_whole(part) for part in value.split("-") if part)
    if isinstance(value, Sequence):
        return tuple(_whole(part) for part in value)
    return (_whole(value),)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


_CONVERT = {bool: _boolean, int: _whole, float: _real, tuple: _wholes, str: _text}
_KINDS = {bool: "true or false", int: "a whole number", float: "a number", tuple: "whole numbers", str: "text"}
