"""Grow the tree in worker processes, one torch thread each. A worker that dies costs one node, which is tried again.

This process asks the runs what they wait for, hands nodes to idle workers and reads their answers. Facts travel
through the store; the pipes carry only node specs and progress.
"""

from __future__ import annotations

import contextlib
import heapq
import json
import os
import selectors
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from engram.errors import EngramError, StoreTrouble, of_kind
from engram.execute.progress import Progress
from engram.execute.tidying import settle
from engram.execute.walk import Walk
from engram.nodes import Node
from engram.protocols import Outcome
from engram.store import Store

TRIES = 3
PATIENCE_SECONDS = 20  # for workers to save their position when they are asked to stop


def grow_in_pool(walks: Sequence[Walk], store: Store, jobs: int, progress: Progress) -> None:
    pool = _Pool(walks, store, jobs, progress)
    try:
        pool.work()
    finally:
        pool.close()


class _Process:
    """One worker process and the node that it is growing."""

    def __init__(self, store: Store):
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        paths = [*filter(None, [os.environ.get("PYTHONPATH")]), *(path or os.getcwd() for path in sys.path)]
        environment["PYTHONPATH"] = os.pathsep.join(paths)  # where this process finds modules of users
        with open(store.folder / "workers.log", "ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "engram.execute.worker", str(store.folder), str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                start_new_session=True,  # Ctrl-C reaches the parent, which asks the workers to save
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.inbox, self.outbox = self.process.stdin, self.process.stdout
        os.set_blocking(self.outbox.fileno(), False)
        self.node: Node | None = None
        self.told: set[str] = set()  # nodes that the worker knows
        self._rest = b""

    def give(self, node: Node) -> None:
        self.node = node
        try:
            self.inbox.write(json.dumps(self._news(node)).encode() + b"\n")
            self.inbox.flush()
        except BrokenPipeError:
            self.process.wait()  # its death is seen, and the node tried again, when its answers are read

    def _news(self, node: Node) -> list[Any]:
        """What the worker has to be told of a node: one that it knows (or an untrained one), and the lessons since.
        The whole path of each node would be more and more to tell."""
        growths = []
        while node.path and node.key not in self.told:
            self.told.add(node.key)
            growths.append(node.path[-1].to_json())
            node = node.parent
        return [node.key if node.path else node.to_json(), growths[::-1]]

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


class _Pool:
    def __init__(self, walks: Sequence[Walk], store: Store, jobs: int, progress: Progress):
        self.walks, self.store, self.jobs, self.progress = walks, store, jobs, progress
        self.selector = selectors.DefaultSelector()
        self.workers: list[_Process] = []
        self.queue: list[tuple[int, int, Node]] = []  # a heap: the first run is finished first
        self.queued = 0
        self.asked: set[str] = set()  # nodes in the queue or with a worker
        self.tries: dict[str, int] = {}
        self.noted: set[int] = set()

    def work(self) -> None:
        self._look_around()
        while not all(walk.over for walk in self.walks):
            self.progress.check()
            self._hand_out()
            for ready, _ in self.selector.select(timeout=0.1):
                self._hear(ready.data)

    def _look_around(self, grown: str | None = None) -> None:
        """Tell the runs (those that wait for the node just `grown`, or all) what is known, and queue what they want
        next, until each of them waits or is over."""
        for place, walk in enumerate(self.walks):
            if grown is None or any(node.key == grown for node in walk.nodes):
                self._look_at(place, walk)

    def _look_at(self, place: int, walk: Walk) -> None:
        while (known := self._known(walk)) is not None:
            walk.tell(*known)
            self.progress.grown(known[0])
        for node in walk.waiting_for:
            if node.key not in self.asked:
                self.asked.add(node.key)
                self._queue(place, node)
        if walk.over and id(walk) not in self.noted:
            self.noted.add(id(walk))
            settle(walk, self.walks, self.store)

    def _queue(self, place: int, node: Node) -> None:
        self.queued += 1
        heapq.heappush(self.queue, (place, self.queued, node))

    def _known(self, walk: Walk) -> tuple[str, Outcome] | None:
        for node in walk.waiting_for:
            row, failure = self.store.row(node.key), self.store.failure(node.key)
            if row is not None:
                return node.key, walk.outcome(node, row)
            if failure is not None:
                return node.key, Outcome(error=failure)
        return None

    def _hand_out(self) -> None:
        while self.queue:
            idle = next((worker for worker in self.workers if worker.node is None), None)
            if idle is None:
                if len(self.workers) >= self.jobs:
                    return
                idle = _Process(self.store)
                self.workers.append(idle)
                self.selector.register(idle.outbox, selectors.EVENT_READ, idle)
            idle.give(heapq.heappop(self.queue)[-1])

    def _hear(self, worker: _Process) -> None:
        for answer in worker.answers():
            node = worker.node
            if answer["event"] == "step" and node is not None:
                self.progress.step(node.key, answer["share"])
            elif answer["event"] == "trouble":
                raise StoreTrouble(answer["error"])
            elif answer["event"] == "died":
                self._bury(worker, answer["error"])
            elif node is not None:
                worker.node = None
                self.asked.discard(node.key)
                if answer["event"] == "failed":
                    self._fail(node, of_kind(answer["kind"], answer["error"]))
                else:
                    self._look_around(node.key)

    def _bury(self, worker: _Process, how: str) -> None:
        self.selector.unregister(worker.outbox)
        self.workers.remove(worker)
        worker.end(0)
        node = worker.node
        if node is None:
            return
        self.tries[node.key] = self.tries.get(node.key, 0) + 1
        if self.tries[node.key] < TRIES:
            self._queue(-1, node)
        else:
            self.asked.discard(node.key)
            self._fail(
                node, EngramError(f"the worker died {TRIES} times on this task ({how}); 'engram resume' tries again")
            )

    def _fail(self, node: Node, error: EngramError) -> None:
        for walk in self.walks:
            if any(waiting.key == node.key for waiting in walk.waiting_for):
                walk.tell(node.key, Outcome(error=error))
                self.progress.grown(node.key)
        self._look_around()

    def close(self) -> None:
        for worker in self.workers:
            worker.ask_to_stop()
        for worker in self.workers:
            worker.end(PATIENCE_SECONDS)
        self.selector.close()
