"""What a page compares: topics (a stream each), on each of them methods, of each of them a run a seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from engram.metrics import LOWER_IS_BETTER
from engram.record import Record
from engram.reports.comparison import ComparedRow, Comparison
from engram.reports.sharing import varying
from engram.reports.summary import by_method, done
from engram.settings import shown
from engram.study import BY

LEVEL = 0.95  # of every interval on a page
MOST_TASKS, MOST_LINES = 20, 1000  # of one method, and of all together
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
    """Runs that differ only in their seeds. `mark` is its place among all labels of the page; a `floor` stands beside
    the others to be compared with."""

    label: str
    records: tuple[Record, ...]
    mark: int = 0
    floor: bool = False

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
            {**r.metrics(), "bytes": float(r.bytes["total"]), "flops": float(r.flops or math.nan), "seconds": r.seconds}
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
class MethodRow(ComparedRow):
    """A method beside others, whose metrics are computed once."""

    method: Method = field(kw_only=True)

    def by_seed(self, metric: str) -> dict[int, float]:
        pairs = zip(self.method.done, self.method.measured, strict=True)
        return {record.seed: own.get(metric, math.nan) for record, own in pairs}


@dataclass(frozen=True)
class Topic:
    """Everything that ran on one stream, compared `by` a metric, the best first."""

    name: str
    place: int
    methods: tuple[Method, ...]
    by: str = BY

    @property
    def records(self) -> list[Record]:
        return [record for method in self.methods for record in method.records]

    @property
    def finished(self) -> list[Method]:
        return [method for method in self.methods if method.done]

    @property
    def tasks(self) -> int:
        return max((len(record.rows) for record in self.records), default=0)

    @cached_property
    def shown(self) -> list[int]:
        """The tasks that figures have: all, or of a long stream some, so that the page stays small enough to send."""
        return evenly(self.tasks, min(MOST_TASKS, max(MOST_LINES // len(self.methods), 5)))

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """One for each way to read accuracies, which cannot be compared with each other."""
        heads = dict.fromkeys(method.first.head for method in self.methods)
        return [
            Comparison(
                tuple(MethodRow(m.label, m.records, m.floor, method=m) for m in self.methods if m.first.head == head),
                self.by,
            )
            for head in heads
        ]

    def method(self, label: str) -> Method:
        return next(method for method in self.methods if method.label == label)

    @cached_property
    def kinds(self) -> dict[str, str]:
        """By label: best, floor or nothing."""
        return {row.label: compared.kind(row) for compared in self.comparisons for row in compared.rows}


def evenly(count: int, most: int) -> list[int]:
    """Numbers from 0 up, all or some at even distances, the first and the last among them.

    >>> evenly(3, 20), evenly(100, 5)
    ([0, 1, 2], [0, 25, 50, 74, 99])
    """
    return list(range(count)) if count <= most else [round(k * (count - 1) / (most - 1)) for k in range(most)]


@dataclass(frozen=True)
class Names:
    """What runs are called by whoever asked for them, by their keys, and which of them are floors."""

    labels: Mapping[str, str] = field(default_factory=dict)
    floors: frozenset[str] = frozenset()


def topics(records: Sequence[Record], names: Names = Names(), by: str = BY) -> list[Topic]:
    """Streams in the order in which they came; a method has the same mark wherever it is."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(repr(_stream(record)), []).append(record)
    labelled = [_methods(group, names) for group in groups.values()]
    order = {label: place for place, label in enumerate(dict.fromkeys(m.label for ms in labelled for m in ms))}
    titles = _titles([group[0] for group in groups.values()])
    return [
        Topic(title, place, tuple(sorted((replace(m, mark=order[m.label]) for m in methods), key=_rank(by))), by)
        for place, (title, methods) in enumerate(zip(titles, labelled, strict=True), 1)
    ]


def _rank(by: str) -> Callable[[Method], tuple[bool, float]]:
    sign = 1 if by in LOWER_IS_BETTER else -1
    return lambda method: (math.isnan(method.mean(by)), sign * method.mean(by))


def _stream(record: Record) -> dict[str, Any]:
    return {"name": record.stream, **{n: v for n, v in record.stream_spec.items() if n != "seed"}}


def _titles(firsts: Sequence[Record]) -> list[str]:
    """Streams of one name are told apart by the options in which they differ."""
    asked = [{"tasks": r.stream_spec.get("tasks"), **r.stream_spec.get("options", {})} for r in firsts]
    return _told_apart([record.stream for record in firsts], asked)


def _methods(records: Sequence[Record], names: Names) -> list[Method]:
    """Methods of one name are told apart by the settings in which they differ."""
    groups = by_method(records)
    called = [names.labels.get(group[0].key, group[0].learner) for group in groups]
    labels = _told_apart(called, [_settings(group[0]) for group in groups])
    return [
        Method(label, tuple(group), floor=group[0].key in names.floors)
        for label, group in zip(labels, groups, strict=True)
    ]


def _settings(record: Record) -> dict[str, Any]:
    about = {"head": record.head, "protocol": record.protocol, "network": record.network, "evaluate": record.evaluate}
    return {**about, **record.settings, **record.beside}


def _told_apart(names: Sequence[str], settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names, and where several are the same, the settings of each that not all of them have."""
    found = []
    for name, own in zip(names, settings, strict=True):
        different = varying([other for called, other in zip(names, settings, strict=True) if called == name])
        found.append(" ".join([name, *(f"{key}={_text(value)}" for key, value in own.items() if key in different)]))
    return found


def _text(value: Any) -> str:
    """A value, or several to choose from."""
    return ",".join(map(shown, value)) if isinstance(value, list) else shown(value)
