"""One function for every kind of file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engram.errors import DataUnavailable
from engram.readers.sheet import LABEL, Sheet, split_label

TABLES = (".csv", ".tsv", ".parquet")
SUFFIXES = (*TABLES, ".npz")
KINDS_SHOWN = "give a .csv, .parquet or .npz file, or a folder of images with one folder a class"


def is_readable(path: str | os.PathLike[str]) -> bool:
    """Whether a path looks like something that `read` reads, by its name or because it is a folder."""
    return os.path.isdir(path) or os.fspath(path).lower().endswith(SUFFIXES)


def read(
    path: str | os.PathLike[str],
    *,
    label: str | None = None,
    labelled: bool = True,
    kinds: Mapping[str, str] | None = None,
    shape: tuple[int, int, int] | None = None,
    side: tuple[int, int] | None = None,
    text_labels: bool = False,
) -> Sheet:
    """The sheet that a file or a folder holds.

    `label` is the column with the labels; .npz files have theirs in y, and images are in their class's folder. Labels
    that are not there are an error where they have to be `labelled`. `kinds` says of columns that they hold numbers,
    text or dates, as earlier files did, or are idle: what is in them does not matter. `shape` and `side` (height,
    width) are what images become. `text_labels` keeps labels text that are all numbers here and were not elsewhere.
    """
    where, place = os.fspath(path), Path(os.path.expanduser(path))
    try:
        sheet = _read(place, where, label, labelled, kinds or {}, shape, side, text_labels)
    except OSError as error:
        raise DataUnavailable(f"{where} cannot be read: {error.strerror or error}") from error
    if labelled:
        sheet.known_labels()
    return sheet


def as_written(path: str | os.PathLike[str], names: Sequence[str]) -> dict[str, list[Any]]:
    """Columns of a table as its file has them: the text of cells, of parquet the values."""
    from engram.readers import csv_file, parquet

    where, place = os.fspath(path), Path(os.path.expanduser(path))
    return (parquet if place.suffix.lower() == ".parquet" else csv_file).as_written(place, where, names)


def _read(
    place: Path,
    where: str,
    label: str | None,
    labelled: bool,
    kinds: Mapping[str, str],
    shape: tuple[int, int, int] | None,
    side: tuple[int, int] | None,
    text_labels: bool,
) -> Sheet:
    from engram.readers import csv_file, images, npz, parquet

    if place.is_dir():
        return images.read(place, where, shape, side, labelled)
    if not os.path.exists(place):  # which, unlike Path's own, takes a name that is too long for one that is not there
        raise DataUnavailable(f"there is no file {where}; {KINDS_SHOWN}")
    suffix = place.suffix.lower()
    if not place.is_file() or suffix not in SUFFIXES:
        raise DataUnavailable(f"{where} is nothing that can be read as samples; {KINDS_SHOWN}")
    if suffix == ".npz":
        return npz.read(place, where)
    table = parquet if suffix == ".parquet" else csv_file
    own = {} if label is None else {label: LABEL}
    return split_label(table.read(place, where, {**kinds, **own}), label, labelled, text_labels)
