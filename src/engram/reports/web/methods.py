"""What a page compares: topics (a stream each), on each of them methods, of each of them a run a seed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from engram.record import Record
from engram.reports.listing import differing
from engram.reports.summary import by_method, done

LEVEL = 0.95  # of every interval on a page
COLOURS, SHAPES = 7, 4  # the style sheet has these colours; colour and shape together tell methods apart


@dataclass(frozen=True)
class MeanInterval:
    """A mean over seeds, and the interval that Student's t gives for it; nan where there is too little for one."""

    mean: float
    half: float
    n: int

    @property
    def low(self) -> float:
        return self.mean - self.half

    @property
    def high(self) -> float:
        return self.mean + self.half


def mean_interval(values: Iterable[float]) -> MeanInterval:
    """Of the values that are numbers.

    >>> mean_interval([0.5, 0.5, 0.5])
    MeanInterval(mean=0.5, half=0.0, n=3)
    """
    from scipy.special import stdtrit

    known = [value for value in values if not math.isnan(value)]
    n = len(known)
    mean = math.fsum(known) / n if n else math.nan
    if n < 2:
        return MeanInterval(mean, math.nan, n)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in known) / (n - 1))
    return MeanInterval(mean, float(stdtrit(n - 1, (1 + LEVEL) / 2)) * deviation / math.sqrt(n), n)


@dataclass(frozen=True)
class Method:
    """Runs that differ only in their seeds. `mark` is its place among all labels of the page."""

    label: str
    records: tuple[Record, ...]
    mark: int = 0

    @property
    def first(self) -> Record:
        return self.records[0]

    @cached_property
    def done(self) -> list[Record]:
        return done(self.records)

    @property
    def colour(self) -> int:
        return self.mark % COLOURS

    @property
    def shape(self) -> int:
        return self.mark // COLOURS % SHAPES

    @cached_property
    def measured(self) -> list[dict[str, float]]:
        """For each run that is done its metrics and its costs."""
        return [
            {**r.metrics(), "bytes": float(r.bytes["total"]), "flops": float(r.flops), "seconds": r.seconds}
            for r in self.done
        ]

    def estimate(self, metric: str) -> MeanInterval:
        return mean_interval(own.get(metric, math.nan) for own in self.measured)

    def mean(self, metric: str) -> float:
        return self.estimate(metric).mean

    @property
    def shortfall(self) -> str:
        """How many of its runs did not get to their end."""
        missing = [record.status for record in self.records if record.status != "done"]
        words = {status: missing.count(status) for status in dict.fromkeys(missing)}
        return ", ".join(f"{count} of {len(self.records)} {_word(status)}" for status, count in words.items())


def _word(status: str) -> str:
    return "not finished" if status == "pending" else status


@dataclass(frozen=True)
class Topic:
    """Everything that ran on one stream, the best first."""

    name: str
    place: int
    methods: tuple[Method, ...]

    @property
    def records(self) -> list[Record]:
        return [record for method in self.methods for record in method.records]

    @property
    def finished(self) -> list[Method]:
        return [method for method in self.methods if method.done]

    @property
    def tasks(self) -> int:
        return max((len(record.rows) for record in self.records), default=0)


def topics(records: Sequence[Record]) -> list[Topic]:
    """Streams in the order in which they came; a method has the same mark wherever it is."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(repr(_stream(record)), []).append(record)
    labelled = [_methods(group) for group in groups.values()]
    order = {label: place for place, label in enumerate(dict.fromkeys(m.label for ms in labelled for m in ms))}
    names = _names([group[0] for group in groups.values()])
    return [
        Topic(name, place, tuple(sorted((replace(m, mark=order[m.label]) for m in methods), key=_rank)))
        for place, (name, methods) in enumerate(zip(names, labelled, strict=True), 1)
    ]


def _rank(method: Method) -> tuple[bool, float]:
    mean = method.mean("average_accuracy")
    return (math.isnan(mean), -mean)


def _stream(record: Record) -> dict[str, Any]:
    return {"name": record.stream, **{n: v for n, v in record.stream_spec.items() if n != "seed"}}


def _names(firsts: Sequence[Record]) -> list[str]:
    """Streams of one name are told apart by the options in which they differ."""
    asked = [{"tasks": r.stream_spec.get("tasks"), **r.stream_spec.get("options", {})} for r in firsts]
    return _told_apart([record.stream for record in firsts], asked)


def _methods(records: Sequence[Record]) -> list[Method]:
    """Methods of one learner are told apart by the settings in which they differ."""
    groups = by_method(records)
    labels = _told_apart([group[0].learner for group in groups], [_settings(group[0]) for group in groups])
    return [Method(label, tuple(group)) for label, group in zip(labels, groups, strict=True)]


def _settings(record: Record) -> dict[str, Any]:
    about = {"head": record.head, "protocol": record.protocol, "network": record.network, "evaluate": record.evaluate}
    return {**about, **record.settings}


def _told_apart(names: Sequence[str], settings: Sequence[Mapping[str, Any]]) -> list[str]:
    found = list(names)
    for name in set(names):
        places = [place for place, other in enumerate(names) if other == name]
        for place, own in zip(places, differing([settings[place] for place in places]), strict=True):
            found[place] = f"{name} {own}".strip()
    return found
