"""Which method for data that keeps arriving: a few are tried on a user's own sessions. `engram advise`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from engram.advising.candidates import Budget, Tryout, candidates
from engram.advising.trials import Parts, divided, read_sessions, tried
from engram.advising.verdict import Advice, Evidence
from engram.errors import BadSetting
from engram.readers import Sheet
from engram.seeds import checked

__all__ = ["Advice", "Budget", "advise", "read_sessions", "trials_of"]


def advise(
    paths: Sequence[str],
    *,
    label: str | None = None,
    memory: int | str | None = None,
    exemplars: bool = True,
    latency: float | None = None,
    seeds: Iterable[int] = (0, 1, 2),
    without: Sequence[str] = (),
    image_size: int | None = None,
) -> Advice:
    """Which method to use for files that came one after another, one session each.

    Models that can be kept in a file are tried on them, each with several draws (`seeds`) of rows that are held out:
    some to choose by, others to judge by. `memory` is what a model may take with all that it keeps (bytes, or "10MB"),
    `latency` the seconds that the answer about one row may take, and without `exemplars` no row is kept.
    """
    from engram.estimator.choosing import bytes_of

    sheets = read_sessions(paths, label, without, (image_size, image_size) if image_size else None)
    return trials_of(sheets, Budget(bytes_of(memory), exemplars, latency), list(seeds))


def trials_of(
    sheets: Sequence[Sheet], budget: Budget, seeds: Sequence[int], so_far: Callable[[float], None] = lambda share: None
) -> Advice:
    """Try everything that fits; `so_far` is told how much of it is done."""
    checked(seeds, f"seeds={list(seeds)}")
    if budget.latency is not None and not budget.latency > 0:
        raise BadSetting(f"latency={budget.latency} is no time to answer in; give seconds above 0")
    drawn = {seed: [divided(sheet, seed, number) for number, sheet in enumerate(sheets)] for seed in seeds}
    found = plan(sheets, budget)
    steps, done = len(found) * len(seeds) * len(sheets), 0

    def one_more() -> None:
        nonlocal done
        done += 1
        so_far(done / steps)

    evidence = tuple(_evidence(candidate, drawn, one_more) for candidate in found)
    return Advice(evidence, tuple(sheet.where for sheet in sheets), budget)


def plan(sheets: Sequence[Sheet], budget: Budget) -> list[Tryout]:
    """What is tried on these sessions. How large a row is when it is prepared the first session decides; how many rows
    of a class have room follows from the classes of all sessions, which a choice by the past could not know."""
    from engram.estimator.describing import row_bytes

    classes = {label for sheet in sheets for label in sheet.known_labels().tolist()}
    return candidates(budget, row_bytes(sheets[0].rows()), len(classes))


def _evidence(candidate: Tryout, drawn: dict[int, list[Parts]], one_more: Callable[[], None]) -> Evidence:
    return Evidence(candidate, tuple(tried(candidate, parts, seed, one_more) for seed, parts in drawn.items()))
