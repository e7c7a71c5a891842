"""The command `engram report`: one page that people send to each other."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engram.cli.finding import experiment_of, some_runs
from engram.cli.options import STORE, Json, Place, check_file, files_of, open_store
from engram.cli.output import others_printing, print_json, say, waiting, working
from engram.errors import BadSetting

if TYPE_CHECKING:
    from engram.record import Record
    from engram.reports.web.page import Subject
    from engram.store import Store

Out = Annotated[str, typer.Option("--out", metavar="FILE", help="Where the page is written.")]


def report(
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUNS]...", help="Keys of runs or experiments, or experiment files; all by default."),
    ] = None,
    paper: Annotated[
        str | None, typer.Option("--paper", metavar="NAME", help="The runs of a paper, beside what it published.")
    ] = None,
    tier: Annotated[
        str | None, typer.Option("--tier", metavar="NAME", help="Which of the paper's runs; quick by default.")
    ] = None,
    out: Out = "report.html",
    store: Place = STORE,
    as_json: Json = False,
) -> None:
    """Runs as one HTML page that opens anywhere."""
    check_file("--out", out, [*files_of(store), *(runs or [])])
    if paper and runs:
        raise BadSetting(f"--paper {paper} came with keys of runs; give one of the two")
    if tier is not None and not paper:
        raise BadSetting(f"--tier {tier} is for the runs of a paper; add --paper NAME or leave it out")
    place = open_store(store, must_exist=True)
    words = ["--paper", paper, "--tier", tier or "quick"] if paper else runs or []
    if paper:
        entries, records, subject = _of_paper(paper, tier or "quick", place)
    else:
        entries = some_runs(place, words)
        _require_finished(entries, store, words)
        records, subject = _records(entries, place), _of_experiments(words, place)
    specs = {entry["key"]: entry["spec"] for entry in entries}
    about = write_report(records, specs, out, shlex.join(["engram", "report", *words]), subject)
    if as_json:
        print_json(about)
    else:
        say(f"report: {about['report']}")


Entries = Sequence[Mapping[str, Any]]


def _require_finished(entries: Entries, store: str, words: Sequence[str]) -> None:
    if not any(entry["status"] == "done" for entry in entries):
        missing = "none of these runs is finished" if words else f"there is no finished run in {store} to report"
        raise BadSetting(f"{missing}; 'engram runs' shows how they stand")


def _of_experiments(words: Sequence[str], place: Store) -> Subject:
    """The names that experiments have for their rows, which of these are floors, and the metric they all go by."""
    from engram.reports.web.methods import Names
    from engram.reports.web.page import Subject
    from engram.study import BY

    kept = [found for word in words if (found := experiment_of(place, word))]
    rows = [row for each in kept for row in each["rows"]]
    labels = {key: row["label"] for row in rows for key in row["runs"]}
    names = Names(labels, frozenset(key for row in rows if row["floor"] for key in row["runs"]))
    metrics = {each["by"] for each in kept}
    return Subject(names=names, by=metrics.pop() if len(metrics) == 1 else BY)


def _of_paper(name: str, tier: str, place: Store) -> tuple[Entries, list[Record], Subject]:
    """Those of its runs that the store has, under the names that the paper has for them."""
    from engram.papers import paper as find
    from engram.reports.web.methods import Names
    from engram.reports.web.page import Subject

    found = find(name)
    known = {entry["key"]: entry for entry in place.runs() if entry["status"] != "pending"}
    with waiting(f"looking for the runs of {name}"), others_printing():
        asked = found.asked(tier)
    wanted = dict.fromkeys(run.key for _, rows in asked for _, own in rows for run in own if run.key in known)
    entries = [known[key] for key in wanted]
    if not any(entry["status"] == "done" for entry in entries):
        command = f"engram paper {name} --tier {tier}"
        raise BadSetting(f"no run of {name} (tier {tier}) in {place.folder} is finished; '{command}' makes them")
    records = dict(zip(wanted, _records(entries, place), strict=True))
    answers = found.answered(asked, records)
    labels = {r.key: answer.question.label for _, rows in reversed(answers) for answer in rows for r in answer.records}
    content = found.page(answers, tier, None, f"engram report --paper {name} --tier {tier}")
    return entries, list(records.values()), Subject(content.title, content.about, Names(labels), content)


def _records(entries: Entries, place: Store) -> list[Record]:
    from engram.runs import record_of

    records = []
    with working("reading runs") as so_far:
        for entry in entries:
            records.append(record_of(entry, place))
            so_far(len(records) / len(entries))
    return records


def write_report(
    records: Sequence[Record],
    specs: Mapping[str, Mapping[str, Any]],
    out: str,
    command: str = "",
    subject: Subject | None = None,
) -> dict[str, Any]:
    """Write the page of these runs, and say what was written."""
    from engram.files import write
    from engram.reports.web.page import page

    content = page(records, specs, command, subject).encode()
    write(Path(out), content)
    statuses = [record.status for record in records]
    return {
        "report": str(Path(out).resolve()),
        "bytes": len(content),
        "runs": len(records),
        "failed": statuses.count("failed"),
        "unfinished": statuses.count("pending"),
    }
