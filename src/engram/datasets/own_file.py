"""Datasets from a user's own CSV or parquet file, or folder of images: a fifth of every class becomes the test set."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np

from engram.datasets.arrays import Arrays
from engram.errors import BadData, BadSetting
from engram.readers.encoding import Encoding
from engram.readers.reading import SUFFIXES, read

MARK = "#"


def address(name: str) -> tuple[Path, str]:
    """A path, and what is said behind it: the label's column, or the side of images.

    >>> address("my.csv#species")[1]
    'species'
    """
    path, mark, note = name.rpartition(MARK)
    if not mark or os.path.exists(os.path.expanduser(name)):
        return Path(os.path.expanduser(name)), ""
    return Path(os.path.expanduser(path)), note


def last_change(path: Path) -> tuple[int, int]:
    """Differs where the content of a file or a folder may."""
    inside = [entry.stat() for entry in ([path, *path.rglob("*")] if path.is_dir() else [path])]
    return max(stat.st_mtime_ns for stat in inside), sum(stat.st_size for stat in inside)


def load(path: Path, where: str, note: str) -> tuple[Arrays, str]:
    """The samples and their digest."""
    from engram.datasets.npz import numbered, split, tested_rows

    if path.is_file() and path.suffix.lower() not in SUFFIXES:
        raise BadData(f"{where} is nothing that can be read as samples; give one of: {', '.join(SUFFIXES)}")
    if path.is_file() and not note:
        raise BadSetting(f"{where} needs the name of its label column; say --label NAME, or '{where}{MARK}NAME'")
    if path.is_dir() and note and not note.isdecimal():
        raise BadSetting(f"{where}: '{note}' is no size of images; the folder's names are their labels")
    sheet = read(path, label=note) if path.is_file() else read(path, side=(int(note),) * 2 if note else None)
    y = sheet.known_labels()
    x = sheet.x if sheet.x is not None else Encoding.of(sheet.take(~tested_rows(y)))(sheet)
    sha = hashlib.sha256(repr((x.shape, x.dtype, y.tolist())).encode())
    sha.update(np.ascontiguousarray(x).tobytes())
    return numbered(*split(x, y), None, where), sha.hexdigest()
