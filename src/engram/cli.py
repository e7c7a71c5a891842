"""The command line: parse, call, print. Everything heavy is imported inside the commands."""

from __future__ import annotations

import json
import os
import sys
import warnings
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engram.errors import BadSetting, EngramError, Stopped, UnknownName

if TYPE_CHECKING:
    from engram.record import Record
    from engram.runs import Run
    from engram.store import Store

app = typer.Typer(
    help="Train classifiers on data that arrives over time, and measure fairly what they forget.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
data = typer.Typer(help="Datasets: list them, fetch them, verify their digests.", no_args_is_help=True)
app.add_typer(data, name="data")

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else on standard output.")]
Place = Annotated[str, typer.Option("--store", envvar="ENGRAM_STORE", help="Folder that keeps runs.")]
Jobs = Annotated[int, typer.Option("--jobs", help="Worker processes; 0 is as many as there are cores.", min=0)]
Figure = Annotated[str, typer.Option("--figure", help="Draw accuracy over time into this file (png, svg, pdf).")]
STORE = "engram-store"


@app.command("list")
def list_(
    what: Annotated[str, typer.Argument(help="datasets, streams, learners, networks, protocols, metrics or papers")],
    as_json: Json = False,
) -> None:
    """What there is, with one line of help each."""
    from engram.catalogue import LISTS

    if what not in LISTS:
        raise UnknownName("list of", what, LISTS)
    rows = LISTS[what]()
    if as_json:
        _print_json(rows)
        return
    from engram.reports.tables import print_mapping

    print_mapping(_console(), what, [{n: v for n, v in row.items() if not isinstance(v, (dict, list))} for row in rows])
    settings = {name: about for row in rows for name, about in row.get("settings", {}).items()}
    if settings:
        shown = [{"setting": n, "default": a["default"], "help": a["help"]} for n, a in settings.items()]
        print_mapping(_console(), "settings (--set name=value)", shown)


@app.command()
def run(
    stream: Annotated[str, typer.Argument(help="A stream such as split-digits, permuted-mnist, incremental-cifar100.")],
    learner: Annotated[str, typer.Option("--learner", help="The method; see 'engram list learners'.")],
    dataset: Annotated[str | None, typer.Option("--dataset", help="A dataset's name, or an .npz file.")] = None,
    tasks: Annotated[int | None, typer.Option("--tasks", help="How many tasks.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="key=value of learner, network or stream; several values key=a,b make a grid."),
    ] = None,
    network: Annotated[str | None, typer.Option("--network", help="The network; mlp by default.")] = None,
    protocol: Annotated[str, typer.Option("--protocol", help="How settings are chosen.")] = "sequential",
    head: Annotated[str | None, typer.Option("--head", help="single or multi: is the task given at test time?")] = None,
    seeds: Annotated[str, typer.Option("--seeds", help="Seeds, as 0,1,2.")] = "0",
    epochs: Annotated[int | None, typer.Option("--epochs", help="Passes over each task's data.")] = None,
    batch: Annotated[int | None, typer.Option("--batch", help="Samples in a mini-batch.")] = None,
    rate: Annotated[str | None, typer.Option("--rate", help="Size of a step.")] = None,
    stream_seed: Annotated[
        int | None, typer.Option("--stream-seed", help="Seed of the stream; the run's own by default.")
    ] = None,
    curve: Annotated[
        str, typer.Option("--curve", help="Steps at which to measure a learning curve, as 0-1-2-5-10.")
    ] = "",
    references: Annotated[
        bool, typer.Option("--references", help="Also train the references of intransigence and transfer.")
    ] = False,
    jobs: Jobs = 0,
    store: Place = STORE,
    figure: Figure = "",
    as_json: Json = False,
) -> None:
    """Train one learner on one stream, for one or several seeds."""
    from engram.runs import prepare

    given = _pairs(settings or []) | {
        name: value for name, value in (("epochs", epochs), ("batch", batch), ("rate", rate)) if value is not None
    }
    wanted = [
        prepare(
            stream,
            learner,
            seed=seed,
            head=head,
            protocol_name=protocol,
            network=network,
            dataset=dataset,
            tasks=tasks,
            stream_seed=stream_seed,
            curve=_numbers("--curve", curve, "-"),
            references=references,
            settings=given,
        )
        for seed in _numbers("--seeds", seeds, ",") or [0]
    ]
    records = _execute(wanted, store, jobs)
    if as_json:
        _print_json(_runs_object(records))
    else:
        _print_records(records, store)
    if figure:
        _draw(records, figure, as_json)
    _leave(records)


@app.command()
def demo(jobs: Jobs = 0, store: Place = STORE, figure: Figure = "engram-demo.png", as_json: Json = False) -> None:
    """Eight learners on two streams of real digits, three seeds each: a table and a figure."""
    from engram.demo import demo_runs

    records = _execute(demo_runs(), store, jobs)
    if as_json:
        _print_json(
            {"runs": [{"stream": r.stream, "learner": r.learner, "head": r.head, **r.to_json()} for r in records]}
        )
    else:
        from engram.reports.tables import print_comparison

        print_comparison(_console(), records)
    _draw(records, figure, as_json)
    _leave(records)


@app.command()
def paper(
    name: Annotated[str, typer.Argument(help="A published result; see 'engram list papers'.")],
    tier: Annotated[
        str, typer.Option("--tier", help="quick (seconds, small data) or paper (the published setting).")
    ] = "quick",
    seeds: Annotated[str, typer.Option("--seeds", help="Seeds, as 0,1.")] = "0,1",
    write: Annotated[
        str, typer.Option("--write", help="Put the page, the table and the figure into this folder.")
    ] = "",
    jobs: Jobs = 0,
    store: Place = STORE,
    as_json: Json = False,
) -> None:
    """A published table with ours beside it, each claim as held or not held."""
    from pathlib import Path

    from engram.papers import paper as find
    from engram.papers.paper import Line
    from engram.reports.tables import print_mapping

    found = find(name)
    asked = found.runs(tier, _numbers("--seeds", seeds, ",") or [0])
    records = iter(_execute([run for _, wanted in asked for run in wanted], store, jobs))
    lines = [Line(entry, tuple(next(records) for _ in wanted)) for entry, wanted in asked]
    everything = [record for line in lines for record in line.records]
    _leave(everything)
    if as_json:
        _print_json({"paper": name, "tier": tier, "lines": [line.to_json() for line in lines]})
    else:
        print_mapping(_console(), f"{found.title} ({tier} tier)", found.table(lines))
    if write:
        command = f"engram paper {name} --tier {tier} --seeds {seeds} --write {write}"
        for path in found.write(lines, tier, command, Path(write)):
            if not as_json:
                _say(f"wrote {path}")


@app.command()
def runs(store: Place = STORE, as_json: Json = False) -> None:
    """Every run in the store and how it stands."""
    entries = _open(store, must_exist=True).runs()
    rows = [_run_row(entry) for entry in entries]
    if as_json:
        _print_json({"runs": rows})
        return
    if not rows:
        _say(f"the store {store} has no runs yet")
        return
    from engram.reports.tables import print_mapping

    print_mapping(_console(), f"runs in {store}", [{**row, "key": row["key"][:10]} for row in rows])


@app.command()
def show(
    key: Annotated[str, typer.Argument(help="A run's key or its beginning, from 'engram runs'.")],
    store: Place = STORE,
    figure: Figure = "",
    as_json: Json = False,
) -> None:
    """One run in full: accuracy on every task, metrics, costs, settings."""
    from engram.runs import record_of

    place = _open(store, must_exist=True)
    found = place.runs(key)
    if len(found) != 1:
        raise BadSetting(f"{len(found)} runs in {store} begin with '{key}'; 'engram runs' lists them")
    record = record_of(found[0], place)
    if as_json:
        _print_json(_runs_object([record]))
    else:
        _print_records([record], store)
        _say("settings: " + ", ".join(f"{name}={value}" for name, value in record.settings.items()))
    if figure:
        _draw([record], figure, as_json)


@app.command()
def resume(store: Place = STORE, jobs: Jobs = 0, as_json: Json = False) -> None:
    """Go on with every run that is not done, from where it stands."""
    from engram.runs import Run

    entries = _open(store, must_exist=True).runs()
    wanted = [Run.from_json(entry["spec"]) for entry in entries if entry["status"] != "done"]
    records = _execute(wanted, store, jobs)
    if as_json:
        _print_json({"runs": [{"learner": r.learner, "stream": r.stream, **r.to_json()} for r in records]})
    elif not records:
        _say(f"every run in {store} is done")
    else:
        from engram.reports.tables import print_comparison

        print_comparison(_console(), records)
    _leave(records)


@app.command()
def clean(
    store: Place = STORE,
    failed: Annotated[bool, typer.Option("--failed", help="Also forget runs that failed.")] = False,
    as_json: Json = False,
) -> None:
    """Drop what nothing needs any more: interior checkpoints, positions of runs that will not go on, old nodes."""
    from engram.execute import clean_up

    place = _open(store, must_exist=True)
    report = clean_up(place, forget_failed=failed)
    if as_json:
        _print_json(report)
        return
    from engram.reports.tables import quantity

    _say(f"freed {quantity(report['freed_bytes'], 'B')}; {store} now takes {quantity(report['store_bytes'], 'B')}")


@app.command()
def check(
    learner: Annotated[
        str, typer.Argument(help="A learner's name, or your own class as file.py:Class or module:Class.")
    ],
    as_json: Json = False,
) -> None:
    """Whether a learner keeps the contract: about twenty checks, also for your own class."""
    from engram.checks import check_learner

    checks = check_learner(learner)
    failed = [c for c in checks if not c.passed]
    if as_json:
        _print_json({"learner": learner, "passed": not failed, "checks": [vars(c) for c in checks]})
    else:
        for c in checks:
            _say(f"{'ok    ' if c.passed else 'FAILED'}  {c.name}" + (f": {c.detail}" if not c.passed else ""))
        _say(f"{len(checks) - len(failed)} of {len(checks)} checks passed")
    if failed:
        raise typer.Exit(1)


@data.command("list")
def data_list(as_json: Json = False) -> None:
    """Every dataset: shape, classes, licence, whether its bytes are here."""
    list_("datasets", as_json)


@data.command()
def fetch(name: Annotated[str, typer.Argument(help="A dataset's name.")], as_json: Json = False) -> None:
    """Get a dataset's bytes by whichever road is open; the digest decides whether they are the right ones."""
    from engram import datasets

    path = datasets.fetch(name)
    if as_json:
        _print_json({"name": name, "path": None if path is None else str(path)})
    else:
        _say(f"{name} is here" + (f": {path}" if path else " (nothing to fetch)"))


@data.command()
def verify(
    names: Annotated[list[str] | None, typer.Argument(help="Datasets; all by default.")] = None, as_json: Json = False
) -> None:
    """Compare the digest of every file that is here with the catalogue's."""
    from engram import datasets

    rows = datasets.verify(names or None)
    if as_json:
        _print_json({"files": rows})
    else:
        from engram.reports.tables import print_mapping

        print_mapping(_console(), "files", [{n: row[n] for n in ("name", "file", "status")} for row in rows])
    if any(row["status"] == "damaged" for row in rows):
        raise typer.Exit(1)


def _execute(wanted: list[Run], store: str, jobs: int) -> list[Record]:
    """Grow everything, with a bar on a terminal and a gentle stop; the records in the order of the runs."""
    from engram.execute import default_jobs, execute
    from engram.reports.bar import Bar
    from engram.runs import record_of

    place, bar = _open(store), Bar()
    with bar.listening():
        execute(wanted, place, min(jobs or default_jobs(), max(len(wanted), 1) if not _grids(wanted) else 64), bar)
    entries = {entry["key"]: entry for entry in place.runs()}
    return [record_of(entries[run.key], place) for run in wanted]


def _grids(wanted: list[Run]) -> bool:
    """Whether one run alone can keep several workers busy."""
    return any(len(run.grid) > 1 or run.references for run in wanted)


def _runs_object(records: list[Record]) -> dict[str, Any]:
    from engram.reports.summary import metric_spreads

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
    }


def _print_records(records: list[Record], store: str) -> None:
    from engram.reports.tables import print_runs

    print_runs(_console(), records)
    _say(f"kept in {store} as {', '.join(record.key[:10] for record in records)}")


def _run_row(entry: dict[str, Any]) -> dict[str, Any]:
    spec = entry["spec"]
    return {
        "key": entry["key"],
        "stream": spec["stream"]["name"],
        "learner": spec["learner"],
        "protocol": spec["protocol"],
        "head": spec["head"],
        "seed": spec["seed"],
        "status": entry["status"],
        "error": entry["error"],
    }


def _draw(records: list[Record], figure: str, quiet: bool) -> None:
    from pathlib import Path

    from engram.reports.figure import draw_progress
    from engram.reports.summary import done

    if done(records):
        path = draw_progress(records, Path(figure))
        if not quiet:
            _say(f"figure: {path.resolve()}")


def _leave(records: list[Record]) -> None:
    failed = [record for record in records if record.status != "done"]
    for record in failed:
        print(
            f"engram: {record.learner} on {record.stream}, seed {record.seed}, failed: {record.error}", file=sys.stderr
        )
    if failed:
        raise typer.Exit(1)


def _open(store: str, must_exist: bool = False) -> Store:
    from engram.store import Store

    if must_exist and not os.path.exists(os.path.join(store, "store.db")):
        raise BadSetting(f"there is no store in '{store}'; name one with --store, or make one with 'engram run'")
    return Store(store)


def _pairs(texts: list[str]) -> dict[str, Any]:
    """key=value, where several values between commas are a grid."""
    pairs: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise BadSetting(f"--set {text!r} is not key=value; for example --set strength=100")
        pairs[name.strip()] = value.split(",") if "," in value else value
    return pairs


def _numbers(option: str, text: str, separator: str) -> list[int]:
    try:
        return [int(part) for part in text.split(separator) if part.strip()]
    except ValueError:
        raise BadSetting(
            f"{option} {text!r} is not a list of whole numbers; write it as 0{separator}1{separator}2"
        ) from None


def _console() -> Any:
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 100, highlight=False)


def _say(text: str) -> None:
    print(text)


def _print_json(value: Any) -> None:
    from engram.reports.summary import plain

    print(json.dumps(plain(value)))


def _usage(message: str) -> str:
    """Typer's sentence about a misspelt option or command, in our words."""
    message = message.rstrip(".").replace(" (Possible options: ", "; did you mean ").rstrip(")")
    return message[0].lower() + message[1:].replace(". Did you mean", "; did you mean")


def main() -> None:
    """Run the command line: one line and exit code 2 for a user's mistake, 130 when interrupted."""
    warnings.showwarning = lambda message, *_, **__: print(f"engram: {message}", file=sys.stderr)
    try:
        code = app(standalone_mode=False)
    except EngramError as error:
        print(f"engram: {error}", file=sys.stderr)
        code = error.exit_code
    except (Stopped, KeyboardInterrupt):
        print("engram: stopped; everything so far is saved, 'engram resume' goes on", file=sys.stderr)
        code = 130
    except BrokenPipeError:
        code = 141
    except Exception as error:
        if not hasattr(error, "format_message"):  # typer's own errors have it; anything else is a bug of ours
            raise
        print(f"engram: {_usage(error.format_message())}", file=sys.stderr)
        code = 2
    sys.exit(code)


if __name__ == "__main__":
    main()
