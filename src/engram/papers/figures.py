"""Figures that compare the answers of an experiment, as content."""

from __future__ import annotations

from collections.abc import Sequence

from engram.papers.paper import Answer
from engram.reports.content import Column, Number, Plane, Series

PERCENT = Column("average_accuracy", "average accuracy %", 1, 100.0)


def plane(answers: Sequence[Answer]) -> Plane:
    """A point a row: forgetting across, intransigence up. Good is the lower left."""
    shown = [answer for answer in answers if answer.mean("intransigence") == answer.mean("intransigence")]
    return Plane(
        "forgetting (0: none; negative: old tasks got better)",
        "intransigence (0: as good as joint training)",
        {
            f"{a.question.label} ({100 * a.mean():.1f} %)": (a.number("forgetting_rwalk"), a.number("intransigence"))
            for a in shown
        },
    )


def series(answers: Sequence[Answer], across: str = "") -> Series:
    """Rows called "method @ value": a line a method along the values."""
    lines: dict[str, dict[str, Number]] = {}
    for answer in answers:
        method, value = answer.question.label.split(" @ ")
        lines.setdefault(method, {})[value] = answer.number(PERCENT.metric)
    return Series(across, PERCENT, lines)
