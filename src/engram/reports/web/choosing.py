"""Which settings were chosen, by which protocol, and how many trials that took; and those that were given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from engram.record import Record
from engram.reports.choices import choice_lines, offline_lines
from engram.reports.sharing import shared, varying
from engram.reports.tables import quantity, written
from engram.reports.web.methods import Method, Topic
from engram.reports.words import count


@dataclass(frozen=True)
class ChosenBy:
    """What a protocol did for one method; without a method: for the offline models, which all of them share."""

    method: Method | None
    protocol: str
    trials: str
    lines: Sequence[str]


@dataclass(frozen=True)
class GivenSettings:
    """What all methods share, and what is each one's own."""

    common: str
    own: Sequence[tuple[Method, str]]


def chosen(topic: Topic) -> list[ChosenBy]:
    """Of every method for which there was something to choose, and of the offline models."""
    own = [
        ChosenBy(method, method.first.marked_protocol, _trials(method.done), lines)
        for method in topic.finished
        if (lines := choice_lines([replace(record, ideals=None) for record in method.done]))
    ]
    return [*own, *_offline(topic)]


def _offline(topic: Topic) -> list[ChosenBy]:
    with_ideals = next((m.done for m in topic.finished if m.done[0].ideals is not None), [])
    if not with_ideals:
        return []
    records = [replace(r, decisions=r.ideals.decisions, ideals=None) for r in with_ideals if r.ideals is not None]
    lines = [*choice_lines(records), *offline_lines(with_ideals)]
    return [ChosenBy(None, "validation data of their own", _trials(records, False), lines)]


def _trials(records: Sequence[Record], with_costs: bool = True) -> str:
    """Candidates that were tried, over all decisions and seeds, and what the search took beside what was kept."""
    tried = sum(len(decision["candidates"]) for record in records for decision in record.decisions)
    decisions = sum(len(record.decisions) for record in records)
    search, kept = (sum(costs) for costs in zip(*((r.search_flops or r.flops, r.flops) for r in records), strict=True))
    told = f"{tried} in {count(decisions, 'decision')} over {count(len(records), 'run')}"
    if not with_costs or search <= kept:
        return told
    return f"{told}; {quantity(search, 'FLOP')} in all, {quantity(kept, 'FLOP')} on the path kept"


def settings(topic: Topic) -> GivenSettings:
    each = [{"network": m.first.network, "head": m.first.head, **m.first.settings} for m in topic.methods]
    different = varying(each)
    own = [" ".join(f"{n}={written(v)}" for n, v in mine.items() if n in different) for mine in each]
    common = " ".join(f"{name}={written(value)}" for name, value in shared(each).items())
    return GivenSettings(common, list(zip(topic.methods, own, strict=True)))
