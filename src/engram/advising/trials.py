"""Trials: a model learns one session after another, and after each of them is asked about rows that it never saw."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from engram.advising.candidates import Tryout
from engram.errors import BadData
from engram.estimator import own_files
from engram.estimator.classifier import ContinualClassifier
from engram.estimator.describing import kept_bytes
from engram.readers import Sheet, read
from engram.readers.sheet import IDLE, has_numbers_as_text
from engram.streams.doubts import say_if_in_earlier
from engram.streams.files import held_out

VALIDATION, TEST = 0.2, 0.2  # of every class of a session: what is chosen by, and what is judged by
ASKED = 30  # single rows that are timed


class Parts(NamedTuple):
    """The rows of a session: to learn, to choose by, to judge by."""

    train: Sheet
    validation: Sheet
    test: Sheet


@dataclass(frozen=True)
class Trial:
    """What one candidate did with one draw of the rows. After session k: `validation[k]` and `test[k]` are accuracies
    on each session up to it, `bytes[k]` what it keeps, `seconds[k]` what learning that session took; `latency` is the
    time of an answer about one row, in the end."""

    seed: int
    validation: tuple[tuple[float, ...], ...]
    test: tuple[tuple[float, ...], ...]
    bytes: tuple[int, ...]
    seconds: tuple[float, ...]
    latency: float


def read_sessions(
    paths: Sequence[str], label: str | None = None, without: Sequence[str] = (), side: tuple[int, int] | None = None
) -> list[Sheet]:
    """A sheet for each file; the first decides what columns hold and how large images are."""
    if len(paths) < 2:
        raise BadData(
            f"{len(paths)} file is no past and no next session: give at least two, in the order in which they came"
        )
    idle = dict.fromkeys(without, IDLE)
    first = read(paths[0], label=label, side=side, kinds=idle).without(without)
    shape = None if first.x is None else tuple(first.x.shape[1:])
    shape = shape if shape is not None and len(shape) == 3 else None
    known: dict[str, Any] = {"kinds": {**idle, **first.kinds}, "text_labels": has_numbers_as_text(first.labels)}
    later = [read(path, label=label, shape=shape, side=side, **known) for path in paths[1:]]
    sheets = [first, *(sheet.without([name for name in without if name in sheet.columns]) for sheet in later)]
    say_if_in_earlier(sheets)
    return sheets


def divided(sheet: Sheet, seed: int, number: int) -> Parts:
    """A fifth of every class to judge by, a fifth to choose by, the rest to learn."""
    labels = sheet.known_labels()
    test = held_out(labels, TEST, seed, number)
    rest = np.flatnonzero(~test)
    chosen = held_out(labels[rest], VALIDATION / (1 - TEST), seed, number, "validation")
    return Parts(sheet.take(rest[~chosen]), sheet.take(rest[chosen]), sheet.take(np.flatnonzero(test)))


def tried(
    candidate: Tryout, sessions: Sequence[Parts], seed: int, after_each: Callable[[], None] = lambda: None
) -> Trial:
    """A trial of one candidate."""
    model = ContinualClassifier(**{"seed": seed, **candidate.parameters})
    found: dict[str, list[Any]] = {"validation": [], "test": [], "bytes": [], "seconds": []}
    for number, session in enumerate(sessions, 1):
        started = time.perf_counter()
        own_files.learn(model, session.train)
        model.predict(session.test.take(np.arange(1)).rows())  # whatever is put off until the first answer
        found["seconds"].append(time.perf_counter() - started)
        found["bytes"].append(kept_bytes(model))
        for name in ("validation", "test"):
            found[name].append(tuple(accuracy(model, getattr(part, name)) for part in sessions[:number]))
        after_each()
    lists = {name: tuple(values) for name, values in found.items()}
    return Trial(seed, **lists, latency=_latency(model, sessions[-1].test))


def accuracy(model: ContinualClassifier, sheet: Sheet) -> float:
    """The share of rows that are right."""
    return float((model.predict(sheet.rows()) == sheet.known_labels()).mean())


def _latency(model: ContinualClassifier, sheet: Sheet) -> float:
    """Of the answer about one row, in seconds: the middle of some."""
    rows = [sheet.take(np.array([row % len(sheet)])).rows() for row in range(ASKED)]
    taken = []
    for row in rows:
        started = time.perf_counter()
        model.predict(row)
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)
