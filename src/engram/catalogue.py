"""What there is, as plain rows: what `engram list` prints."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from engram.settings import Setting


def _settings(known: Mapping[str, Setting]) -> dict[str, dict[str, Any]]:
    return {
        name: {"default": s.default, "help": s.help, "choices": list(s.choices) if s.choices else None}
        for name, s in known.items()
    }


def _help(cls: object) -> str:
    return (inspect.getdoc(cls) or "").split("\n\n")[0].replace("\n", " ")


def _method(cls: type) -> str:
    """What a learner does. Ours have a file each, which opens with it."""
    module = inspect.getmodule(cls)
    return _help(module if module and module.__name__.startswith("engram.learners.") else cls)


def datasets() -> list[dict[str, Any]]:
    from engram import datasets as package

    return [package.describe(name) for name in package.names()]


def streams() -> list[dict[str, Any]]:
    from engram.streams import kinds

    return [
        {"name": kind.name, "version": kind.version, "help": kind.help, "settings": _settings(kind.options)}
        for kind in kinds().values()
    ]


def learners() -> list[dict[str, Any]]:
    from engram.learners import ALIASES
    from engram.learners import learners as registered
    from engram.settings import declared

    also = {name: [alias for alias, proper in ALIASES.items() if proper == name] for name in registered()}
    return [
        {"name": name, "also": also[name], "help": _method(cls), "settings": _settings(declared(cls))}
        for name, cls in registered().items()
    ]


def networks() -> list[dict[str, Any]]:
    from engram.networks import NETWORKS
    from engram.settings import declared

    return [
        {"name": name, "help": _help(cls), "settings": _settings(declared(cls))}
        for name, cls in NETWORKS.everything().items()
    ]


def protocols() -> list[dict[str, Any]]:
    from engram.protocols import PROTOCOLS
    from engram.settings import declared

    return [
        {"name": p.name, "help": p.help, "validation": round(p.validation, 4), "settings": _settings(declared(p))}
        for p in PROTOCOLS.values()
    ]


def metrics() -> list[dict[str, Any]]:
    from engram.metrics import METRICS

    return [{"name": name, "help": text} for name, text in METRICS.items()]


def papers() -> list[dict[str, Any]]:
    from engram.papers import PAPERS

    return [{"name": paper.name, "help": paper.title} for paper in PAPERS.values()]


LISTS: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "datasets": datasets,
    "streams": streams,
    "learners": learners,
    "networks": networks,
    "protocols": protocols,
    "metrics": metrics,
    "papers": papers,
}
