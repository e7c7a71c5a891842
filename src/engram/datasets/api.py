"""The functions behind `engram.datasets`: list, describe, load, fetch, verify."""

from __future__ import annotations

import os
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram.datasets import digest, local, own_file
from engram.datasets.catalogue import ENTRIES, Entry
from engram.errors import BadSetting, DataUnavailable, UnknownName
from engram.readers.reading import SUFFIXES

if TYPE_CHECKING:
    from engram.core import Dataset

_KEPT_IN_MEMORY = 8


def names() -> list[str]:
    """All names that `load` knows."""
    return [entry.name for entry in ENTRIES]


def describe(name: str) -> dict[str, Any]:
    """What the catalogue says about a dataset, as plain JSON, and whether its files are on this machine."""
    entry = find(name)
    road = local.road(entry) if entry.files else {"embedded": "scikit-learn", "blobs": "synthetic"}[entry.kind]
    return {
        "name": entry.name,
        "shape": list(entry.shape),
        "classes": entry.classes,
        "train": entry.train,
        "test": entry.test,
        "test_in_train": len(entry.in_both),
        "licence": entry.licence,
        "source": entry.source,
        "files": [
            {"name": f.name, "bytes": f.bytes, "digest": f.digest, "sha256": _sha256(f.digest)} for f in entry.files
        ],
        "roads": [road.title for road in entry.roads],
        "available": road is not None,
        "road": road,
    }


def load(name_or_path: str | os.PathLike[str], **options: Any) -> Dataset:
    """A dataset by name, or a user's own: an .npz file, "my.csv#label" (also .parquet) with the name of the label's
    column, or a folder of images with one folder a class, which "photos#32" brings to 32 by 32 pixels.
    Kept in memory: the same call gives the same object.

    `options` are the settings of `blobs`; nothing else has any.
    """
    name = os.fspath(name_or_path)
    entry = next((entry for entry in ENTRIES if entry.name == name), None)
    if entry is None:
        return _from_path(name, options)
    if entry.kind == "blobs":
        from engram.datasets import blobs

        return _load_blobs(tuple(sorted(blobs.options(options).items())))
    _no_options(name, options)
    return _load_entry(entry, tuple(local.places(entry)))


def fetch(name: str, timeout: float = 30.0) -> Path | None:
    """Get a dataset's files into the cache by the first road that is open, and return their folder.

    None if there is nothing to fetch: the dataset is embedded or synthetic. `timeout` is in seconds without a byte.
    """
    from engram.datasets import roads

    entry = find(name)
    return roads.fetch(entry, timeout) if entry.files else None


def verify(names: list[str] | None = None) -> list[dict[str, Any]]:
    """Compare every file on this machine with its digest. One row a file: ok, missing or damaged.

    A file counts as damaged if any copy of it is, even where `load` would find an intact one.
    """
    entries = ENTRIES if names is None else [find(name) for name in names]
    return [_verified(entry, file) for entry in entries for file in entry.files]


def find(name: str) -> Entry:
    """The catalogue's entry of this name."""
    for entry in ENTRIES:
        if entry.name == name:
            return entry
    raise UnknownName("dataset", name, names())


def _verified(entry: Entry, file: Any) -> dict[str, Any]:
    row = {"name": entry.name, "file": file.name, "status": "missing", "expected": file.digest, "found": None}
    for _, path in local.copies(entry, file):
        found = digest.found(path, file)
        row = {**row, "path": str(path), "found": found, "status": "ok" if found == file.digest else "damaged"}
        if found != file.digest:
            break
    return row


def _from_path(name: str, options: dict[str, Any]) -> Dataset:
    path, note = own_file.address(name)
    if not os.path.exists(path):  # which, unlike Path's own, takes a name that is too long for one that is not there
        if path.suffix.lower() in SUFFIXES:
            raise DataUnavailable(f"there is no file {path}; give the path of an existing {path.suffix} file")
        raise UnknownName("dataset", name, names())
    if not path.is_file() and (not path.is_dir() or path.suffix.lower() in SUFFIXES):
        kind = "folder" if path.is_dir() else "pipe or a device"
        raise DataUnavailable(f"{name} is not a file but a {kind}; give the path of an .npz or .csv file")
    _no_options(name, options)
    return _load_path(name, str(path.resolve()), note, own_file.last_change(path))


def _no_options(name: str, options: dict[str, Any]) -> None:
    if options:
        given = ", ".join(f"{key}={value!r}" for key, value in options.items())
        raise BadSetting(f"dataset '{name}' has no settings, but {given} was given; leave it out")


def _sha256(text: str) -> str | None:
    return text.removeprefix("sha256:") if text.startswith("sha256:") else None


@lru_cache(maxsize=_KEPT_IN_MEMORY)
def _load_entry(entry: Entry, places: tuple[local.DataFolder, ...]) -> Dataset:
    from engram.datasets.arrays import dataset

    reader = import_module(f"engram.datasets.{entry.kind}")
    if entry.kind == "embedded":
        return dataset(entry.name, *reader.load())
    return dataset(entry.name, reader.load(entry), digest.combined(entry.files), entry.in_both)


@lru_cache(maxsize=_KEPT_IN_MEMORY)
def _load_blobs(options: tuple[tuple[str, Any], ...]) -> Dataset:
    from engram.datasets import blobs
    from engram.datasets.arrays import dataset

    return dataset("blobs", *blobs.load(dict(options)))


@lru_cache(maxsize=_KEPT_IN_MEMORY)
def _load_path(name: str, path: str, note: str, changed: tuple[int, int]) -> Dataset:
    from engram.datasets import npz
    from engram.datasets.arrays import dataset

    if path.endswith(".npz"):
        return dataset(name, npz.read(Path(path), name), digest.of_file(Path(path)).removeprefix("sha256:"))
    return dataset(name, *own_file.load(Path(path), name, note))
