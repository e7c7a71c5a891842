"""The commands that take results elsewhere and bring them together: export, import."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engram.cli.finding import experiment_of, some_runs
from engram.cli.model_options import open_model
from engram.cli.options import STORE, Json, Place, check_file, check_folder, files_of, open_store
from engram.cli.output import others_printing, print_json, say, waiting
from engram.errors import BadSetting
from engram.extras import require

if TYPE_CHECKING:
    from engram.record import Record
    from engram.store import Store

NEEDED = {
    "parquet": ("pyarrow", "dataframes"),
    "tensorboard": ("tensorboard", "tracking"),
    "mlflow": ("mlflow", "tracking"),
}


Keys = Annotated[
    list[str] | None,
    typer.Argument(help="Keys of runs or experiments, or experiment files; all by default. A model's file for --onnx."),
]
Onnx = Annotated[str, typer.Option("--onnx", metavar="FILE", help="A model in a file, for onnxruntime and others.")]
Csv = Annotated[str, typer.Option("--csv", metavar="FILE", help="A row a run, for a spreadsheet.")]
Parquet = Annotated[str, typer.Option("--parquet", metavar="FILE", help="The same, for pandas and others.")]
Latex = Annotated[str, typer.Option("--latex", metavar="FILE", help="A row a method, for a paper (package booktabs).")]
EventFolder = Annotated[str, typer.Option("--tensorboard", metavar="DIR", help="Accuracies over time.")]
MlflowPlace = Annotated[str, typer.Option("--mlflow", metavar="DIR|URI", help="Runs, settings and metrics.")]
Runs = Annotated[str, typer.Option("--runs", metavar="FILE", help="Runs that are done, for 'engram import' elsewhere.")]
Means = Annotated[bool, typer.Option("--means", help="A row a method also in --csv, --parquet, --json: mean, std, n.")]
Metrics = Annotated[str, typer.Option("--metrics", metavar="NAME,..", help="Columns of --latex and --means.")]


def export(
    keys: Keys = None,
    csv: Csv = "",
    parquet: Parquet = "",
    latex: Latex = "",
    tensorboard: EventFolder = "",
    mlflow: MlflowPlace = "",
    runs: Runs = "",
    onnx: Onnx = "",
    means: Means = False,
    metrics: Metrics = "",
    store: Place = STORE,
    as_json: Json = False,
) -> None:
    """Take runs elsewhere (CSV, trackers), or a model (ONNX).

    Files are written whole or not at all; one that is there is replaced.
    """
    files, folders = {"csv": csv, "parquet": parquet, "latex": latex}, {"tensorboard": tensorboard, "mlflow": mlflow}
    if onnx:
        others = {**files, **folders, "runs": runs, "means": str(means or ""), "metrics": metrics}
        _refuse(others, "is of runs and --onnx of a model; give one of the two")
        model_to_onnx(keys or [], onnx, as_json)
        return
    _check_places({**files, "runs": runs}, folders, [*files_of(store), *(keys or [])], as_json)
    from engram.exports.writing import write_files
    from engram.parcel import done_runs

    names = _metrics(metrics, shown=bool(means or latex))
    place = open_store(store, must_exist=True)
    records = _records(place, keys or [])
    if runs:
        done_runs(place, [record.key for record in records])  # refused before anything else is written
    rows, make_latex = _content(place, keys or [], records, names, means)
    written = write_files(files, rows, make_latex) + _packed(place, records, runs)
    written += _tracked(records, tensorboard, mlflow)
    if as_json:
        print_json({"methods" if means else "runs": rows, "written": written})
    for line in [] if as_json else written:
        say(f"wrote {line}")


def model_to_onnx(models: list[str], onnx: str, as_json: bool) -> None:
    """`engram export birds.engram --onnx birds.onnx`."""
    if len(models) != 1:
        raise BadSetting(f"--onnx takes one model's file and {len(models)} were named; as in 'engram export a.engram'")
    for package in ("onnx", "onnxruntime"):
        require(package, "onnx")
    check_file("--onnx", onnx, models)
    known = open_model(models[0])
    from engram.exports.onnx_model import write_onnx

    with waiting(f"exporting {models[0]}"), others_printing():
        found = write_onnx(known, Path(onnx))
    if as_json:
        print_json({"model": models[0], "onnx": onnx, **found})
        return
    for name, columns in found["inputs"].items():
        say(f"input '{name}': {', '.join(map(str, columns))}")
    say(f"wrote {onnx}: onnxruntime answers as the model does, to {found['differs']:.1g}")


def _metrics(text: str, shown: bool) -> list[str]:
    """The names of columns, every one known, if they are shown anywhere."""
    from engram.exports.means import column_of

    found = [column_of(name.strip()).metric for name in text.split(",") if name.strip()]
    if not shown:
        _refuse({"metrics": text}, "names columns of --latex and --means; add one of them or leave it out")
    return found


def _content(
    place: Store, keys: list[str], records: list[Record], metrics: list[str], means: bool
) -> tuple[list[dict[str, Any]], Callable[[], str]]:
    """The rows, and what makes a table: of one experiment with the differences between its rows."""
    from engram.exports.compared import compared_latex, compared_rows
    from engram.exports.flat import flat
    from engram.exports.means import USUAL, mean_rows
    from engram.exports.writing import latex_of
    from engram.reports.kept import comparisons_of

    kept = experiment_of(place, keys[0]) if len(keys) == 1 else None
    flat_rows = [] if means else [flat(record) for record in records]
    if kept is None or len(kept["rows"]) < 2:
        return flat_rows or mean_rows(records, metrics), lambda: latex_of(records, metrics or USUAL)
    found = comparisons_of(kept, place)
    return flat_rows or compared_rows(found, metrics), lambda: compared_latex(found, metrics or USUAL)


def _refuse(options: dict[str, str], why: str) -> None:
    """What would be left aside without a word."""
    for name in (name for name, value in options.items() if value):
        raise BadSetting(f"--{name} {why}")


def _check_places(files: dict[str, str], folders: dict[str, str], read: list[str], as_json: bool) -> None:
    """Before anything is read or written: whether there is a place, no two are the same, none is what is `read`, and
    each can be written."""
    given = [place for place in [*files.values(), *folders.values()] if place]
    if not given and not as_json:
        raise BadSetting(
            "where to? Give --csv, --parquet, --latex or --runs FILE, --tensorboard or --mlflow DIR, or --json"
        )
    real = [os.path.realpath(place) for place in given]
    twice = next((place for place, where in zip(given, real, strict=True) if real.count(where) > 1), None)
    if twice is not None:
        raise BadSetting(f"{twice!r} is given twice; two kinds of results need two places")
    for kind in (kind for kind, place in [*files.items(), *folders.items()] if place and kind in NEEDED):
        require(*NEEDED[kind])
    for kind, file in files.items():
        check_file(f"--{kind}", file, read)
    for kind, folder in folders.items():
        check_folder(f"--{kind}", "" if "://" in folder else folder)


def _records(place: Store, keys: list[str]) -> list[Record]:
    """Of the runs that are meant, or of all; each once."""
    from engram.runs import record_of

    chosen = some_runs(place, keys)
    if not chosen:
        raise BadSetting(f"the store {place.folder} has no runs yet; 'engram run' makes one")
    return [record_of(entry, place) for entry in chosen]


def _packed(place: Store, records: list[Record], runs: str) -> list[str]:
    """The runs as another store takes them in."""
    if not runs:
        return []
    from engram.parcel import export_runs

    export_runs(place, runs, {record.key for record in records})
    return [runs]


def import_(
    sources: Annotated[list[str], typer.Argument(help="Files that 'engram export --runs' made, or other stores.")],
    store: Place = STORE,
    as_json: Json = False,
) -> None:
    """Take in runs of other machines: they count as trained here.

    They come in whole or not at all; runs that are done here already stay as they are.
    """
    from engram.parcel import read_runs, take_in

    parcels = {source: read_runs(source) for source in sources}
    place = open_store(store)
    found = {source: take_in(place, rows)._asdict() for source, rows in parcels.items()}
    if as_json:
        print_json(found)
    for source, counts in ({} if as_json else found).items():
        say(f"{source}: {counts['runs']} runs taken in, {counts['known']} were here already")


def _tracked(records: list[Record], tensorboard: str, mlflow: str) -> list[str]:
    told = []
    if tensorboard:
        from engram.exports.tensorboard import to_tensorboard

        told.append(to_tensorboard(records, Path(tensorboard)))
    if mlflow:
        from engram.exports.mlflow import to_mlflow

        told.append(to_mlflow(records, mlflow))
    return told
