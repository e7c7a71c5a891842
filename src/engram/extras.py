"""Packages that are needed for some things only: imported when they are, with the way out where they are not here."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from engram.errors import MissingPackage


def require(package: str, extra: str) -> None:
    """Say how to get an optional package, which the named extra of Engram brings, if it is not installed."""
    if importlib.util.find_spec(package) is None:
        raise MissingPackage(f"{package} is not installed; get it with: pip install 'engram[{extra}]'")


def need(module: str, extra: str) -> Any:
    """A module of an optional package."""
    require(module.split(".")[0], extra)
    return importlib.import_module(module)
