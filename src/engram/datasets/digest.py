"""Bytes are used only after they were compared with the digest in the catalogue."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from engram.datasets.catalogue import DataFile
from engram.errors import DamagedFile, DataUnavailable

CHUNK = 1 << 20


def of_file(path: Path, algorithm: str = "sha256") -> str:
    """The digest of a file as it lies on disk, such as "sha256:…"."""
    sha = _hasher(algorithm)
    with path.open("rb") as stream:
        for chunk in iter(lambda: stream.read(CHUNK), b""):
            sha.update(chunk)
    return f"{algorithm}:{sha.hexdigest()}"


def measure(stream: BinaryIO, file: DataFile, sink: Callable[[bytes], object]) -> tuple[str, str]:
    """Give what is in `stream` to `sink`; return its digest, and its length in words.

    Reading stops when the file's known size is exceeded, so a small archive that unpacks without end costs nothing.
    """
    algorithm = file.digest.partition(":")[0]
    sha, size, trouble = _hasher(algorithm), 0, ""
    try:
        for chunk in iter(lambda: stream.read(CHUNK), b""):
            size += len(chunk)
            sha.update(chunk)
            if size > file.bytes:
                trouble = " and more"
                break
            sink(chunk)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        trouble = f" until: {error}"
    return f"{algorithm}:{sha.hexdigest()}", f"{size} bytes{trouble}"


def check(stream: BinaryIO, file: DataFile, where: str, sink: Callable[[bytes], object]) -> None:
    """Give everything in `stream` to `sink`, and raise `DamagedFile` unless it was exactly `file`.

    What the sink received before an error is worthless.
    """
    found, length = measure(stream, file, sink)
    if found != file.digest:
        raise DamagedFile(
            f"{where} is not the published {file.name}: expected {file.digest} ({file.bytes} bytes), "
            f"found {found} ({length})"
        )


def unpacked(path: Path, file: DataFile) -> BinaryIO:
    """The bytes of a file, unpacked if .gz was added to its name."""
    packed = path.suffix == ".gz" and not file.name.endswith(".gz")
    try:
        return gzip.open(path, "rb") if packed else path.open("rb")  # type: ignore[return-value]
    except OSError as error:
        raise DataUnavailable(f"{path} cannot be read: {error.strerror or error}") from error


def read(path: Path, file: DataFile) -> bytearray:
    """The verified, unpacked content of a file, in memory that arrays may share."""
    content = bytearray(file.bytes)
    filled = 0

    def keep(chunk: bytes) -> None:
        nonlocal filled
        content[filled : filled + len(chunk)] = chunk
        filled += len(chunk)

    with unpacked(path, file) as stream:
        check(stream, file, str(path), keep)
    return content


def found(path: Path, file: DataFile) -> str:
    """The digest of a file's unpacked bytes."""
    with unpacked(path, file) as stream:
        return measure(stream, file, lambda chunk: None)[0]


def combined(files: tuple[DataFile, ...]) -> str:
    """One sha256 for a dataset of several files."""
    return hashlib.sha256("\n".join(f"{file.name} {file.digest}" for file in files).encode()).hexdigest()


def _hasher(algorithm: str) -> hashlib._Hash:
    return hashlib.new(algorithm, usedforsecurity=False)
