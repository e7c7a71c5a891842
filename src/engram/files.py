"""Files that appear under their names whole or not at all: temporary file, fsync, rename, fsync of the folder."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator
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


@contextlib.contextmanager
def locked(path: Path, while_waiting: Callable[[], object]) -> Iterator[None]:
    """Hold a lock, which is a file that is there meanwhile. It is given back by the kernel if this process dies.
    `while_waiting` is called now and then while another process has it, and may raise."""
    while not _acquired(descriptor := _open(path), path):
        os.close(descriptor)
        while_waiting()
        time.sleep(0.05)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _open(path: Path) -> int:
    try:
        path.parent.mkdir(exist_ok=True)
        return os.open(path, os.O_CREAT | os.O_RDWR)
    except OSError as error:
        raise trouble(error, path, 0) from error


def _acquired(descriptor: int, path: Path) -> bool:
    """Whether the lock was free and its file is still the one under this name."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.fstat(descriptor).st_ino == os.stat(path).st_ino
    except (BlockingIOError, FileNotFoundError):
        return False


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
