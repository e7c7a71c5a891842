"""A comparison for the terminal: one table, the best row marked, and below it what is known about the differences."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from engram.metrics import LOWER_IS_BETTER
from engram.reports.choices import choice_lines
from engram.reports.comparison import ComparedRow, Comparison
from engram.reports.summary import metric_spreads
from engram.reports.tables import (
    HEADS,
    cell,
    comparison_cells,
    comparison_title,
    plain_table,
    plus_minus,
    print_searches,
    print_warnings,
    print_wrapped,
)
from engram.statistics import DIFFERENT, Difference

TITLES = ("accuracy", "forgetting", "memory", "compute", "time")
SHOWN = {"average_accuracy": "accuracy", "forgetting_rwalk": "forgetting"}  # metrics that every table has
GAP = 2  # columns between columns


def as_text(comparison: Comparison, width: int = 100) -> str:
    """What is printed, without colours."""
    text = io.StringIO()
    print_compared(Console(file=text, width=width, highlight=False, color_system=None), [comparison])
    return text.getvalue().rstrip("\n")


def print_compared(console: Console, comparisons: Sequence[Comparison]) -> None:
    """A table and its differences for each stream, then what all of them share."""
    for comparison in comparisons:
        print_wrapped(console, comparison_title(comparison.stream, comparison.records), "bold")
        _print_table(console, comparison)
        print_searches(console, comparison.records)
        _print_chosen(console, comparison)
        _print_differences(console, comparison)
        console.print()
    records = [record for comparison in comparisons for record in comparison.records]
    for head in dict.fromkeys(record.head for record in records):
        print_wrapped(console, f"{HEADS[head]}.", "dim")
    print_warnings(console, records)


def _print_chosen(console: Console, comparison: Comparison) -> None:
    """Which settings a protocol kept, where it had some to choose from."""
    for row in comparison.rows:
        for line in choice_lines(row.records):
            if line.startswith("chosen"):
                print_wrapped(console, f"{row.label}: {line}")


def _print_table(console: Console, comparison: Comparison) -> None:
    """As many columns as fit, the first ones first; a label may take several lines."""
    titles, lines = _cells(comparison)
    labels = [f"{row.label}{'*' if row.marked else ''}" for row in comparison.rows]
    kinds = [comparison.kind(row) for row in comparison.rows]
    widths = [max(len(title), *(len(line[place]) for line in lines)) for place, title in enumerate(titles)]
    left = max(map(len, kinds)) + GAP + min(max(len("learner"), *map(len, labels)), max(console.width // 3, 12))
    fitting = _fitting(widths, console.width - left)
    table = plain_table()
    table.add_column("", no_wrap=True)
    table.add_column("learner", overflow="fold", min_width=7)
    for title in titles[:fitting]:
        table.add_column(title, justify="right", no_wrap=True)
    for kind, label, line in zip(kinds, labels, lines, strict=True):
        table.add_row(*(cell(text) for text in (kind, label, *line[:fitting])), style="bold" if kind == "best" else "")
    console.print(table)
    if fitting < len(titles):
        print_wrapped(console, f"{', '.join(titles[fitting:])}: in --json, or on a wider terminal", "dim")


def _fitting(widths: Sequence[int], room: int) -> int:
    """How many of the columns there is room for, one at least."""
    taken = 0
    for count, width in enumerate(widths):
        taken += GAP + width
        if taken > room:
            return max(count, 1)
    return len(widths)


def _cells(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """What stands in the columns after the label: first of all the metric that rows are compared by."""
    by = comparison.by
    lines = [comparison_cells(row.records) for row in comparison.rows]
    if by in SHOWN:
        return list(TITLES), lines
    values = [_metric(row, by) for row in comparison.rows]
    return [by.replace("_", " "), *TITLES], [[value, *line] for value, line in zip(values, lines, strict=True)]


def _metric(row: ComparedRow, name: str) -> str:
    found = metric_spreads(row.records)
    return plus_minus(found[name]) if name in found else "not defined" if found else ""


def _print_differences(console: Console, comparison: Comparison) -> None:
    found = [each for each in comparison.differences if each.n]
    if found:
        console.print()
        print_wrapped(
            console, f"{metric_word(comparison.by)} of {found[0].first} minus that of the others, seed by seed", "bold"
        )
        console.print(_difference_table(found, comparison.by))
        if not all(math.isnan(each.p) for each in found):
            print_wrapped(console, how_compared(comparison), "dim")
    for note in comparison.notes:
        print_wrapped(console, f"note: {note}")


def _difference_table(found: Sequence[Difference], by: str) -> Table:
    """Without intervals and p where there are none."""
    lines = [
        {
            "against": each.second,
            "mean": signed(each.mean),
            "95 % interval": "" if math.isnan(each.low) else f"{signed(each.low)}…{signed(each.high)}",
            "p": probability(each.corrected),
            "verdict": verdict_of(each, by),
        }
        for each in found
    ]
    table = plain_table()
    names = [name for name in lines[0] if any(line[name] for line in lines)]
    for name in names:
        of_words = name in ("against", "verdict")
        table.add_column(name, overflow="fold", no_wrap=not of_words, justify="left" if of_words else "right")
    for line in lines:
        table.add_row(*(cell(line[name]) for name in names))
    return table


def metric_word(name: str) -> str:
    """As a metric is called in a sentence."""
    return SHOWN.get(name, name.replace("_", " "))


def verdict_of(each: Difference, by: str) -> str:
    """What is known of the first against the second: better, worse, or why neither."""
    if each.verdict != DIFFERENT:
        return each.verdict
    return "worse" if (each.mean > 0) == (by in LOWER_IS_BETTER) else "better"


def signed(value: float) -> str:
    return "" if math.isnan(value) else f"{value:+.3f}"


def probability(p: float) -> str:
    return "" if math.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


def how_compared(comparison: Comparison) -> str:
    """What the interval and p are, in a line."""
    pairs = len(comparison.pairs)
    over = f"corrected (Holm) over all {pairs} pairs that were looked at" if pairs > 1 else "of the only pair"
    return (
        f"interval: of the mean difference, for this pair alone; p: paired t test, {over}; better or worse: p ≤ 0.05."
    )
