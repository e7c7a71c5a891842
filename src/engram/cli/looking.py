"""Commands that look and tidy: list, runs, show, clean, check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engram.cli.finding import experiment_of
from engram.cli.options import STORE, Figure, Json, Place, check_figure, one_run, open_store
from engram.cli.output import (
    console,
    draw,
    others_printing,
    print_comparisons,
    print_json,
    print_records,
    runs_object,
    say,
)
from engram.cli.watching import look_on
from engram.errors import UnknownName

if TYPE_CHECKING:
    from engram.record import Record
    from engram.store import Store


def list_(
    what: Annotated[str, typer.Argument(help="datasets, streams, learners, networks, protocols, metrics or papers")],
    name: Annotated[str | None, typer.Argument(help="One of them, to see it in full.")] = None,
    as_json: Json = False,
) -> None:
    """What there is, a line each; of one thing everything."""
    from engram.catalogue import LISTS
    from engram.reports.things import print_detail, print_list

    if what not in LISTS:
        raise UnknownName("list of", what, LISTS)
    if name is not None:
        from engram.details import detail

        found = detail(what, name)
        if as_json:
            print_json(found)
        else:
            print_detail(console(), what, found)
    elif as_json:
        print_json(LISTS[what]())
    else:
        print_list(console(), what, LISTS[what]())


def runs(
    store: Place = STORE,
    watch: Annotated[bool, typer.Option("--watch", help="Look on while other commands train, until they end.")] = False,
    as_json: Json = False,
) -> None:
    """Every run in the store and how it stands."""
    from engram.reports.listing import experiment_row, print_store, run_row

    place = open_store(store, must_exist=True)
    if watch:
        look_on(place, as_json)
        return
    entries = place.runs()
    experiments = [experiment_row(kept, entries) for kept in place.experiments()]
    if as_json:
        print_json({"runs": [run_row(entry) for entry in entries], "experiments": experiments})
    elif entries:
        print_store(console(), store, entries)
        for row in experiments:
            say(f"experiment {row['digest'][:10]}: {row['rows']} rows, {row['done']} of {row['runs']} runs done")
    else:
        say(f"the store {store} has no runs yet; 'engram run' makes one")


def show(
    key: Annotated[
        str, typer.Argument(help="The key of a run or an experiment, or its beginning; or an experiment file.")
    ],
    store: Place = STORE,
    figure: Figure = "",
    as_json: Json = False,
) -> None:
    """One run in full, or the table of an experiment again."""
    check_figure(figure)
    place = open_store(store, must_exist=True)
    kept = experiment_of(place, key)
    if kept is not None:
        records = _show_experiment(kept, place, as_json)
    else:
        records = _show_run(one_run(place, key), place, as_json)
    if figure:
        draw(records, figure, as_json)


def _show_run(entry: Mapping[str, Any], store: Store, as_json: bool) -> list[Record]:
    from engram.runs import record_of

    record = record_of(entry, store)
    if as_json:
        print_json(runs_object([record]))
    else:
        from engram.reports.tables import print_notes, print_settings

        print_records([record], str(store.folder))
        print_settings(console(), record)
        print_notes(console(), record)
    return [record]


def _show_experiment(kept: Mapping[str, Any], store: Store, as_json: bool) -> list[Record]:
    """A table as it was made, or as far as its runs have come."""
    from engram.reports.kept import comparisons_of

    found = comparisons_of(kept, store)
    records = [record for comparison in found for record in comparison.records]
    if len(kept["rows"]) > 1:
        print_comparisons(found, kept["key"], as_json)
    elif as_json:
        print_json(runs_object(records))
    else:
        print_records(records, str(store.folder))
    return records


def clean(
    store: Place = STORE,
    failed: Annotated[bool, typer.Option("--failed", help="Also delete runs that failed or are damaged.")] = False,
    as_json: Json = False,
) -> None:
    """Delete what nothing needs any more.

    That is: interior checkpoints, positions of runs that will not go on, and old nodes.
    """
    from engram.execute import clean_up

    place = open_store(store, must_exist=True)
    report = clean_up(place, delete_failed=failed)
    if as_json:
        print_json(report)
        return
    from engram.reports.tables import quantity

    say(f"freed {quantity(report['freed_bytes'], 'B')}; {store} now takes {quantity(report['store_bytes'], 'B')}")


def check(
    learner: Annotated[
        str, typer.Argument(help="A learner's name, or your own class as file.py:Class or module:Class.")
    ],
    as_json: Json = False,
) -> None:
    """Whether a learner, yours too, keeps the contract."""
    from engram.checks import check_learner

    with others_printing():
        checks = check_learner(learner)
    failed = [c for c in checks if not c.passed]
    if as_json:
        print_json({"learner": learner, "passed": not failed, "checks": [vars(c) for c in checks]})
    else:
        for c in checks:
            say(f"{'ok    ' if c.passed else 'FAILED'}  {c.name}" + (f": {c.detail}" if not c.passed else ""))
        say(f"{len(checks) - len(failed)} of {len(checks)} checks passed")
    if failed:
        raise typer.Exit(1)
