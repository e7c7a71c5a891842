"""One SQLite file that many processes share. Its structure is checked when it is opened; a process that has locked it
is waited for; every trouble with it is told in a sentence that says what happened and the way out.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import time
import warnings
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engram import files
from engram.errors import StoreTrouble

WAIT_SECONDS = 60.0  # for a process that has locked the file and writes nothing
QUIET_SECONDS = 2.0  # of them before a word is said
_SOUND = [("ok",)]
_ERRORS = (sqlite3.Error, UnicodeDecodeError)  # the second where SQLite quotes a damaged name in its message


class Database:
    """A connection on which every statement is a transaction of its own, unless it is inside `transaction`."""

    def __init__(self, path: Path):
        self.path, self._bytes = path, 0
        self._file: tuple[int, int] | None = None
        for name in (path, path.with_name(f"{path.name}-journal")):
            files.require_regular(name)
        try:
            self._connection = sqlite3.connect(path, timeout=QUIET_SECONDS, isolation_level=None)
        except sqlite3.Error as error:
            raise self._trouble(error) from error
        self._connection.text_factory = _text
        weakref.finalize(self, self._connection.close)  # Python 3.13 warns of connections that nobody closes
        try:
            self._check_structure()
            self.write("PRAGMA synchronous = FULL")
            self._file = _identity(path)
        except BaseException:
            self.close()
            raise

    def read(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        return self._execute(query, values)

    def write(self, query: str, *values: object) -> None:
        self._execute(query, values)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing, and nobody else writes in between."""
        self.write("BEGIN IMMEDIATE")
        try:
            yield
            self.write("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):  # SQLite may have rolled back already
                self._connection.execute("ROLLBACK")
            raise

    def damaged(self, why: object) -> StoreTrouble:
        return StoreTrouble(
            f"{self.path} is damaged ({' '.join(str(why).split())}); put a copy of it back, or remove it and give the "
            "commands again: what it knew is trained again"
        )

    def close(self) -> None:
        self._connection.close()

    def _check_structure(self) -> None:
        """Trees that are not whole are refused: rows could be missing without a word. An index, which repeats what is
        in a table, is made anew."""
        if self.read("PRAGMA integrity_check(1)") == _SOUND:
            return
        with self.transaction():
            self.write("REINDEX")
            found = self.read("PRAGMA integrity_check(1)")
            if found != _SOUND:
                raise self.damaged(found[0][0])
        warnings.warn(f"an index in {self.path} was damaged and has been made anew", stacklevel=2)

    def _execute(self, query: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        self._bytes = sum(len(value) for value in values if isinstance(value, str)) or self._bytes
        began, change = time.monotonic(), _last_change(self.path)
        while True:
            try:
                return self._connection.execute(query, values).fetchall()
            except _ERRORS as error:
                if "locked" not in str(error):
                    raise self._trouble(error) from error
                if _last_change(self.path) == change:
                    self._complain(time.monotonic() - began, error)
                else:  # others take their turns, and ours will come
                    began, change = time.monotonic(), _last_change(self.path)
                time.sleep(0.02)

    def _complain(self, waited: float, error: Exception) -> None:
        """Say who is waited for, or that it has been too long."""
        holder = _holder(self.path)
        if waited >= WAIT_SECONDS:
            raise StoreTrouble(
                f"{self.path} has been locked by {holder} for {waited:.0f} s; give the command again when it is free, "
                "or end that process"
            ) from error
        warnings.warn(f"{self.path} is locked by {holder}; waiting for it", stacklevel=1)

    def _trouble(self, error: Exception) -> StoreTrouble:
        """What went wrong, in a sentence."""
        if self._file and _identity(self.path) != self._file:
            return self._moved()
        if "disk is full" in str(error):
            return files.trouble(OSError(errno.ENOSPC, str(error)), self.path, self._bytes)
        if any(words in str(error) for words in ("readonly", "unable to open", "disk I/O")):
            return StoreTrouble(
                f"{self.path} cannot be used ({error}); check the folder and its permissions, or choose another --store"
            )
        return self.damaged(error)

    def _moved(self) -> StoreTrouble:
        if _identity(self.path) is None:
            return StoreTrouble(
                f"{self.path} was removed while it was in use, and what it held is gone; give the commands again"
            )
        return StoreTrouble(
            f"{self.path} was replaced by another file while it was in use, and nothing was written into that one; "
            "give the command again"
        )


def _text(content: bytes) -> str:
    """Text that is damaged is still text: the digest of its row tells."""
    return content.decode("utf-8", "replace")


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file is under this name, if any."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _last_change(path: Path) -> int:
    """When a file was written to. It may not be opened to look: closing it again would give up our own locks on it."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _holder(path: Path) -> str:
    """Who has locked a file, as far as the kernel tells."""
    try:
        inode = f":{os.stat(path).st_ino}"
        lines = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    except OSError:
        return "another process"
    pids = {words[4] for words in lines if words[1] != "->" and words[5].endswith(inode)}
    others = sorted(pids - {str(os.getpid())}, key=int) or sorted(pids)
    return " and ".join(map(_process, others)) or "another process"


def _process(pid: str) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return f"process {pid}"
    shown = "".join(letter if letter.isprintable() else "?" for letter in words)
    return f"process {pid} ({shown[:60]}{'…' if len(shown) > 60 else ''})"
