"""How far the work has come, noted beside the store for whoever looks from another process.

running/TOKEN         a file that the working process holds a lock of as long as it lives
running/TOKEN.json    what it is growing: replaced every second or so, and never needed for anything but looking
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from engram.execute.progress import Progress
from engram.execute.walk import Walk
from engram.nodes import Node

FOLDER = "running"
NOTE_SECONDS = 1.0


class Noted:
    """Another progress, of which a note is kept in the store's folder."""

    def __init__(self, progress: Progress, folder: Path, walks: Sequence[Walk]):
        self.progress, self.walks = progress, walks
        self.place = folder / FOLDER / secrets.token_hex(8)
        self.shares: dict[str, float] = {}
        self.began, self.noted = time.time(), 0.0
        self.total = self.count = 0
        self.lock: int | None = None
        self.found: int | None = None  # how much was there before anything was grown

    def check(self) -> None:
        self.progress.check()

    def begin(self, nodes: int) -> None:
        self.total = nodes
        self.lock = _locked(self.place)
        self._note()
        self.progress.begin(nodes)

    def step(self, key: str, share: float) -> None:
        if self.found is None:
            self.found = self.count
        self.shares[key] = share
        self._note()
        self.progress.step(key, share)

    def grown(self, key: str) -> None:
        self.shares.pop(key, None)
        self.count += 1
        self._note()
        self.progress.grown(key)

    def end(self) -> None:
        self.progress.end()
        if self.lock is not None:
            for path in (self._file, self.place):
                path.unlink(missing_ok=True)
            os.close(self.lock)
            self.lock = None

    @property
    def _file(self) -> Path:
        return self.place.with_suffix(".json")

    def _note(self) -> None:
        """Write it down if the last time is long enough ago. It is only for looking, so a disk that does not take it
        stops nothing: the store will say so where it matters."""
        if time.monotonic() - self.noted < NOTE_SECONDS:
            return
        beside = self.place.with_suffix(".new")
        with contextlib.suppress(OSError):
            beside.write_text(json.dumps(self._content()))
            os.replace(beside, self._file)
        self.noted = time.monotonic()

    def _content(self) -> dict[str, Any]:
        return {
            "pid": os.getpid(),
            "began": self.began,
            "now": time.time(),
            "total": self.total,
            "count": self.count,
            "found": self.count if self.found is None else self.found,
            "runs": [walk.run.key for walk in self.walks],
            "growing": [_about(node, walk, share) for node, walk, share in self._growing()],
        }

    def _growing(self) -> list[tuple[Node, Walk, float]]:
        nodes = {node.key: (node, walk) for walk in self.walks for node in walk.waiting_for if node.key in self.shares}
        return [(*nodes[key], share) for key, share in self.shares.items() if key in nodes]


def _about(node: Node, walk: Walk, share: float) -> dict[str, Any]:
    tasks = [task + 1 for task in node.last.tasks]
    about = {"run": walk.run.key, "learner": node.learner, "stream": walk.run.stream.name, "seed": node.seed}
    return {**about, "tasks": tasks, "of": len(walk.run.stream), "share": share}


def _locked(path: Path) -> int | None:
    """The file's lock, which the kernel gives back if this process dies; None where there can be no file."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        for other in [other for other in path.parent.iterdir() if not other.suffix]:
            _delete_if_dead(other)
        while True:
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if path.exists():  # nobody took it for a dead one's before it was locked
                return descriptor
            os.close(descriptor)
    return None


def _delete_if_dead(path: Path) -> None:
    """What a process left behind that was killed."""
    with contextlib.suppress(FileNotFoundError), _lock_if_free(path) as free:
        for name in (path.with_suffix(".json"), path.with_suffix(".new"), path) if free else ():
            name.unlink(missing_ok=True)


@contextlib.contextmanager
def _lock_if_free(path: Path) -> Iterator[bool]:
    """Whether no process that lives has it, which stays so while this lasts."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        yield _took(descriptor)
    finally:
        os.close(descriptor)


def _took(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def notes(folder: Path) -> list[dict[str, Any]]:
    """What every process that works on this store noted last, the oldest first."""
    found = []
    for path in (folder / FOLDER).glob("*.json"):
        with contextlib.suppress(OSError, ValueError), _lock_if_free(path.with_suffix("")) as free:  # it may just end
            if not free:
                found.append(json.loads(path.read_text()))
    return sorted(found, key=lambda note: note["began"])
