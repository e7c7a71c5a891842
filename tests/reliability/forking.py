"""Run something in a forked child of this warmed-up process, and kill it at a chosen moment.

A moment is the n-th call of some kind: a step of learning, an evaluation, a system call of a checkpoint write,
a commit.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch

from engram import evaluate, tree
from engram.database import Database
from engram.execute import Silence, execute
from engram.store import Store

KINDS = ("learn", "evaluate", "write", "commit")


def fork(work: Callable[[], object]) -> int:
    """Start the work in a child; its process id. An exception in it is exit code 1."""
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork beside threads; the child uses none of them
        child = os.fork()
    if child:
        return child
    try:
        torch.set_num_threads(1)
        work()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def ending(child: int) -> int:
    """How a child ended: its exit code, or minus the signal that killed it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def run_child(work: Callable[[], object]) -> int:
    return ending(fork(work))


@dataclass
class Ticks(Silence):
    """Counts moments of each kind, and kills this process at the chosen one. Also the progress that sees steps."""

    kill_at: tuple[str, int] | None = None
    seen: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))

    def tick(self, kind: str) -> None:
        self.seen[kind] += 1
        if self.kill_at == (kind, self.seen[kind]):
            os.kill(os.getpid(), signal.SIGKILL)

    def step(self, key: str, share: float) -> None:
        self.tick("learn")

    def around(self, kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function with a moment before and one after it."""

        def ticking(*args: Any, **named: Any) -> Any:
            self.tick(kind)
            result = function(*args, **named)
            self.tick(kind)
            return result

        return ticking


def watched(run: Any, folder: Any, ticks: Ticks) -> None:
    """Execute a run in this process with every moment watched and its position saved at every step."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree, "CHECKPOINT_SECONDS", -1.0)
        patch.setattr(tree, "CHECKPOINT_SHARE", float("inf"))
        patch.setattr(evaluate, "hits", ticks.around("evaluate", evaluate.hits))
        patch.setattr(os, "fsync", ticks.around("write", lambda _: None))  # a killed process loses no written page
        patch.setattr(os, "replace", ticks.around("write", os.replace))
        patch.setattr(Database, "write", ticks.around("commit", Database.write))
        store = Store(folder)
        try:
            execute([run], store, progress=ticks)
        finally:
            store.close()


def facts(run: Any, folder: Any) -> dict[str, Any]:
    """All that was measured, but for the time it took, and the bytes of the last checkpoint."""
    store = Store(folder)
    try:
        entry = store.runs(run.key)[0]
        rows = [store.row(key) for key in entry["result"]["path"]]
        last = (store.folder / "checkpoints" / f"{entry['result']['path'][-1]}.engram").read_bytes()
    finally:
        store.close()
    measured = [
        (r.single, r.multi, r.per_class, r.validation, r.curves, r.cost.bytes, r.cost.flops, r.parameters_sha256)
        for r in rows
    ]
    return {"status": entry["status"], "measured": measured, "result": entry["result"], "last": last}


def wait_until(holds: Callable[[], bool], seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.02)
    return holds()


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def workers_of(folder: Any) -> list[int]:
    """Process ids of the workers on this store that are alive."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if b"engram.execute.worker" in words and str(folder).encode() in words and is_alive(int(name)):
                found.append(int(name))
    return found
