"""Which settings were chosen, by which protocol, and how many trials that took; and those that were given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engram.reports.choices import choice_lines, offline_lines
from engram.reports.sharing import shared, varying
from engram.reports.tables import quantity, written
from engram.reports.web.methods import Method, Topic


@dataclass(frozen=True)
class ChosenBy:
    """What a protocol did for one method."""

    method: Method
    protocol: str
    trials: str
    lines: Sequence[str]


@dataclass(frozen=True)
class GivenSettings:
    """What all methods share, and what is each one's own."""

    common: str
    own: Sequence[tuple[Method, str]]


def chosen(topic: Topic) -> list[ChosenBy]:
    """Of every method for which there was something to choose."""
    lines = {m.label: [*choice_lines(m.records), *offline_lines(m.records)] for m in topic.finished}
    return [
        ChosenBy(method, method.first.marked_protocol, _trials(method), lines[method.label])
        for method in topic.finished
        if lines[method.label]
    ]


def _trials(method: Method) -> str:
    """Candidates that were tried, over all decisions and seeds, and what the search took beside what was kept."""
    tried = sum(len(decision["candidates"]) for record in method.done for decision in record.decisions)
    decisions = sum(len(record.decisions) for record in method.done)
    if not tried:
        return "none for its own settings"
    search = sum(record.search_flops or record.flops for record in method.done)
    kept = sum(record.flops for record in method.done)
    more = f"; {quantity(search, 'FLOP')} in all, {quantity(kept, 'FLOP')} on the path kept" if search > kept else ""
    return f"{tried} in {decisions} decisions over {len(method.done)} runs{more}"


def settings(topic: Topic) -> GivenSettings:
    each = [{"network": m.first.network, "head": m.first.head, **m.first.settings} for m in topic.methods]
    different = varying(each)
    own = [" ".join(f"{n}={written(v)}" for n, v in mine.items() if n in different) for mine in each]
    common = " ".join(f"{name}={written(value)}" for name, value in shared(each).items())
    return GivenSettings(common, list(zip(topic.methods, own, strict=True)))
