"""Tables for the terminal. They fit the screen, and say under which protocol and reading a number was obtained."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from engram.record import Record
from engram.reports.summary import by_method, cost_spreads, done, metric_spreads

HEADS = {"single": "single-head: the task is not given", "multi": "multi-head: the task is given"}


def print_comparison(console: Console, records: Sequence[Record]) -> None:
    """One line a method: accuracy, forgetting, memory, compute and time, mean ± standard deviation over seeds."""
    for stream in dict.fromkeys(record.stream for record in records):
        here = [record for record in records if record.stream == stream]
        seeds = len({record.seed for record in here})
        protocols = ", ".join(sorted({record.protocol for record in here}))
        table = _table(f"{stream} · {len(here[0].rows)} tasks · protocol {protocols} · {seeds} seed{'s' * (seeds > 1)}")
        for name in ("learner", "head", "accuracy", "forgetting", "memory", "compute", "time"):
            table.add_column(name, justify="left" if name in ("learner", "head") else "right", no_wrap=True)
        for group in by_method(here):
            table.add_row(group[0].learner, group[0].head, *_comparison_cells(group))
        console.print(table)
    console.print(
        Text("forgetting: best past accuracy minus the final one, mean over earlier tasks (0 is none).", "dim")
    )


def _comparison_cells(group: Sequence[Record]) -> list[str]:
    failed = len(group) - len(done(group))
    if failed == len(group):
        return [f"failed: {group[0].error}", "", "", "", ""]
    metrics, costs = metric_spreads(group), cost_spreads(group)
    mark = f" ({failed} failed)" if failed else ""
    return [
        plus_minus(metrics["average_accuracy"]) + mark,
        plus_minus(metrics["forgetting_rwalk"]),
        quantity(costs["bytes"]["mean"], "B"),
        quantity(costs["flops"]["mean"], "FLOP"),
        f"{costs['seconds']['mean']:.2f} s",
    ]


def print_runs(console: Console, records: Sequence[Record]) -> None:
    """The runs of one method: accuracy on every task at the end, then metrics and costs over the seeds."""
    first = records[0]
    title = f"{first.stream} · {first.learner} · {first.network} · protocol {first.protocol} · {HEADS[first.head]}"
    tasks = max((len(record.rows) for record in records), default=0)
    shown = min(tasks, 10)
    table = _table(title)
    table.add_column("seed", justify="right")
    for task in range(tasks - shown + 1, tasks + 1):
        table.add_column(f"task {task}" if shown <= 6 else str(task), justify="right")
    table.add_column("average", justify="right")
    for record in records:
        table.add_row(str(record.seed), *_final_cells(record, shown))
    console.print(table)
    _print_spreads(console, records)


def _final_cells(record: Record, shown: int) -> list[str]:
    if record.status != "done":
        return [f"{record.status}: {record.error or 'not finished'}"]
    final = record.accuracy[-1]
    return [*(f"{value:.3f}" for value in final[-shown:]), f"{sum(final) / len(final):.3f}"]


def _print_spreads(console: Console, records: Sequence[Record]) -> None:
    metrics, costs = metric_spreads(records), cost_spreads(records)
    if not metrics:
        return
    parts = [f"{name.replace('_', ' ')} {plus_minus(value)}" for name, value in metrics.items()]
    console.print(" · ".join(parts))
    items = done(records)[0].bytes
    itemised = ", ".join(f"{name} {quantity(size, 'B')}" for name, size in items.items() if name != "total")
    console.print(f"memory {quantity(costs['bytes']['mean'], 'B')} ({itemised})")
    console.print(f"compute {quantity(costs['flops']['mean'], 'FLOP')} · time {costs['seconds']['mean']:.2f} s a run")


def print_mapping(console: Console, title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows of plain values, a column for each name."""
    table = _table(title)
    for name in rows[0] if rows else []:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text("" if value is None else str(value)) for value in row.values()))
    console.print(table)


def plus_minus(value: Mapping[str, float], digits: int = 3) -> str:
    """0.912 ± 0.010; a single run has no deviation.

    >>> plus_minus({"mean": 0.5, "std": 0.25, "n": 2})
    '0.500 ± 0.250'
    """
    if math.isnan(value["mean"]):
        return "not defined"
    mean = f"{value['mean']:.{digits}f}"
    return mean if math.isnan(value["std"]) else f"{mean} ± {value['std']:.{digits}f}"


def quantity(value: float, unit: str) -> str:
    """A number in the multiple of its unit that suits it.

    >>> quantity(1_234_567, "B")
    '1.23 MB'
    """
    exponent = min(max(int(math.log10(value) // 3), 0), 6) if value >= 1 else 0
    return f"{value / 1000**exponent:.3g} {['', 'k', 'M', 'G', 'T', 'P', 'E'][exponent]}{unit}"


def _table(title: str) -> Table:
    return Table(
        title=Text(title), title_justify="left", title_style="bold", header_style="bold", box=None, pad_edge=False
    )
