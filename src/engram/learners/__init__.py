"""Learners, one file each. Registry name = file name (with dashes) = command-line name.

The registry is the folder: a module here whose class has a `name` is a learner. Adding one touches one file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from engram import memory
from engram.core import Learner, Outline
from engram.errors import BadSetting
from engram.networks import Blueprint
from engram.own import Registry, in_folder
from engram.settings import Setting, declared, say_if_extreme


@cache
def _library() -> dict[str, type[Learner]]:
    """Those of this folder."""
    return in_folder(__name__, is_learner)


def is_learner(thing: Any) -> bool:
    return isinstance(thing, type) and issubclass(thing, Learner)


def _adopt(cls: type[Learner]) -> tuple[str, type[Learner]]:
    if not cls.name:
        raise BadSetting(f"the learner {cls.__name__} has no name; give it one, as in  name = '{cls.__name__.lower()}'")
    return cls.name, cls


ALIASES = {"pi": "si"}  # the path integral of Chaudhry et al. 2018
LEARNERS = Registry("learner", _library, is_learner, "subclass of engram.core.Learner", _adopt, ALIASES)


def learners() -> dict[str, type[Learner]]:
    """Every registered learner by name."""
    return LEARNERS.everything()


def learner_class(name: str) -> type[Learner]:
    return LEARNERS[name]


def learner_settings(name: str) -> dict[str, Setting]:
    return declared(learner_class(name))


def look_ahead(name: str, outline: Outline, network: Blueprint, grid: Sequence[Mapping[str, Any]]) -> None:
    """Before anything is built: refuse what takes more memory than there is, say what takes much or is hardly meant."""
    needed = max(learner_class(name).least_bytes(outline, network, settings) for settings in grid)
    sizes = f"{math.prod(outline.shape)} numbers a sample and {len(outline.classes)} classes"
    what = f"learner '{name}' with these settings, network '{network.name}', {sizes}"
    memory.require(needed, what, "choose smaller settings or smaller data")
    memory.say_if_large(needed, what)
    for settings in grid:  # of a rate that is too large the run itself will say so
        say_if_extreme(learner_settings(name), {key: value for key, value in settings.items() if key != "rate"})


def create(name: str, outline: Outline, seed: int, network: Blueprint, settings: Mapping[str, Any]) -> Learner:
    return learner_class(name)(outline, seed, network, **settings)
