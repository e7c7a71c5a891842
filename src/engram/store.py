"""The store: facts about nodes and runs, kept through any crash. It never computes.

    store.db          SQLite: what was measured at every node, every run that was asked for and how it ended
    checkpoints/      the state of nodes that may still be grown from
    partial/          where the learner stands inside the lesson that it is learning: two files in turn
    locks/            one flock a node: a node is grown once, however many processes want it; a dead process holds none

A checkpoint of a finished run is a cache, because a node can always be grown again to the same bits; the store keeps
the newest ones up to `KEEP_BYTES`.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sqlite3
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from engram import checkpoint
from engram.core import Row, State
from engram.errors import DamagedFile, StoreTrouble
from engram.record import row_from_json, row_to_json

VERSION = 1
KEEP_BYTES = 64_000_000

_SCHEMA = """
CREATE TABLE IF NOT EXISTS nodes (
    key TEXT PRIMARY KEY, spec TEXT NOT NULL, row TEXT, error TEXT, grown INTEGER NOT NULL DEFAULT 1
);
CREATE TABLE IF NOT EXISTS runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT UNIQUE NOT NULL, spec TEXT NOT NULL,
    status TEXT NOT NULL, error TEXT, result TEXT
);
"""


class Store:
    """A folder. Any number of processes may use it at once."""

    def __init__(self, folder: str | os.PathLike[str]):
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreTrouble(f"the store {self.folder} cannot be made ({error.strerror}); choose another --store") from error
        self._connection = self._connect()

    # Nodes.

    def row(self, key: str) -> Row | None:
        """What was measured at a node, if it has been grown."""
        found = self._read("SELECT row FROM nodes WHERE key = ? AND row IS NOT NULL", key)
        return row_from_json(json.loads(found[0][0])) if found else None

    def failure(self, key: str) -> str | None:
        """Why a node can never be grown: the same bits would fail the same way."""
        found = self._read("SELECT error FROM nodes WHERE key = ? AND error IS NOT NULL", key)
        return str(found[0][0]) if found else None

    def commit(self, key: str, spec: Mapping[str, Any], row: Row, state: State) -> None:
        """A node is grown: its checkpoint first, then the fact."""
        checkpoint.write(self._checkpoint(key), checkpoint.encode(state, key))
        self._write(
            "INSERT INTO nodes (key, spec, row) VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE "
            "SET row = COALESCE(row, excluded.row), error = NULL, grown = grown + 1",
            key,
            json.dumps(spec),
            json.dumps(row_to_json(row)),
        )
        self.drop_partial(key)

    def fail(self, key: str, spec: Mapping[str, Any], error: str) -> None:
        self._write(
            "INSERT OR REPLACE INTO nodes (key, spec, error) VALUES (?, ?, ?)", key, json.dumps(spec), error
        )
        self.drop_partial(key)

    def times_grown(self, key: str) -> int:
        found = self._read("SELECT grown FROM nodes WHERE key = ? AND row IS NOT NULL", key)
        return int(found[0][0]) if found else 0

    def state(self, key: str) -> State | None:
        """A node's state, or None where it was dropped or is damaged: then the node is grown again."""
        return self._load(self._checkpoint(key), key)

    # Inside a lesson.

    def save_partial(self, key: str, state: State) -> None:
        """Remember a position; of the two files the older one is replaced, so that a good one is always there."""
        number = 1 + max((n for n, _ in self._partials(key)), default=0)
        target = self._partial(key, number % 2)
        checkpoint.write(target, checkpoint.encode(State(state.tensors, {**state.plain, "number": number}), key))

    def partial(self, key: str) -> State | None:
        """The latest position that is undamaged."""
        return max(self._partials(key), default=(0, None), key=lambda numbered: numbered[0])[1]

    def drop_partial(self, key: str) -> None:
        for slot in (0, 1):
            self._partial(key, slot).unlink(missing_ok=True)

    def _partials(self, key: str) -> list[tuple[int, State]]:
        states = [self._load(self._partial(key, slot), key) for slot in (0, 1)]
        return [(state.plain["number"], state) for state in states if state is not None]

    # Runs.

    def add_run(self, key: str, spec: Mapping[str, Any]) -> None:
        """Note that a run was asked for; one that is done stays done, any other is pending again."""
        self._write(
            "INSERT INTO runs (key, spec, status) VALUES (?, ?, 'pending') ON CONFLICT (key) DO UPDATE "
            "SET status = 'pending', error = NULL WHERE status != 'done'",
            key,
            json.dumps(spec),
        )

    def finish_run(self, key: str, status: str, result: Any = None, error: str | None = None) -> None:
        self._write(
            "UPDATE runs SET status = ?, result = ?, error = ? WHERE key = ?", status, json.dumps(result), error, key
        )

    def runs(self, prefix: str = "") -> list[dict[str, Any]]:
        """Every run in the order in which they were asked for."""
        found = self._read("SELECT number, key, spec, status, error, result FROM runs ORDER BY number")
        names = ("number", "key", "spec", "status", "error", "result")
        runs = [dict(zip(names, values, strict=True)) for values in found if str(values[1]).startswith(prefix)]
        return [{**run, "spec": json.loads(run["spec"]), "result": json.loads(run["result"] or "null")} for run in runs]

    def forget_runs(self, keys: list[str]) -> None:
        for key in keys:
            self._write("DELETE FROM runs WHERE key = ?", key)

    # Housekeeping.

    def prune(self, finished: set[str], wanted: list[str], keep_bytes: int = KEEP_BYTES) -> int:
        """Of the nodes of finished runs, keep the checkpoints of `wanted` ones, the first ones as far as `keep_bytes`
        go; drop the others. Bytes freed."""
        freed = 0
        for key in [*wanted, *(finished - set(wanted))]:
            path = self._checkpoint(key)
            size = path.stat().st_size if path.exists() else 0
            if key in wanted and size <= keep_bytes:
                keep_bytes -= size
            else:
                path.unlink(missing_ok=True)
                freed += size
        return freed

    def forget_nodes(self, keep: set[str]) -> int:
        """Remove the facts about nodes that no run holds; how many."""
        known = [str(key) for (key,) in self._read("SELECT key FROM nodes")]
        gone = [key for key in known if key not in keep]
        for key in gone:
            self._write("DELETE FROM nodes WHERE key = ?", key)
        return len(gone)

    def size_bytes(self) -> int:
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())

    @contextlib.contextmanager
    def lock(self, key: str) -> Iterator[None]:
        """Hold the right to grow a node. It is given back by the kernel if this process dies."""
        path = self.folder / "locks" / key
        path.parent.mkdir(exist_ok=True)
        while True:
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR)
            if _acquired(descriptor, path):
                break
            os.close(descriptor)
            time.sleep(0.05)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
            os.close(descriptor)

    # SQLite and files.

    def _checkpoint(self, key: str) -> Path:
        return self.folder / "checkpoints" / f"{key}.engram"

    def _partial(self, key: str, slot: int) -> Path:
        return self.folder / "partial" / f"{key}.{slot}.engram"

    def _load(self, path: Path, key: str) -> State | None:
        try:
            return checkpoint.decode(path.read_bytes(), key, path)
        except FileNotFoundError:
            return None
        except DamagedFile as error:
            warnings.warn(f"{error}; going on from the last good one", stacklevel=2)
            path.unlink(missing_ok=True)
            return None

    def _connect(self) -> sqlite3.Connection:
        path = self.folder / "store.db"
        try:
            connection = sqlite3.connect(path, timeout=60, isolation_level=None)
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version > VERSION:
                raise StoreTrouble(f"{path} was written by a newer Engram (format {version}); upgrade Engram to read it")
            connection.execute("PRAGMA synchronous = FULL")
            if version < VERSION:
                connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;")
            return connection
        except sqlite3.Error as error:
            raise StoreTrouble(f"the store {path} cannot be opened ({error}); choose another --store") from error

    def _read(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        return self._execute(query, values).fetchall()

    def _write(self, query: str, *values: object) -> None:
        self._execute(query, values)

    def _execute(self, query: str, values: tuple[object, ...]) -> sqlite3.Cursor:
        try:
            return self._connection.execute(query, values)
        except sqlite3.Error as error:
            raise StoreTrouble(f"the store {self.folder} cannot be used ({error}); what was saved is still there") from error

    def close(self) -> None:
        self._connection.close()


def _acquired(descriptor: int, path: Path) -> bool:
    """Whether the lock was free and its file is still the one under this name."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.fstat(descriptor).st_ino == os.stat(path).st_ino
    except (BlockingIOError, FileNotFoundError):
        return False
