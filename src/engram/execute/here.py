"""The crew that is this process: one node at a time."""

from __future__ import annotations

import time

from engram.core import Step, Stream
from engram.errors import Elsewhere, EngramError, Stopped, StoreTrouble
from engram.execute.board import Board
from engram.nodes import Node
from engram.store import Store
from engram.tree import grow

MOMENT_SECONDS = 0.05  # while all that is wanted is being grown elsewhere


class Here:
    def __init__(self, store: Store):
        self.store = store
        self.given: tuple[Node, Stream] | None = None

    def has_room(self) -> bool:
        return self.given is None

    def give(self, node: Node, stream: Stream) -> str:
        self.given = node, stream
        return "this process"

    def hear(self, board: Board) -> None:
        if self.given is None:
            board.progress.check()
            time.sleep(MOMENT_SECONDS)
            return

        def watch(growing: Node, step: Step) -> None:
            board.step(growing, step.done / max(step.total, 1))

        (node, stream), self.given = self.given, None
        try:
            grow(node, self.store, stream, watch, patient=False)
        except Elsewhere:
            board.elsewhere(node)
        except (Stopped, StoreTrouble):
            raise
        except EngramError as error:
            board.failed(node, error)
        except Exception as error:
            board.broken(node, error)
        else:
            board.grown(node)

    def close(self) -> None:
        """It works for nobody else."""
