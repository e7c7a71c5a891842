"""Learners, one file each. Registry name = file name (with dashes) = command-line name.

The registry is the folder: a module here whose class has a `name` is a learner. Adding one touches one file.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from typing import Any

from engram.core import Learner, Outline
from engram.errors import UnknownName
from engram.networks import Blueprint
from engram.settings import Setting, declared


def learners() -> dict[str, type[Learner]]:
    """Every registered learner by name."""
    return dict(sorted((_own() | REGISTERED).items()))


@cache
def _own() -> dict[str, type[Learner]]:
    """Those of this folder."""
    found: dict[str, type[Learner]] = {}
    for module in pkgutil.iter_modules(__path__):
        for value in vars(importlib.import_module(f"{__name__}.{module.name}")).values():
            if isinstance(value, type) and issubclass(value, Learner) and value.name:
                found[value.name] = value
    return found


REGISTERED: dict[str, type[Learner]] = {}


def register(cls: type[Learner]) -> type[Learner]:
    """Make a learner of one's own known by its name, in this process."""
    REGISTERED[cls.name] = cls
    return cls


def learner_class(name: str) -> type[Learner]:
    known = learners()
    if name not in known:
        raise UnknownName("learner", name, known)
    return known[name]


def learner_settings(name: str) -> dict[str, Setting]:
    return declared(learner_class(name))


def create(name: str, outline: Outline, seed: int, network: Blueprint, settings: Mapping[str, Any]) -> Learner:
    return learner_class(name)(outline, seed, network, **settings)
