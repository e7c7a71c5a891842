"""What a protocol chose, and what the others reached: of what it was allowed to see."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from engram.metrics import spread
from engram.offline import BY
from engram.record import Record
from engram.reports.summary import done
from engram.reports.tables import print_wrapped, written

MOST = 12  # choices or candidates in a line

Made = Mapping[str, Any]  # a decision as a record has it


def print_choices(console: Console, records: Sequence[Record]) -> None:
    for line in [*choice_lines(records), *offline_lines(records)]:
        print_wrapped(console, line)


def offline_lines(records: Sequence[Record]) -> list[str]:
    """What the offline models reached that Ω is a share of, mean over the seeds."""
    found = [offline for record in done(records) if (offline := record.offline()) is not None]
    if not found:
        return []
    alone = [spread(values)["mean"] for values in zip(*(alone for alone, _ in found), strict=True)]
    where = "on the first session" if len(alone) == 1 else "on each dataset"
    seen = [seen.all[-1] for _, seen in found if seen is not None]
    more = [f"{_numbers([spread(seen)['mean']])} on everything seen, trained on all of it"] if seen else []
    return [f"offline model: {' · '.join([f'{_numbers(alone)} {where}, trained on it alone', *more])}"]


def _numbers(values: Sequence[float]) -> str:
    return ", ".join("–" if math.isnan(value) else f"{value:.3f}" for value in values)


def choice_lines(records: Sequence[Record]) -> list[str]:
    """For each kind of decision a line with what was chosen, by seed and task, and one with what each candidate
    reached, mean over all of them."""
    by_kind: dict[str, list[tuple[Record, list[Made]]]] = {}
    for record in done(records):
        decisions = [*record.decisions, *(record.ideals.decisions if record.ideals else ())]
        for kind in dict.fromkeys(decision["by"] for decision in decisions):
            made = [decision for decision in decisions if decision["by"] == kind]
            by_kind.setdefault(kind, []).append((record, made))
    return [line for kind, made in by_kind.items() for line in (_chosen(kind, made), _reached(kind, made))]


def _chosen(kind: str, made: Sequence[tuple[Record, Sequence[Made]]]) -> str:
    names = list(made[0][1][0]["candidates"][0])
    what = f"chosen {names[0]}" if len(names) == 1 else "chosen"
    what += " for the offline model" if kind == BY else ""
    labels = [[_label(decision["candidates"][decision["chosen"]]) for decision in decisions] for _, decisions in made]
    if any(len(chosen) > 1 for chosen in labels):
        seeds = [f" (seed {record.seed})" if len(made) > 1 else "" for record, _ in made]
        parts = [_listed(chosen) + seed for chosen, seed in zip(labels, seeds, strict=True)]
        return f"{what}, task by task: {' · '.join(parts)}"
    seed_by_seed = ", seed by seed" if len(made) > 1 else ""
    return f"{what}{seed_by_seed}: {_listed([chosen[0] for chosen in labels])}"


def _listed(labels: Sequence[str]) -> str:
    if len(labels) <= MOST:
        return ", ".join(labels)
    return ", ".join(f"{label} ({count}×)" for label, count in Counter(labels).most_common(MOST))


def _reached(kind: str, made: Sequence[tuple[Record, Sequence[Made]]]) -> str:
    scores: dict[str, list[float | None]] = {}
    for decision in (decision for _, decisions in made for decision in decisions):
        for candidate, score in zip(decision["candidates"], decision["scores"], strict=True):
            scores.setdefault(_label(candidate), []).append(score)
    means = {label: spread([s for s in many if s is not None])["mean"] for label, many in scores.items()}
    best = sorted(means, key=lambda label: -means[label] if means[label] == means[label] else 1.0)[:MOST]
    parts = [f"{label}: {_score(means[label], scores[label])}" for label in means if label in best]
    more = f" · {len(means) - MOST} more in --json" if len(means) > MOST else ""
    mean = ", mean" if max(map(len, scores.values())) > 1 else ""
    return f"{kind}{mean}: {' · '.join(parts)}{more}"


def _score(mean: float, scores: Sequence[float | None]) -> str:
    failed = sum(score is None for score in scores)
    if failed == len(scores):
        return "failed"
    return f"{mean:.3f}" + (f" ({failed} failed)" if failed else "")


def _label(candidate: Mapping[str, Any]) -> str:
    """The values in which a candidate differs from the others, as they are written on a command line."""
    if len(candidate) == 1:
        return _short(*candidate.values())
    return " ".join(f"{name}={_short(value)}" for name, value in candidate.items())


def _short(value: Any) -> str:
    return written(value).removesuffix(".0")
