"""A registry that is a folder: what the modules of a package define, by name."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any


def in_folder(package: str, fits: Callable[[Any], bool]) -> dict[str, Any]:
    """What the modules of a package have at their top level that `fits` and has a name."""
    path = importlib.import_module(package).__path__
    modules = [importlib.import_module(f"{package}.{module.name}") for module in pkgutil.iter_modules(path)]
    found = [value for module in modules for value in vars(module).values() if fits(value)]
    return {value.name: value for value in found if value.name}
