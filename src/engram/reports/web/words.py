"""What was asked and how it was done, in sentences."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from engram.learners import LEARNERS
from engram.protocols import protocol_class
from engram.record import Record
from engram.reports.tables import HEADS
from engram.reports.web.methods import LEVEL, Topic
from engram.reports.words import count
from engram.settings import shown
from engram.streams import kinds

Specs = Mapping[str, Mapping[str, Any]]  # what was asked for, by the key of the run


def title(topics: Sequence[Topic]) -> str:
    return f"{_who(topics)} on {listed([topic.name for topic in topics], 3)}"


def _who(topics: Sequence[Topic]) -> str:
    labels = list(dict.fromkeys(method.label for topic in topics for method in topic.methods))
    return f"{len(labels)} learners" if len(labels) > 3 else listed(labels)


def question(topics: Sequence[Topic]) -> str:
    learners = {method.label for topic in topics for method in topic.methods}
    tasks = sorted({topic.tasks for topic in topics})
    what = count(tasks[0], "task") if len(tasks) == 1 else f"{tasks[0]} to {tasks[-1]} tasks"
    verb, whom = ("do", "them") if len(learners) > 1 else ("does", "it")
    return f"What {verb} {_who(topics)} keep of {what} learned one after another, and what does that cost {whom}?"


def protocol_words(topic: Topic, specs: Specs, protocol: str = "") -> list[tuple[str, list[str]]]:
    """The stream, who chose what by which data, how accuracies are read, and what is repeated."""
    records = topic.records
    named = [_protocol(name, records) for name in dict.fromkeys(r.protocol for r in records)]
    protocols = [protocol] if protocol else [*named, *_held_out(records, specs)]
    heads = [f"{HEADS[head][0].upper()}{HEADS[head][1:]}.{_whose(topic, head)}" for head in _heads(records)]
    return [
        ("Stream", [_stream(topic)]),
        ("Protocol", protocols),
        ("Reading", [*heads, *_thinned(records)]),
        ("Seeds", [_seeds(records)]),
    ]


def _stream(topic: Topic) -> str:
    spec = topic.records[0].stream_spec
    kind = kinds().get(spec.get("kind", ""))
    about = f": {kind.help}" if kind else ""
    usual = kind.options if kind else {}
    own = {n: v for n, v in spec.get("options", {}).items() if n in usual and v != usual[n].default}
    others = f"; {', '.join(f'{name}={shown(value)}' for name, value in own.items())}" if own else ""
    return f"{count(topic.tasks, 'task')}{about}{others}."


def _protocol(name: str, records: Sequence[Record]) -> str:
    own = next(record for record in records if record.protocol == name)
    mark = f" * {own.warning[0].upper()}{own.warning[1:]}." if own.warning else ""
    return f"{name}: {protocol_class(name).help}.{mark}"


def _heads(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(record.head for record in records))


def _whose(topic: Topic, head: str) -> str:
    """Which methods are read in this way, where not all are."""
    if len(_heads(topic.records)) == 1:
        return ""
    return f" So read: {listed([m.label for m in topic.methods if m.first.head == head])}."


def _held_out(records: Sequence[Record], specs: Specs) -> list[str]:
    shares = {specs[record.key]["validation"] for record in records if record.key in specs}
    held = listed([_of_a_class(share) for share in sorted(shares) if share] or [""])
    known = LEARNERS.everything()
    users = {r.learner for r in records if r.learner in known and known[r.learner].uses_validation(r.settings)}
    found = [f"{_also(users)} validation data while learning, {held or 'which the stream has'}."] if users else []
    if held and not users:
        found = [f"Where data is held out to choose by, it is {held}."]
    return found


def _of_a_class(share: float) -> str:
    if share < 1:
        return f"{100 * share:.3g} % of every class's training data"
    return f"{count(int(share), 'training sample')} of every class"


def _also(users: Collection[str]) -> str:
    return f"{listed(sorted(users))} {'uses' if len(users) == 1 else 'use'}"


def _thinned(records: Sequence[Record]) -> list[str]:
    when = [name for name in dict.fromkeys(record.evaluate for record in records) if name != "all"]
    return [f"Not everything was measured after every task: {listed(when)}."] if when else []


def _seeds(records: Sequence[Record]) -> str:
    seeds = sorted({record.seed for record in records})
    if len(seeds) == 1:
        return f"One ({seeds[0]}): nothing says how much of a difference is luck, and there are no intervals."
    named = listed(list(map(str, seeds)), 12)
    return (
        f"{len(seeds)} ({named}). Intervals are {100 * LEVEL:.0f} % intervals of the mean over seeds (Student's t), "
        "one learner at a time."
    )


def listed(names: Sequence[str], most: int = 99) -> str:
    """
    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"]), listed(["a", "b", "c"], 2)
    ('a', 'a and b', 'a, b and c', 'a, b and 1 more')
    """
    shown = list(names) if len(names) <= most else [*names[:most], f"{len(names) - most} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
