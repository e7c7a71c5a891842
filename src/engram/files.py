"""Files that appear under their names whole or not at all: temporary file, fsync, rename, fsync of the folder."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from engram.errors import DiskFull, StoreTrouble


def temporary(path: Path) -> Path:
    """Where the content of a path is written before it gets its name. It is fixed: where a path has one writer at a
    time (the store's locks see to that) a crash leaves no litter behind."""
    return path.with_name(f".writing-{path.name}")


@contextlib.contextmanager
def replacing(path: Path, beside: Path | None = None) -> Iterator[BinaryIO]:
    """A file to write into that takes the place of the path when the block has come to its end. Until then it lies
    `beside`; an error leaves nothing of it."""
    beside = beside or temporary(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.unlink(missing_ok=True)  # whatever it is: opening a pipe would wait for its reader
        with beside.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
        _sync_folder(path.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise


def write(path: Path, *content: bytes) -> None:
    """Put the content, in as many parts as it comes, under the path: whole or not at all."""
    try:
        with replacing(path) as file:
            file.writelines(content)
    except OSError as error:
        raise trouble(error, path, sum(map(len, content))) from error


def require_regular(path: Path) -> None:
    """A pipe or a device would be waited for, or read, without end."""
    with contextlib.suppress(OSError):  # what cannot be looked at cannot be opened either, and who tries says why
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise StoreTrouble(f"{path} is not a regular file; remove it or choose another --store")


def trouble(error: OSError, path: Path, size: int) -> StoreTrouble:
    """What went wrong with a file, in a sentence."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"the disk is full: {path} needs {size} bytes; free some space and run 'engram resume'")
    return StoreTrouble(f"{path} cannot be written ({error.strerror or error}); check the folder's permissions")


def _sync_folder(folder: Path) -> None:
    """Make a rename last through a power cut, where the system lets a folder be opened."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
