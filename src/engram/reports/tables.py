"""Tables for the terminal. They fit the screen, and say under which protocol and reading a number was obtained."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from engram.record import Record
from engram.reports.harmless import harmless
from engram.reports.summary import by_method, cost_spreads, done, machines, metric_spreads
from engram.reports.words import count

NAMES = ("name", "setting", "key", "method", "ours")  # columns that are never broken
PREFIXES = ("", "k", "M", "G", "T", "P", "E")
LONG = 24  # of more letters a word may be broken
HEADS = {"single": "single-head: the task is not given", "multi": "multi-head: the task is given"}


def print_comparison(console: Console, records: Sequence[Record]) -> None:
    """One line a method: accuracy, forgetting, memory, compute and time, mean ± standard deviation over seeds."""
    for stream in dict.fromkeys(record.stream for record in records):
        here = [record for record in records if record.stream == stream]
        print_wrapped(console, comparison_title(stream, here), "bold")
        table = plain_table()
        several = len({record.marked_protocol for record in here}) > 1
        for name in ("learner", *(["protocol"] if several else []), "head"):
            table.add_column(name, no_wrap=True)
        table.add_column("accuracy", justify="right", min_width=13)  # broken only before "(1 failed)"
        for name in ("forgetting", "memory", "compute", "time"):
            table.add_column(name, justify="right", no_wrap=True)
        for group in by_method(here):
            names = [group[0].learner, *([group[0].marked_protocol] if several else []), group[0].head]
            table.add_row(*map(cell, [*names, *comparison_cells(group)]))
        console.print(table)
        print_searches(console, here)
        console.print()
    print_wrapped(console, "accuracy: on the test data of all tasks after the last one, mean over tasks.", "dim")
    print_wrapped(
        console, "forgetting: best past accuracy minus the final one, mean over earlier tasks (0 is none).", "dim"
    )
    for head in dict.fromkeys(record.head for record in records):
        print_wrapped(console, f"{HEADS[head]}.", "dim")
    print_warnings(console, records)


def print_searches(console: Console, records: Sequence[Record]) -> None:
    for group in by_method(records):
        compute = _compute(cost_spreads(group))
        if "with the search" in compute:
            print_wrapped(console, f"{group[0].learner}, {group[0].protocol}: compute {compute}")


def comparison_title(stream: str, records: Sequence[Record]) -> str:
    tasks = max(len(record.rows) for record in records)
    protocols = ", ".join(sorted({record.marked_protocol for record in records}))
    counts = [count(tasks, "task")] if tasks else []
    seeds = count(len({r.seed for r in records}), "seed")
    return " · ".join([stream, *counts, f"protocol {protocols}", seeds, *_thinned(records)])


def _thinned(records: Sequence[Record]) -> list[str]:
    """What was measured, where it was not everything: metrics of the time before the end may not be defined."""
    return [f"evaluated: {', '.join(e)}" for e in [dict.fromkeys(r.evaluate for r in records)] if set(e) != {"all"}]


def comparison_cells(group: Sequence[Record]) -> list[str]:
    unfinished = [record.status for record in group if record.status != "done"]
    if len(unfinished) == len(group):
        return [unfinished[0], "", "", "", ""]
    metrics, costs = metric_spreads(group), cost_spreads(group)
    mark = f" ({len(unfinished)} {unfinished[0]})" if unfinished else ""
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
    title = [first.stream, first.learner, first.network, f"protocol {first.marked_protocol}", HEADS[first.head]]
    print_wrapped(console, " · ".join([*title, *_thinned(records)]), "bold")
    tasks = max(len(record.rows) for record in records)
    shown = min(tasks, _most_tasks(console.width))
    table = plain_table()
    table.add_column("seed", justify="right")
    for task in range(tasks - shown + 1, tasks + 1):
        table.add_column(f"task {task}" if shown <= 6 else str(task), justify="right")
    table.add_column("average" if tasks else "status", justify="right")
    for record in records:
        table.add_row(*map(cell, [record.seed, *_final_cells(record, tasks, shown)]))
    console.print(table)
    print_warnings(console, records)
    if shown < tasks:
        print_wrapped(console, f"test accuracy after task {tasks}: its last {shown} tasks; --json has all", "dim")
    _print_spreads(console, records)


def _most_tasks(width: int) -> int:
    """How many tasks of seven columns each fit beside the seed and the average."""
    return max(min((width - 15) // 7, 20), 1)


def _final_cells(record: Record, tasks: int, shown: int) -> list[str]:
    """Accuracy on the last tasks, and the average; of a run that did not get to its end, where that was."""
    final = record.accuracy[-1] if record.rows else []
    cells = [*map(_share, final), *[""] * (tasks - len(final))][tasks - shown :]
    if record.status == "done":
        return [*cells, _share(sum(final) / len(final))]
    return [*cells, f"{record.status} after task {len(final)}" if final else record.status]


def _share(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}"


def _print_spreads(console: Console, records: Sequence[Record]) -> None:
    metrics, costs = metric_spreads(records), cost_spreads(records)
    if not metrics:
        return
    print_wrapped(console, " · ".join(f"{name.replace('_', ' ')} {plus_minus(v)}" for name, v in metrics.items()))
    items = done(records)[0].bytes
    itemised = ", ".join(f"{name} {quantity(size, 'B')}" for name, size in items.items() if name != "total")
    print_wrapped(console, f"memory {quantity(costs['bytes']['mean'], 'B')} ({itemised})")
    print_wrapped(console, f"compute {_compute(costs)} · time {costs['seconds']['mean']:.2f} s a run")


def _compute(costs: Mapping[str, Mapping[str, float]]) -> str:
    """The operations of the path that was kept, and of everything that it was chosen from where that is more."""
    kept, all_ = costs["flops"]["mean"], costs["search_flops"]["mean"]
    return quantity(kept, "FLOP") + (f", {quantity(all_, 'FLOP')} with the search" if all_ > kept else "")


def print_warnings(console: Console, records: Sequence[Record]) -> None:
    for warning in dict.fromkeys(f"* {r.protocol}: {r.warning}" for r in records if r.warning):
        print_wrapped(console, warning)
    for layers in dict.fromkeys(record.uncounted for record in records if record.uncounted):
        print_wrapped(console, f"compute is more than is said: operations of {layers} layers are not counted")
    if len(kinds := machines(records)) > 1:
        print_wrapped(console, f"trained on {len(kinds)} kinds of machines, whose bits differ: {'; '.join(kinds)}")


def print_settings(console: Console, record: Record) -> None:
    """A run's settings as they are written on a command line, and why it failed if it did."""
    print_wrapped(console, "settings " + " ".join(f"{name}={written(v)}" for name, v in record.settings.items()))
    if record.error:
        print_wrapped(console, f"{record.status}: {record.error}")


def print_notes(console: Console, record: Record) -> None:
    """What the learner says about each task, in so far as it fits into a line."""
    for number, row in enumerate(record.rows, start=1):
        plain = {name: _note(value) for name, value in row.notes.items()}
        if any(plain.values()):
            print_wrapped(console, f"task {number}: " + " ".join(f"{name} {v}" for name, v in plain.items() if v))


def _note(value: Any) -> str:
    if isinstance(value, list):
        return written(tuple(value)) if all(isinstance(part, int) for part in value) else ""
    if isinstance(value, float):
        return f"{value:.3g}"
    return "" if value is None or isinstance(value, dict) else str(value)


def print_wrapped(console: Console, text: str, style: str = "") -> None:
    """A sentence, broken between words where the line ends."""
    console.print(cell(text, style))


def print_mapping(console: Console, title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows of plain values, a column for each name; where the screen is too narrow for that, one after another."""
    print_wrapped(console, title, "bold")
    if _narrowest(rows) > console.width:
        for row in rows:
            _print_unaligned(console, {name: value for name, value in row.items() if value not in (None, "")})
        return
    table = plain_table()
    for name in rows[0] if rows else []:
        numbers = all(isinstance(row[name], (int, float)) for row in rows)
        justify: JustifyMethod = "right" if numbers else "left"
        table.add_column(cell(name), overflow="fold", justify=justify, no_wrap=name in NAMES)
    for row in rows:
        table.add_row(*("" if value is None else cell(value) for value in row.values()))
    console.print(table)


def _print_unaligned(console: Console, row: Mapping[str, Any]) -> None:
    (_, first), *others = row.items()
    text = " · ".join([str(first), *(f"{name} {value}" for name, value in others)])
    for line in textwrap.wrap(harmless(text), console.width, subsequent_indent="  "):
        print_wrapped(console, line)


def _narrowest(rows: Sequence[Mapping[str, Any]]) -> int:
    """The width of a table of these rows in which no word is broken, but for very long ones."""
    widths = [max(len(word) for row in rows for word in f"{name} {row[name]}".split()) for name in (rows or [{}])[0]]
    return sum(min(width, LONG) for width in widths) + 2 * (len(widths) - 1)


def print_rows(console: Console, title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Cells under a header in which names may come more than once."""
    print_wrapped(console, title, "bold")
    table = plain_table()
    for place, name in enumerate(header):
        table.add_column(cell(name), overflow="fold", justify="right" if place else "left", no_wrap=place == 0)
    for row in rows:
        table.add_row(*map(cell, row))
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
    power = power_of(value)
    return f"{value / 1000**power:.3g} {PREFIXES[power]}{unit}"


def power_of(value: float) -> int:
    """Of 1000: the largest that a number has in it, as far as there are prefixes."""
    return min(int(math.log10(value) // 3), len(PREFIXES) - 1) if value >= 1 else 0


def written(value: Any) -> str:
    """A setting's value as it is written on a command line.

    >>> written((256, 256)), written(True), written((0.1, 0.01)), written([(12,), (8, 8)])
    ('256-256', 'true', '0.1,0.01', '12,8-8')
    """
    if isinstance(value, tuple) and all(isinstance(part, int) for part in value):
        return "-".join(map(str, value))
    if isinstance(value, (list, tuple)):
        return ",".join(map(written, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def cell(value: object, style: str = "") -> Text:
    """Everything that is shown goes through here: nothing in it is markup, nothing in it steers a terminal."""
    return Text(harmless(value), style)


def plain_table() -> Table:
    return Table(header_style="bold", box=None, pad_edge=False)
