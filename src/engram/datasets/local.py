"""Files that are already on this machine: in the ENGRAM_DATA folder, in Engram's cache, or from a Debian package."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

from engram.datasets import digest
from engram.datasets.catalogue import DataFile, Debian, Entry
from engram.errors import DamagedFile, DataUnavailable

T = TypeVar("T")


class DataFolder(NamedTuple):
    """A folder that may hold datasets, and the name of the road that leads there."""

    road: str
    folder: Path


def cache() -> Path:
    """Where fetched datasets are kept: $ENGRAM_CACHE, or the usual place of the operating system."""
    chosen = os.environ.get("ENGRAM_CACHE")
    if chosen:
        return Path(chosen).expanduser() / "datasets"
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "engram" / "datasets"


def places(entry: Entry) -> list[DataFolder]:
    """The folders to look in, in order."""
    found = [DataFolder("cache", cache())]
    chosen = os.environ.get("ENGRAM_DATA")
    if chosen:
        found.insert(0, DataFolder("ENGRAM_DATA", Path(chosen).expanduser()))
    return found + [DataFolder("debian", Path(road.folder)) for road in entry.roads if isinstance(road, Debian)]


def copies(entry: Entry, file: DataFile) -> Iterator[tuple[str, Path]]:
    """Every file on this machine that claims to be `file`, best road first."""
    for road, folder in places(entry):
        parents = (folder,) if road == "debian" else (folder / entry.name, folder)
        names = (file.name,) if file.name.endswith((".npz", ".gz")) else (file.name, f"{file.name}.gz")
        yield from ((road, path) for parent in parents for name in names if (path := parent / name).is_file())


def read(entry: Entry, file: DataFile) -> bytearray:
    """The verified content of a file from the first place that has it intact."""
    return _first(entry, file, lambda path: digest.read(path, file))


def path(entry: Entry, file: DataFile) -> Path:
    """A verified copy of a file, for readers that need a path. It may be packed."""

    def verified(candidate: Path) -> Path:
        with digest.unpacked(candidate, file) as stream:
            digest.check(stream, file, str(candidate), lambda chunk: None)
        return candidate

    return _first(entry, file, verified)


def _first(entry: Entry, file: DataFile, use: Callable[[Path], T]) -> T:
    trouble: DamagedFile | None = None
    for _, candidate in copies(entry, file):
        try:
            return use(candidate)
        except DamagedFile as error:
            trouble = trouble or error
    if trouble:
        raise DamagedFile(f"{trouble}; delete it{_or_fetch(entry)}")
    raise missing(entry)


def _or_fetch(entry: Entry) -> str:
    return f" and run 'engram data fetch {entry.name}'" if entry.roads else " and copy it again"


def road(entry: Entry) -> str | None:
    """By which road all files of an entry are at hand, or None. Looks at names only, so that a listing is quick."""
    roads = [next((road for road, _ in copies(entry, file)), None) for file in entry.files]
    return None if None in roads else str(roads[0])


def missing(entry: Entry) -> DataUnavailable:
    """The error that says which files to put where."""
    absent = [file for file in entry.files if not any(True for _ in copies(entry, file))]
    way = f"run 'engram data fetch {entry.name}', or" if entry.roads else "it has no public address:"
    return DataUnavailable(f"dataset '{entry.name}' is not on this machine; {way} {by_hand(entry, absent)}")


def by_hand(entry: Entry, files: list[DataFile]) -> str:
    """What a user can do without a network road."""
    packages = "".join(f"install the {road.title}, or " for road in entry.roads if isinstance(road, Debian))
    wanted = ", ".join(f"{file.name} ({file.digest})" for file in files)
    return f"{packages}put {wanted} into {drop_folder(entry)}"


def drop_folder(entry: Entry) -> Path:
    """Where a user may put the files of an entry by hand."""
    return Path(os.environ.get("ENGRAM_DATA") or cache()).expanduser() / entry.name
