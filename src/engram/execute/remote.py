"""The crew of a Ray cluster: one actor for each worker, one CPU and one thread each. Everything travels through Ray."""

from __future__ import annotations

import contextlib
import math
import os
import time
import warnings
from typing import Any

from engram.core import Stream
from engram.errors import ClusterTrouble, Elsewhere, EngramError, StoreTrouble, of_kind
from engram.execute.board import TRIES, Board
from engram.execute.cluster import Cluster
from engram.execute.desk import Desk, Errand, Told
from engram.execute.processes import PATIENCE_SECONDS, log
from engram.execute.remote_worker import RemoteWorker, versions
from engram.execute.satchel import Message
from engram.nodes import Node
from engram.store import Store

MOMENT_SECONDS = 0.1
CLOSE_SECONDS = 2.0
WAIT_SECONDS = 60.0  # until it is said that nobody has begun


class Remote:
    """As many workers as `jobs`, or as the cluster has CPUs. One that dies, alone or with its machine, costs one node,
    which is tried again. The cluster is joined when there is something to do."""

    def __init__(self, store: Store, jobs: int, address: str | None, cpus: int):
        """A Ray that is started here has as many `cpus`."""
        self.store, self.jobs, self.address, self.cpus = store, jobs, address, cpus
        self.cluster: Cluster | None = None
        self.hands: list[_Hand] = []
        self.refused: list[tuple[Node, Exception]] = []  # what could not even be given to somebody
        self.stillborn = 0  # workers in a row that died before they said a word
        self.open_runs = -1

    def has_room(self) -> bool:
        return any(hand.is_idle for hand in self.hands)

    def give(self, node: Node, stream: Stream) -> str:
        hand = next(hand for hand in self.hands if hand.is_idle)
        try:
            errand = self.desk.open(node)
            try:
                hand.begin(errand, self.desk.pack(errand, stream, hand.told))
            except BaseException:
                errand.locks.close()
                raise
        except StoreTrouble:
            raise
        except Exception as error:
            self.refused.append((node, error))
        return hand.who

    def hear(self, board: Board) -> None:
        board.progress.check()
        for node, error in self._refused():
            _refuse(board, node, error)
        self._hire(board.wanted)
        for hand in self._heard():
            self._report(hand, board)
        self._let_go(board)

    def _refused(self) -> list[tuple[Node, Exception]]:
        refused, self.refused = self.refused, []
        return refused

    def _hire(self, wanted: int) -> None:
        """Start workers while there is more to do than they are."""
        if self.cluster is None:
            self.cluster = Cluster(self.address, self.cpus)
            self.ray = self.cluster.ray
            self.desk = Desk(self.store, self.ray.put)
            self.jobs = self.jobs or max(self.cluster.cpus, 1)
            self.patience_ends = time.monotonic() + WAIT_SECONDS
        busy = sum(hand.errand is not None for hand in self.hands)
        while len(self.hands) < min(self.jobs, busy + wanted):
            self.hands.append(_Hand(self.ray, self.jobs))
        self._say_if_full()

    def _say_if_full(self) -> None:
        """Once: that nobody has begun after a while."""
        if any(hand.who for hand in self.hands):
            self.patience_ends = math.inf
        if time.monotonic() > self.patience_ends:
            self.patience_ends = math.inf
            free = self.ray.available_resources().get("CPU", 0)
            warnings.warn(f"no worker of the cluster has begun yet; {free:g} of its CPUs are free", stacklevel=2)

    def _heard(self) -> list[_Hand]:
        """Whose answer is there; waits a moment for one."""
        if not self.hands:
            time.sleep(MOMENT_SECONDS)
            return []
        waiting = {hand.answer: hand for hand in self.hands}
        ready, _ = self.ray.wait(list(waiting), timeout=MOMENT_SECONDS)
        return [waiting[answer] for answer in ready]

    def _report(self, hand: _Hand, board: Board) -> None:
        try:
            messages = hand.messages()
        except self.ray.exceptions.RayTaskError:
            raise
        except self.ray.exceptions.RayError as error:
            self._bury(hand, board, error)
            return
        self.stillborn = 0
        for message in messages:
            self._act(hand, message, board)

    def _act(self, hand: _Hand, message: Message, board: Board) -> None:
        errand, event = hand.errand, message["event"]
        if event == "hello":
            _require_same(hand.who, message["versions"])
        if errand is None:
            return
        hand.take(self.desk, message)
        if event == "step":
            board.step(errand.node, message["share"])
        elif event in ("grown", "failed"):
            hand.end()
            self._close(errand, message, board)

    def _close(self, errand: Errand, message: Message, board: Board) -> None:
        if message["event"] == "grown":
            board.grown(errand.node)
            return
        if message.get("details"):
            with log(self.store.folder / "workers.log") as file:
                file.write(message["details"].encode())
        board.failed(errand.node, of_kind(message["kind"], message["error"]))

    def _bury(self, hand: _Hand, board: Board, error: Exception) -> None:
        self.hands.remove(hand)
        errand = hand.end()
        if errand is not None:
            board.lost(errand.node, type(error).__name__)
            return
        if "No module named 'engram'" in str(error):
            raise ClusterTrouble(f"a machine of the cluster lacks Engram; install there what is here: {versions()}")
        self.stillborn += 1
        if self.stillborn == TRIES:
            text = " ".join(str(error).split())[-300:]
            raise ClusterTrouble(f"workers of the cluster die before they begin ({text}); see Ray's logs")

    def _let_go(self, board: Board) -> None:
        """Let go of the data of runs that are over."""
        runs = [walk.run for walk in board.walks if not walk.over]
        if len(runs) != self.open_runs:
            self.open_runs = len(runs)
            gone = self.desk.still_needed(runs)
            for hand in self.hands if gone else ():
                hand.actor.forget.remote(gone)

    def close(self) -> None:
        """Those in the middle of a lesson leave it; their positions are kept."""
        if self.cluster is None:
            return
        busy = [hand for hand in self.hands if hand.errand is not None]
        for hand in busy:
            hand.actor.stop.remote()
        end = time.monotonic() + PATIENCE_SECONDS
        for hand in busy:
            with contextlib.suppress(self.ray.exceptions.RayError):
                hand.finish(self.desk, end)
        ends = [hand.actor.close.remote() for hand in self.hands if hand.who]
        if ends:
            self.ray.wait(ends, num_returns=len(ends), timeout=CLOSE_SECONDS)
        for hand in self.hands:
            hand.dismiss()
        self.cluster.leave()


class _Hand:
    """One worker of the cluster. Idle once it has said who it is."""

    def __init__(self, ray: Any, jobs: int):
        seconds = os.environ.get("ENGRAM_CHECKPOINT_SECONDS", str(max(10, jobs)))  # so that one a second comes here
        variables = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "ENGRAM_CHECKPOINT_SECONDS": seconds}
        options = {"num_cpus": 1, "max_concurrency": 4, "runtime_env": {"env_vars": variables}}
        self.ray = ray
        self.actor = ray.remote(RemoteWorker).options(**options).remote()
        self.who, self.told = "", Told()
        self.errand: Errand | None = None
        self.answer = self.actor.about.remote()

    @property
    def is_idle(self) -> bool:
        return bool(self.who) and self.errand is None

    def begin(self, errand: Errand, freight: Message) -> None:
        self.errand = errand
        self.actor.give.remote(freight)

    def end(self) -> Errand | None:
        """It has nothing to do any more: what it had."""
        errand, self.errand = self.errand, None
        if errand is not None:
            errand.locks.close()
        return errand

    def messages(self, patience: float | None = None) -> list[Message]:
        """What it has answered; it is asked again."""
        answer = self.ray.get(self.answer, timeout=patience)
        self.answer = self.actor.hear.remote()
        if isinstance(answer, dict):
            self.who = answer["who"]
            return [{"event": "hello", **answer}]
        return list(answer)

    def take(self, desk: Desk, message: Message) -> None:
        """Let the desk keep what it found out, or answer it."""
        if message["event"] == "question":
            self.actor.answer.remote(message["key"], desk.twin(message["key"]))
        elif self.errand is not None:
            desk.take(self.errand, message)

    def finish(self, desk: Desk, end: float) -> None:
        """Hear it out until it has left its lesson, or until then."""
        while self.errand is not None:
            for message in self.messages(max(end - time.monotonic(), 0.0)):
                self.take(desk, message)
                if message["event"] in ("grown", "failed", "stopped"):
                    return

    def dismiss(self) -> None:
        self.end()
        self.ray.kill(self.actor)


def _refuse(board: Board, node: Node, error: Exception) -> None:
    if isinstance(error, Elsewhere):
        board.elsewhere(node)
    elif isinstance(error, EngramError):
        board.failed(node, error)
    else:
        board.broken(node, error)


def _require_same(who: str, theirs: str) -> None:
    if theirs != versions():
        raise ClusterTrouble(f"{who} has {theirs}, and here is {versions()}; install the same on every machine")
