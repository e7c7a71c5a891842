"""Advice for the terminal and for a report: what was tried, what is recommended, and on what grounds."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from engram.advising import Advice
from engram.advising.trials import Trial
from engram.advising.verdict import Evidence, PastChoice
from engram.core import Cost, Row
from engram.metrics import spread
from engram.record import Record
from engram.reports.tables import plus_minus, print_mapping, print_wrapped, quantity
from engram.tree import this_machine

PROTOCOL = "sequential"
HEADER = ("method", "chosen by", "accuracy", "memory", "session", "a row", "remark")
HOW = (
    "Of every class of a session a fifth of the rows is held out to choose by and a fifth to judge by; each seed is "
    "another draw of them. What is recommended was chosen by the former; accuracies here are of the latter."
)
WORDS = (
    "chosen by: accuracy on rows held out for the choice, after the last session; accuracy: on other held-out rows, "
    "which no choice has seen, the mean over sessions; session and a row: seconds of learning one and of "
    "answering about one."
)


def print_advice(console: Console, advice: Advice, options: Sequence[str] = ()) -> None:
    """`options` are those of `engram learn` that say how files are read."""
    draws = len(advice.evidence[0].trials)
    lines = [dict(zip(HEADER, _line(advice, each), strict=True)) for each in advice.evidence]
    print_mapping(console, f"{len(advice.sessions)} sessions, {draws} draws of held-out rows", lines)
    print_wrapped(console, WORDS, "dim")
    print_wrapped(console, "")
    for past_choice in advice.past_choices:
        print_wrapped(console, _rehearsed(advice, past_choice))
    print_wrapped(console, "")
    print_wrapped(console, headline(advice), "bold")
    for verdict in advice.verdicts:
        print_wrapped(console, f"  {verdict}")
    if advice.recommended is not None:
        print_wrapped(console, f"to begin: {command(advice, options)}")


def headline(advice: Advice) -> str:
    known = advice.recommended
    if known is None:
        return "no recommendation"
    return (
        f"recommended: {known.label}, right on {known.score(advice.last):.1%} of held-out rows (mean over sessions), "
        f"in {quantity(known.bytes, 'B')}, with {known.seconds:.2g} s a session and {1000 * known.latency:.2g} ms a row"
    )


def command(advice: Advice, options: Sequence[str] = ()) -> str:
    """What makes the model that is recommended out of the sessions."""
    known = advice.recommended
    parameters = {} if known is None else dict(known.candidate.parameters)
    words = [
        "engram",
        "learn",
        "model.engram",
        *advice.sessions,
        *options,
        "--learner",
        parameters.pop("learner", "auto"),
    ]
    for name, value in parameters.items():
        words += ["--set", f"{name}={value}"]
    return shlex.join(words)


def _line(advice: Advice, each: Evidence) -> list[str]:
    remark = "floor" if each.candidate.floor else advice.too_much(each)
    remark = "recommended" if each is advice.recommended else remark
    score = spread(each.judged(advice.last).values())
    return [
        each.label,
        f"{each.past(advice.last):.3f}",
        plus_minus(score),
        quantity(each.bytes, "B"),
        f"{each.seconds:.2g} s",
        f"{1000 * each.latency:.2g} ms",
        remark,
    ]


def _rehearsed(advice: Advice, each: PastChoice) -> str:
    before = "the first session" if each.session == 1 else f"the first {each.session} sessions"
    found = f"by {before} {each.chosen} would have been chosen; after session {each.session + 1} it was right on "
    found += f"{each.score:.1%} of held-out rows (mean over sessions)"
    if each.best == each.chosen:
        return f"{found}, the most of all"
    return f"{found}, the best of all, {each.best}, on {each.best_score:.1%}"


def as_records(advice: Advice) -> tuple[list[Record], Mapping[str, str]]:
    """The trials as runs on one stream, for a report; and the label of each by its key."""
    found, labels = [], {}
    for each in advice.evidence:
        for trial in each.trials:
            found.append(_record(advice, each, trial))
            labels[found[-1].key] = each.label
    return found, labels


def _record(advice: Advice, each: Evidence, trial: Trial) -> Record:
    machine = this_machine()
    costs = [Cost({"total": size}, 0, seconds, "everything") for size, seconds in zip(trial.bytes, trial.seconds)]
    rows = tuple(
        Row(test, test, {}, {"single": validation}, {}, cost, "", machine=machine)
        for test, validation, cost in zip(trial.test, trial.validation, costs)
    )
    settings: dict[str, Any] = {name: v for name, v in each.candidate.parameters.items() if name != "learner"}
    words = json.dumps([advice.sessions, each.label, trial.seed, trial.test])
    return Record(
        stream=", ".join(advice.sessions),
        learner=each.candidate.parameters["learner"],
        network="mlp",
        settings=settings,
        protocol=PROTOCOL,
        head="single",
        seed=trial.seed,
        key=hashlib.sha256(words.encode()).hexdigest(),
        status="done",
        error=None,
        rows=rows,
        chosen=tuple(settings for _ in rows),
    )
