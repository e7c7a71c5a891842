"""The settings of a user's class or function: its parameters that have a default."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from engram.settings import Setting

_KINDS = (bool, int, float, str)


def settings_of(make: Callable[..., Any], but: tuple[str, ...] = ()) -> dict[str, Setting]:
    """A setting for each parameter whose default is true or false, a number, a text or several whole numbers."""
    found = {name: p.default for name, p in _parameters(make).items() if name not in but and _is_simple(p.default)}
    return {name: Setting(default, f"a parameter of {make.__name__}") for name, default in found.items()}


def takes(make: Callable[..., Any], name: str) -> bool:
    """Whether there is a parameter of this name."""
    return name in _parameters(make)


def needs(make: Callable[..., Any]) -> list[str]:
    """The parameters that have to be given, in order."""
    empty, several = inspect.Parameter.empty, (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [name for name, p in _parameters(make).items() if p.default is empty and p.kind not in several]


def _parameters(make: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(make).parameters)


def _is_simple(default: Any) -> bool:
    if isinstance(default, tuple):
        return all(type(part) is int for part in default)
    return type(default) in _KINDS
