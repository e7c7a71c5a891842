"""The command `engram report`: one page that people send to each other."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engram.cli.options import STORE, Json, Place, check_file, one_run, open_store
from engram.cli.output import print_json, say, working
from engram.errors import BadSetting

if TYPE_CHECKING:
    from engram.record import Record
    from engram.store import Store

Out = Annotated[str, typer.Option("--out", metavar="FILE", help="Where the page is written.")]


def report(
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="[RUNS]...", help="Keys of runs or their beginnings; all by default.")
    ] = None,
    out: Out = "report.html",
    store: Place = STORE,
    as_json: Json = False,
) -> None:
    """Runs as one HTML page that opens anywhere."""
    check_file("--out", out)
    place = open_store(store, must_exist=True)
    keys = runs or []
    entries = [one_run(place, key) for key in dict.fromkeys(keys)] or place.runs()
    if not any(entry["status"] == "done" for entry in entries):
        raise BadSetting(f"there is no finished run in {store} to report; 'engram runs' shows how they stand")
    specs = {entry["key"]: entry["spec"] for entry in entries}
    about = write_report(_records(entries, place), specs, out, shlex.join(["engram", "report", *keys]))
    if as_json:
        print_json(about)
    else:
        say(f"report: {about['report']}")


def _records(entries: Sequence[Mapping[str, Any]], place: Store) -> list[Record]:
    from engram.runs import record_of

    records = []
    with working("reading runs") as so_far:
        for entry in entries:
            records.append(record_of(entry, place))
            so_far(len(records) / len(entries))
    return records


def write_report(
    records: Sequence[Record], specs: Mapping[str, Mapping[str, Any]], out: str, command: str = ""
) -> dict[str, Any]:
    """Write the page of these runs, and say what was written."""
    from engram.files import write
    from engram.reports.web.page import page

    content = page(records, specs, command).encode()
    write(Path(out), content)
    statuses = [record.status for record in records]
    return {
        "report": str(Path(out).resolve()),
        "bytes": len(content),
        "runs": len(records),
        "failed": statuses.count("failed"),
        "unfinished": statuses.count("pending"),
    }
