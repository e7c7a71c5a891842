"""What there is, as plain rows: what `engram list` prints."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from engram.core import Learner, Outline
from engram.settings import Setting, defaults


def _settings(known: Mapping[str, Setting]) -> dict[str, dict[str, Any]]:
    return {
        name: {"default": s.default, "help": s.help, "choices": list(s.choices) if s.choices else None}
        for name, s in known.items()
    }


def _help(thing: object) -> str:
    return (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ")


def explained_by(cls: type) -> object:
    """What says in its docstring what a learner does. Ours have a file each, which opens with it."""
    module = inspect.getmodule(cls)
    return module if module and module.__name__.startswith("engram.learners.") else cls


def _line(text: str) -> str:
    """The name of a method in words: what comes first, without papers.

    >>> _line("Synaptic intelligence (Zenke, Poole, Ganguli 2017): importance is what a parameter did for the loss.")
    'Synaptic intelligence'
    """
    return re.split(r"[:;,.](?:\s|$)", re.sub(r" \([^)]*\)", "", text))[0]


def _needs_task(name: str, cls: type[Learner]) -> bool:
    """As it is by default. Of some it depends on their settings, and then one that is made can say it."""
    if isinstance(cls.needs_task, bool):
        return cls.needs_task
    from engram.learners import create
    from engram.networks import Blueprint

    smallest = Blueprint.of("mlp", widths="2")
    return create(name, Outline((1, 8, 8), (0, 1)), 0, smallest, defaults(cls)).needs_task


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
        {
            "name": name,
            "also": also[name],
            "line": _line(_help(explained_by(cls))),
            "keeps": cls.keeps,
            "needs_task": _needs_task(name, cls),
            "help": _help(explained_by(cls)),
            "paper": cls.paper,
            "settings": _settings(declared(cls)),
        }
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
        {
            "name": p.name,
            "help": p.help,
            "validation": round(p.validation, 4),
            "warning": p().warning,
            "settings": _settings(declared(p)),
        }
        for p in PROTOCOLS.values()
    ]


def metrics() -> list[dict[str, Any]]:
    from engram.metrics import METRICS

    return [{"name": name, "help": text} for name, text in METRICS.items()]


def papers() -> list[dict[str, Any]]:
    from engram.papers import PAPERS

    return [
        {
            "name": paper.name,
            "help": paper.title,
            "tiers": list(paper.tiers),
            "experiments": list(dict.fromkeys(e.name for tier in paper.tiers for e in paper.experiments(tier, None))),
        }
        for paper in PAPERS.values()
    ]


LISTS: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "datasets": datasets,
    "streams": streams,
    "learners": learners,
    "networks": networks,
    "protocols": protocols,
    "metrics": metrics,
    "papers": papers,
}
