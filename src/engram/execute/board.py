"""The board: what runs want grown, who is growing what, and how often that went wrong. One loop drives it, whoever the
workers are.

A crew is a kind of workers: this process (`here`), others on this machine (`processes`) or a cluster's
(`remote`). It takes nodes while it has room, and tells the board what became of them. Facts travel through the store.
"""

from __future__ import annotations

import heapq
import time
from collections import deque
from collections.abc import Sequence
from itertools import count
from typing import Protocol as Interface

from engram.core import Stream
from engram.errors import EngramError
from engram.execute.progress import Progress
from engram.execute.tidying import settle
from engram.execute.walk import Walk
from engram.nodes import Node
from engram.protocols import Outcome
from engram.store import Store
from engram.tree import CERTAIN

TRIES = 3
AGAIN_SECONDS = 0.2  # until a node that was being grown elsewhere is looked at again


class Crew(Interface):
    """Those who grow nodes."""

    def has_room(self) -> bool:
        """Whether one of them is idle."""

    def give(self, node: Node, stream: Stream) -> str:
        """Let one of them grow a node of this stream: who it is."""

    def hear(self, board: Board) -> None:
        """Tell the board what has happened; wait a moment if nothing has, and see whether somebody asked to stop."""

    def close(self) -> None:
        """Send them home. Who is in the middle of a lesson saves the position."""


class Board:
    """What is not in the store yet is wanted, the nodes of the first run first; then it is with somebody of the crew;
    then every run that waits for it is told and asked what it wants next."""

    def __init__(self, walks: Sequence[Walk], store: Store, progress: Progress):
        self.walks, self.store, self.progress = walks, store, progress
        self.growing: dict[str, str] = {}  # who has which node
        self.lost_by: dict[str, list[str]] = {}  # who was lost over which node
        self.bugs: list[Exception] = []
        self._wanted: list[tuple[int, int, Node, Walk]] = []  # a heap
        self._asked: set[str] = set()  # keys of nodes that are wanted, with somebody or elsewhere
        self._elsewhere: deque[tuple[float, Node]] = deque()  # when to look at them again
        self._places = {walk: place for place, walk in enumerate(walks)}
        self._numbers = count()
        for walk in walks:
            self._go_on(walk, walk.waiting_for)

    @property
    def over(self) -> bool:
        return all(walk.over for walk in self.walks)

    @property
    def wanted(self) -> int:
        """How many nodes could be given to somebody now."""
        return len(self._wanted)

    def hand_out(self, crew: Crew) -> None:
        """Give the crew as much as it has room for."""
        while self._elsewhere and self._elsewhere[0][0] < time.monotonic():
            self.grown(self._elsewhere.popleft()[1])
        while self._wanted and crew.has_room():
            *_, node, walk = heapq.heappop(self._wanted)
            self.growing[node.key] = crew.give(node, walk.run.holding_out(node.validation))

    # What a crew says.

    def step(self, node: Node, share: float) -> None:
        """So much of its lesson is done."""
        self.progress.check()
        self.progress.step(node.key, share)

    def grown(self, node: Node) -> None:
        """The store knows it now. If it does not, the node is wanted again."""
        self._take_down(node)
        for walk in self._waiting(node):
            self._go_on(walk, [node])

    def failed(self, node: Node, error: EngramError) -> None:
        """It could not be grown. If it never can, that is what a run learns of it, and may choose another; what went
        wrong this time only (too little memory, a worker's death) would choose otherwise tomorrow, and ends the run."""
        self._take_down(node)
        for walk in self._waiting(node):
            if isinstance(error, CERTAIN):
                self._tell(walk, node, Outcome(error=error))
            else:
                walk.fail(error)
            self._go_on(walk, walk.waiting_for)

    def broken(self, node: Node, bug: Exception) -> None:
        """A bug, ours or a learner's: it costs the runs that wait for the node, the others go on, then it is shown."""
        self._take_down(node)
        for walk in self._waiting(node):
            self._blame(walk, bug)
            self._go_on(walk, [])

    def elsewhere(self, node: Node) -> None:
        """Another command is growing it: what else is wanted comes first."""
        self.growing.pop(node.key)
        self._elsewhere.append((time.monotonic() + AGAIN_SECONDS, node))

    def lost(self, node: Node, how: str) -> None:
        """Who grew it is gone: others try, but not for ever."""
        who = self.growing.pop(node.key)
        tries = self.lost_by.setdefault(node.key, [])
        tries.append(who)
        if len(tries) < TRIES:
            self._put_up(-1, node, self._waiting(node)[0])
        else:
            text = f"the worker died {TRIES} times on this task ({how}); 'engram resume' tries again"
            self.failed(node, EngramError(text))

    # What the runs want.

    def _go_on(self, walk: Walk, nodes: Sequence[Node]) -> None:
        """Tell a run what is known of these nodes that it waits for, and of others as long as it asks for more; put up
        what is not known. A path may be longer than functions can call each other."""
        while nodes:
            turn = walk.turn
            for node in nodes:
                self._look_up(walk, node)
            nodes = [] if walk.turn == turn else walk.waiting_for
        if walk.over:
            settle(walk, self.walks, self.store)

    def _look_up(self, walk: Walk, node: Node) -> None:
        known = walk.remembered(node, self.store)
        if known is not None:
            self._tell(walk, node, known)
        elif node.key not in self._asked:
            self._put_up(self._places[walk], node, walk)

    def _tell(self, walk: Walk, node: Node, outcome: Outcome) -> None:
        try:
            walk.tell(node.key, outcome)
        except Exception as bug:
            self._blame(walk, bug)
        self.progress.grown(node.key)

    def _blame(self, walk: Walk, bug: Exception) -> None:
        walk.fail(EngramError(f"{type(bug).__name__}: {bug}"))
        self.bugs.append(bug)

    def _waiting(self, node: Node) -> list[Walk]:
        return [walk for walk in self.walks if any(other.key == node.key for other in walk.waiting_for)]

    def _put_up(self, place: int, node: Node, walk: Walk) -> None:
        self._asked.add(node.key)
        heapq.heappush(self._wanted, (place, next(self._numbers), node, walk))

    def _take_down(self, node: Node) -> None:
        self.growing.pop(node.key, None)
        self._asked.discard(node.key)


def drive(walks: Sequence[Walk], store: Store, progress: Progress, crew: Crew) -> None:
    """Let a crew grow what these runs want, until each is done or has failed."""
    try:
        board = Board(walks, store, progress)
        while not board.over:
            board.hand_out(crew)
            crew.hear(board)
    finally:
        crew.close()
    if board.bugs:
        raise board.bugs[0]
