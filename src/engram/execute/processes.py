"""The crew of worker processes, one torch thread each. The pipes carry only node specs and progress."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from engram import files
from engram.core import Stream
from engram.errors import of_kind
from engram.execute.board import Board
from engram.execute.news import Teller
from engram.nodes import Node
from engram.store import Store

PATIENCE_SECONDS = 20  # for workers to save their position when they are asked to stop


class Processes:
    """As many as `jobs`, started when they are needed. One that dies costs one node, which is tried again."""

    def __init__(self, store: Store, jobs: int):
        self.store, self.jobs = store, jobs
        self.selector = selectors.DefaultSelector()
        self.workers: list[_Process] = []

    def has_room(self) -> bool:
        return len(self.workers) < self.jobs or any(worker.node is None for worker in self.workers)

    def give(self, node: Node, stream: Stream) -> str:
        idle = next((worker for worker in self.workers if worker.node is None), None) or self._start()
        idle.give(node)
        return f"process {idle.process.pid}"

    def _start(self) -> _Process:
        worker = _Process(self.store)
        self.workers.append(worker)
        self.selector.register(worker.outbox, selectors.EVENT_READ, worker)
        return worker

    def hear(self, board: Board) -> None:
        board.progress.check()
        for ready, _ in self.selector.select(timeout=0.1):
            for answer in ready.data.answers():
                self._report(ready.data, answer, board)

    def _report(self, worker: _Process, answer: dict[str, Any], board: Board) -> None:
        node, event = worker.node, answer["event"]
        if event == "trouble":
            raise of_kind(answer["kind"], answer["error"])
        if event == "died":
            self._bury(worker)
        if node is None:
            return
        if event == "step":
            board.step(node, answer["share"])
            return
        worker.node = None
        if event == "died":
            board.lost(node, answer["error"])
        elif event == "failed":
            board.failed(node, of_kind(answer["kind"], answer["error"]))
        elif event == "elsewhere":
            board.elsewhere(node)
        else:
            board.grown(node)

    def _bury(self, worker: _Process) -> None:
        self.selector.unregister(worker.outbox)
        self.workers.remove(worker)
        worker.end(0)

    def close(self) -> None:
        for worker in self.workers:
            worker.ask_to_stop()
        for worker in self.workers:
            worker.end(PATIENCE_SECONDS)
        self.selector.close()


class _Process:
    """One worker process and the node that it is growing."""

    def __init__(self, store: Store):
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        paths = [*filter(None, [os.environ.get("PYTHONPATH")]), *(path or os.getcwd() for path in sys.path)]
        environment["PYTHONPATH"] = os.pathsep.join(paths)  # where this process finds modules of users
        with log(store.folder / "workers.log") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "engram.execute.worker", str(store.folder), str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                env=environment,
                start_new_session=True,  # Ctrl-C reaches the parent, which asks the workers to save
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.inbox, self.outbox = self.process.stdin, self.process.stdout
        os.set_blocking(self.outbox.fileno(), False)
        self.node: Node | None = None
        self.teller = Teller()
        self._rest = b""

    def give(self, node: Node) -> None:
        self.node = node
        try:
            self.inbox.write(json.dumps(self.teller.news(node)).encode() + b"\n")
            self.inbox.flush()
        except BrokenPipeError:
            self.process.wait()  # its death is seen, and the node tried again, when its answers are read

    def answers(self) -> Iterator[dict[str, Any]]:
        """Whole lines that have arrived; the last thing a dead worker says is `died`."""
        chunk = os.read(self.outbox.fileno(), 1 << 16)
        if not chunk:
            yield {"event": "died", "error": f"exit code {self.process.wait()}"}
            return
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            yield json.loads(line)

    def end(self, patience_seconds: float) -> None:
        """Ask it to stop, and see that it does: an idle one reads the end of its input, a busy one saves first."""
        self.ask_to_stop()
        try:
            self.process.wait(patience_seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.outbox.close()

    def ask_to_stop(self) -> None:
        self.process.terminate()
        with contextlib.suppress(BrokenPipeError):
            self.inbox.close()


def log(path: Path) -> IO[bytes]:
    """Where workers write what goes wrong."""
    files.require_regular(path)
    try:
        return path.open("ab")
    except OSError as error:
        raise files.trouble(error, path, 0) from error
