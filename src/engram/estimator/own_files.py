"""A model and the files of its owner. How files are read is kept with the model: the label's column, what is left out,
and by the columns of the first file what later ones hold."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engram.errors import BadInput, BadSetting, UnknownName
from engram.estimator import columns
from engram.estimator.classifier import ContinualClassifier
from engram.estimator.model_file import updating
from engram.readers import Sheet, as_written, read
from engram.readers.sheet import IDLE, NUMBER, TEXT, has_numbers_as_text

KINDS = {columns.NUMBER: NUMBER, columns.CATEGORY: TEXT}


def begin(
    path: str,
    file: str,
    parameters: Mapping[str, Any],
    label: str | None = None,
    without: Sequence[str] = (),
    side: tuple[int, int] | None = None,
) -> ContinualClassifier:
    """A new model in a file of its own, which has learned from its first file. How that one is read, later ones are."""
    sheet = read(file, label=label, side=side, kinds=dict.fromkeys(without, IDLE)).without(without)
    if not sheet.columns and (label or without):
        raise BadSetting(f"{file} has no columns, so none can be named; its labels are in its {sheet.label}")
    model = ContinualClassifier(**parameters)
    model._notes = {"label": label, "without": list(without)}
    learn(model, sheet)
    model.save(path)
    return model


def go_on(path: str, file: str, label: str | None = None) -> ContinualClassifier:
    """The model in a file after one more session, which is saved."""
    with updating(path) as model:
        known = model._notes.get("label")
        if label is not None and known not in (None, label):
            raise BadSetting(f"the label of {path} is the column '{known}'; leave --label {label} out")
        model._notes = {**model._notes, "label": label or known}
        learn(model, read_for(model, file, labelled=True))
    return model


def read_for(model: ContinualClassifier, path: str, labelled: bool) -> Sheet:
    """A file as the model's first one was: the same columns, whatever their order, of the same kinds."""
    return read_beside(model, path, (), labelled)[0]


def read_beside(
    model: ContinualClassifier, path: str, keep: Sequence[str], labelled: bool = False
) -> tuple[Sheet, dict[str, list[Any]]]:
    """The same, and some columns as the file has them, of those too that the model does without."""
    preparation, notes = model._known().preparation, model._notes
    kinds = dict.fromkeys([*notes.get("without", ()), *keep], IDLE)
    kinds |= {column["name"]: KINDS[column["kind"]] for column in preparation.columns}
    shape = preparation.shape if len(preparation.shape) == 3 else None
    as_text = has_numbers_as_text(model._known().labels.classes)
    sheet = read(path, label=notes.get("label"), labelled=labelled, kinds=kinds, shape=shape, text_labels=as_text)
    names = tuple(column["name"] for column in preparation.columns)
    if sheet.x is not None and sheet.x.shape[1:] != preparation.shape:
        raise BadInput(f"{path} has rows of shape {sheet.x.shape[1:]}; those of the first session: {preparation.shape}")
    kept = as_written(path, keep) if keep and sheet.columns else {name: _labels(sheet, name) for name in keep}
    idle = [*notes.get("without", ()), *(name for name in keep if name not in names)]
    return sheet.without([name for name in idle if name in sheet.columns]), kept


def _labels(sheet: Sheet, name: str) -> list[Any]:
    """Of images and arrays only their labels have a name."""
    if name != sheet.label or sheet.labels is None:
        raise UnknownName(f"column in {sheet.where} called", name, () if sheet.labels is None else (str(sheet.label),))
    return list(sheet.labels.tolist())


@contextlib.contextmanager
def about(sheet: Sheet) -> Iterator[None]:
    """What is wrong with rows is said with the file that they are from."""
    try:
        yield
    except BadInput as error:
        raise BadInput(f"{sheet.where}: {error}") from error


def learn(model: ContinualClassifier, sheet: Sheet) -> None:
    """A session with the rows of a sheet."""
    with about(sheet):
        model.partial_fit(sheet.rows(), sheet.known_labels())
    model._known().history[-1]["file"] = sheet.where


def forget(model: ContinualClassifier, sheet: Sheet) -> None:
    """As if the rows of a sheet had never come."""
    with about(sheet):
        model.forget(sheet.rows(), sheet.known_labels())
    model._known().history[-1]["file"] = sheet.where
