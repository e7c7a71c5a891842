"""What commands print: text for people, one JSON object for scripts."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import typer

from engram.reports.harmless import harmless

if TYPE_CHECKING:
    from engram.papers.paper import Answer, Experiment
    from engram.record import Record
    from engram.reports.comparison import Comparison
    from engram.reports.content import Section, Table


def console() -> Any:
    """As wide as the terminal, or as COLUMNS says; in a file or a pipe 100 columns."""
    from rich.console import Console

    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(width=None if known else 100, highlight=False)


def say(text: str) -> None:
    """A line for people, whatever is in it."""
    print(harmless(text))


def warn(text: str) -> None:
    """A line beside what was asked for, on standard error."""
    print(f"engram: {harmless(text)}", file=sys.stderr)


def others_printing() -> contextlib.AbstractContextManager[Any]:
    """While this lasts, what is printed goes to standard error: code of users may print, and standard output is for
    what was asked for."""
    return contextlib.redirect_stdout(sys.stderr)


@contextlib.contextmanager
def waiting(text: str) -> Iterator[None]:
    """On a terminal: a sign of life and the time, for work that cannot say how much is left."""
    from rich.progress import SpinnerColumn

    with _progress(SpinnerColumn()) as shown:
        shown.add_task(harmless(text), total=None)
        yield


@contextlib.contextmanager
def working(text: str) -> Iterator[Callable[[float], None]]:
    """On a terminal: a bar, for work that says which share of it is done."""
    from rich.progress import BarColumn

    with _progress(BarColumn()) as shown:
        task = shown.add_task(harmless(text), total=1.0)
        yield lambda share: shown.update(task, completed=share)


def _progress(sign: Any) -> Any:
    from rich.console import Console
    from rich.progress import Progress, TextColumn, TimeElapsedColumn

    terminal = Console(stderr=True)
    columns = (sign, TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    return Progress(*columns, console=terminal, transient=True, disable=not terminal.is_terminal)


def print_json(value: Any) -> None:
    import json

    from engram.reports.summary import plain

    print(json.dumps(plain(value), allow_nan=False))


def runs_object(records: list[Record]) -> dict[str, Any]:
    from engram.reports.advice import advice
    from engram.reports.summary import machines, metric_spreads

    first = records[0]
    return {
        "stream": first.stream,
        "learner": first.learner,
        "network": first.network,
        "settings": dict(first.settings),
        "protocol": first.protocol,
        "head": first.head,
        "seeds": [record.seed for record in records],
        "runs": [record.to_json() for record in records],
        "metrics": metric_spreads(records),
        "machines": machines(records),
        "notes": advice(records),
    }


def labelled(record: Record) -> dict[str, Any]:
    """A run beside runs of other methods."""
    about = {"stream": record.stream, "learner": record.learner, "protocol": record.protocol, "head": record.head}
    return {**about, **record.to_json()}


def experiment_object(experiment: Experiment, answers: list[Answer]) -> dict[str, Any]:
    return {
        "experiment": experiment.name,
        "title": experiment.title,
        "lines": [answer.to_json(experiment.columns) for answer in answers],
        "data": _table_object(experiment.data(answers)),
        "claims": [vars(verdict) for verdict in experiment.verdicts(answers)],
        "notes": experiment.notes(answers),
    }


def _table_object(table: Table) -> list[dict[str, Any]]:
    """A row for each row: its names, and for each metric what was measured and published."""
    metrics = [column.metric for column in table.columns]
    return [
        {
            **dict(zip(table.names, row.names, strict=True)),
            **{m: None if n is None else vars(n) for m, n in zip(metrics, row.numbers, strict=True)},
        }
        for row in table.rows
    ]


def print_section(section: Section, tier: str) -> None:
    """Tables with ours beside the published values, and every claim as held or not."""
    from engram.reports.cells import brief, fitting
    from engram.reports.tables import print_rows

    for table in section.tables:
        for number, (header, *rows) in enumerate(fitting(brief(table), len(table.names), console().width)):
            title = f"{section.title} ({tier} tier): {table.title or 'published / ours'}"
            print_rows(console(), title if number == 0 else f"{section.title}, continued", header, rows)
    for note in section.notes:
        say(f"    note  {note}")
    for verdict in section.verdicts:
        say(f"{verdict.verdict:>8}  {verdict.claim}{f' ({verdict.why})' if verdict.why else ''}")


def say_more(paragraphs: list[str]) -> None:
    """What a reader of tables wants to know, for people alone."""
    from engram.reports.tables import print_wrapped

    for paragraph in [part for text in paragraphs for part in text.split("\n\n") if part]:
        console().print()
        print_wrapped(console(), paragraph)


def print_records(records: list[Record], store: str) -> None:
    from engram.reports.choices import print_choices
    from engram.reports.tables import print_runs

    print_runs(console(), records)
    print_choices(console(), records)
    say(f"kept in {store} as {', '.join(record.key[:10] for record in records)}")


def print_comparisons(comparisons: Sequence[Comparison], experiment: str, as_json: bool) -> None:
    """Several methods beside each other, stream by stream; `experiment` is the digest that they are kept by."""
    from engram.reports.comparison_text import print_compared

    if as_json:
        print_json({"experiment": experiment, "comparisons": [comparison.to_dict() for comparison in comparisons]})
    else:
        print_compared(console(), comparisons)


def advise(records: list[Record]) -> None:
    """What theory has to say about the method that was chosen, if it is of help."""
    from engram.reports.advice import advice

    for sentence in advice(records):
        warn(sentence)


def draw(records: list[Record], figure: str, quiet: bool) -> None:
    from pathlib import Path

    from engram.reports.figure import draw_progress
    from engram.reports.summary import done

    if done(records):
        path = draw_progress(records, Path(figure))
        if not quiet:
            say(f"figure: {path.resolve()}")


def leave(records: list[Record]) -> None:
    failed = [record for record in records if record.status != "done"]
    for record in failed:
        warn(f"{record.learner} on {record.stream}, seed {record.seed}, failed: {record.error}")
    if failed:
        raise typer.Exit(1)
