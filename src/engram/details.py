"""One thing of the catalogue in full, as `engram list learners ewc` shows it; all of it is declared where it is."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Any

from engram.catalogue import LISTS, explained_by
from engram.errors import UnknownName
from engram.reports.tables import written

REFERENCES = ("intransigence", "transfer")


def detail(what: str, name: str) -> dict[str, Any]:
    """The row of a name or of one of its aliases, with what its docstring says and a command that uses it."""
    rows = {alias: row for row in LISTS[what]() for alias in (row["name"], *row.get("also", ()))}
    if name not in rows:
        raise UnknownName(what.removesuffix("s"), name, rows)
    row = rows[name]
    if "settings" in row:
        row = {**row, "settings": _own_first(row, [*rows.values()])}
    return {**row, "about": _paragraphs(what, row), "example": _example(what, row)}


def _paragraphs(what: str, row: Mapping[str, Any]) -> list[str]:
    """Those of the docstring, without its examples and without what the row's own line says."""
    if what == "papers":
        return [*_experiments(row["name"]), *_tiers(row["name"])]
    text = re.sub(r"\n *>>>.*?(?=\n\n|\Z)", "", inspect.getdoc(_thing(what, row["name"])) or "", flags=re.S)
    parts = [part.strip("\n") for part in text.split("\n\n") if part.strip()]
    return parts[1:] if parts and " ".join(parts[0].split()) == row.get("help") else parts


def _experiments(name: str) -> list[str]:
    """Its tables and figures, each with its title, and where the whole paper is without it."""
    from engram.papers import PAPERS

    found = {tier: {e.name: e for e in PAPERS[name].experiments(tier, None)} for tier in PAPERS[name].tiers}
    titles = {e.name: e.title for each in found.values() for e in each.values()}
    alone = {each: [tier for tier in found if each in found[tier] and found[tier][each].ours] for each in titles}
    where = {each: "" if len(tiers) == len(found) else f" at {', '.join(tiers)}" for each, tiers in alone.items()}
    apart = {each: f" (by its name alone{where[each]})" if alone[each] else "" for each in titles}
    return ["\n".join(f"- {each}: {title}{apart[each]}" for each, title in titles.items())]


def _tiers(name: str) -> list[str]:
    """What each means, as its page says it first."""
    from engram.papers import PAPERS

    about = {tier: PAPERS[name].caveats(tier, None) for tier in PAPERS[name].tiers}
    found = (re.match(r"The tier `.*?\.(?= [A-Z]|$)", text) for text in about.values())
    return [sentence[0] for sentence in found if sentence]


def _thing(what: str, name: str) -> object:
    """What has the docstring: a module where there is one for the thing, else a class or a function."""
    from engram import metrics
    from engram.learners import learners
    from engram.networks import NETWORKS
    from engram.protocols import PROTOCOLS
    from engram.streams import kinds

    if what == "learners":
        return explained_by(learners()[name])
    if what == "streams":
        plan = kinds()[name].plan
        return inspect.getmodule(getattr(plan, "func", plan))
    if what == "networks":
        return NETWORKS.everything()[name]
    if what == "protocols":
        return inspect.getmodule(PROTOCOLS[name])
    return getattr(metrics, name, None) if what == "metrics" else None


def _own_first(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The fewer others have a setting, the earlier it comes."""
    owners = {name: sum(name in other["settings"] for other in rows) for name in row["settings"]}
    return dict(sorted(row["settings"].items(), key=lambda item: owners[item[0]]))


def _example(what: str, row: Mapping[str, Any]) -> str:
    name = row["name"]
    return {
        "learners": lambda: f"engram run split-digits --learner {name}{_a_setting(row)}",
        "streams": lambda: f"engram run {_stream(name)} --learner finetune",
        "datasets": lambda: f"engram run split-{name} --learner finetune",
        "networks": lambda: f"engram run split-mnist --learner finetune --network {name}{_a_setting(row)}",
        "protocols": lambda: f"engram run {_for_protocol(name)} --protocol {name}",
        "metrics": lambda: " ".join(["engram run split-digits --learner finetune", *_demands(name), "--json"]),
        "papers": lambda: f"engram paper {name} --tier quick",
    }[what]()


def _a_setting(row: Mapping[str, Any]) -> str:
    """The first of its own that is a number, as it is by default."""
    own = {name: about for name, about in row["settings"].items() if about["choices"] is None}
    numbers = [name for name, about in own.items() if type(about["default"]) in (int, float)]
    chosen = "strength" if "strength" in own else next(iter(numbers), None)
    return f" --set {chosen}={written(own[chosen]['default'])}" if chosen else ""


def _stream(name: str) -> str:
    from engram.streams import kinds

    kind = kinds()[name]
    if kind.choose is not None:
        return name
    return f"{name}-digits+blobs" if kind.many else f"{name}-digits"


def _for_protocol(name: str) -> str:
    from engram.protocols import PROTOCOLS
    from engram.protocols.two_tasks import TwoTasks

    if issubclass(PROTOCOLS[name], TwoTasks):
        return "d9-1a-digits --learner finetune --set iterations=200 --set widths=20,40"
    return "split-digits --learner ewc" + (" --set strength=10,100" if PROTOCOLS[name].selects else "")


def _demands(name: str) -> list[str]:
    """What has to be asked for so that a metric is defined."""
    if name.startswith("omega"):
        return ["--offline", "seen" if "fair" in name else "base"]
    if name == "lca":
        return ["--curve", "0-1-2-3-4-5"]
    return ["--references"] if name in REFERENCES else []
