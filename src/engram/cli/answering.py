"""Commands that ask a model in a file: predict, test, inspect."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engram.cli import model_options as asked
from engram.cli.options import Json, check_file
from engram.cli.output import console, print_json, say, waiting, warn
from engram.errors import ModelInUse, StoreTrouble

if TYPE_CHECKING:
    from engram.estimator import ContinualClassifier

UNKNOWN = "unknown"
MOST_SHOWN = 200  # classes whose probabilities are all written
AnswersFile = Annotated[
    str, typer.Option("--out", metavar="FILE", help="Write the answers as CSV; else they are printed.")
]
Unknown = Annotated[
    float,
    typer.Option("--unknown-below", metavar="P", min=0.0, max=1.0, help="Say 'unknown' where no class is as probable."),
]
Keep = Annotated[str, typer.Option("--keep", metavar="COLUMN,..", help="Columns to copy beside the answers.")]


def predict(
    model: asked.ModelFile,
    file: asked.DataPath,
    out: AnswersFile = "",
    unknown: Unknown = 0.0,
    keep: Keep = "",
    as_json: Json = False,
) -> None:
    """Answer rows of your own: labels and probabilities.

    One line a row, in their order: where it stands, the label, its probability and that of each class.
    """
    from engram import files
    from engram.reports.csv_text import csv_text

    check_file("--out", out, (model, file))
    known = asked.open_model(model)
    with waiting(f"answering {file}"):
        rows = _answers(known, file, unknown, asked.names_of(keep))
    text = csv_text([list(rows[0]), *(list(row.values()) for row in rows)])
    if out:
        files.write(Path(out), text.encode())
    if as_json:
        print_json({"model": model, "file": file, "out": out or None, "rows": rows})
    elif out:
        unsure = sum(row["label"] == UNKNOWN for row in rows) if unknown else 0
        say(f"wrote {out}: {len(rows):,} answers" + (f", {unsure:,} of them {UNKNOWN}" if unknown else ""))
    else:
        for line in text.splitlines():
            say(line)


def examine(model: asked.ModelFile, file: asked.DataPath, as_json: Json = False) -> None:
    """Accuracy by class, what was forgotten and broken.

    A few numbers stay in the model, so that a later test with the same rows says what was forgotten since.
    """
    from engram.estimator import own_files, testing
    from engram.reports.models import print_examined

    known = asked.open_model(model)
    with waiting(f"testing with {file}"):
        sheet = own_files.read_for(known, file, labelled=True)
        found = testing.examine(known, sheet)
    try:
        known.save(model)
    except (StoreTrouble, ModelInUse) as error:
        warn(f"this test is not kept: {error}")
    if as_json:
        print_json({"model": model, "file": file, **found.to_json(sheet.place)})
    else:
        print_examined(console(), f"{model} on {file}", found, sheet.place)


def inspect(model: asked.ModelFile, as_json: Json = False) -> None:
    """What a model knows: sessions, classes, bytes."""
    from engram.estimator.describing import described
    from engram.reports.models import print_model

    about = {"model": model, "bytes": os.path.getsize(model) if os.path.exists(model) else 0}
    about |= described(asked.open_model(model))
    if as_json:
        print_json(about)
    else:
        print_model(console(), about)


def _answers(known: ContinualClassifier, file: str, unknown: float, keep: list[str]) -> list[dict[str, Any]]:
    """A row for each row: where it is, columns to keep, label, probability, and that of each class."""
    from engram.estimator import own_files

    sheet, kept = own_files.read_beside(known, file, keep)
    with own_files.about(sheet):
        found = known.predict_proba(sheet.rows())
    labels, best = known.classes_.tolist(), found.argmax(axis=1).tolist()
    each = [f"p({label})" for label in labels] if len(labels) <= MOST_SHOWN else []
    beside = _renamed(kept, {"row", "label", "probability", *each})
    rows = []
    for row, (place, shares) in enumerate(zip(best, found.tolist())):
        label = labels[place] if shares[place] >= unknown else UNKNOWN
        copied = {name: values[row] for name, values in beside.items()}
        answer = {"label": label, "probability": shares[place], **dict(zip(each, shares))}
        rows.append({"row": sheet.key(row), **copied, **answer})
    return rows


def _renamed(kept: Mapping[str, list[Any]], taken: set[str]) -> dict[str, list[Any]]:
    """A kept column that has the name of an answer says that it was kept."""
    found: dict[str, list[Any]] = {}
    for name, values in kept.items():
        while name in taken | found.keys():
            name = f"kept {name}"
        found[name] = values
    return found
