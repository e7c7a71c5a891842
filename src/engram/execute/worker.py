"""A worker process: reads nodes to grow from its standard input, one JSON line each, and answers in JSON lines.

A line has a node that it was told of before, or an untrained one, and the lessons since.
It dies with its parent. SIGTERM makes it save its position and leave.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
import traceback
from typing import Any, TextIO

from engram.core import Step
from engram.errors import Elsewhere, EngramError, Stopped, StoreTrouble
from engram.execute.news import Listener
from engram.memory import keep_freed
from engram.nodes import Node
from engram.store import Store
from engram.tree import grow

TELL_SECONDS = 0.2
_PR_SET_PDEATHSIG = 1


class Worker:
    def __init__(self, store: Store, answers: TextIO):
        self.store, self.answers = store, answers
        self.stop_asked = False
        self.told = 0.0
        self.listener = Listener()

    def serve(self) -> None:
        for line in sys.stdin:
            self._tell(self._answer(line))
            if self.stop_asked:
                return

    def _answer(self, line: str) -> dict[str, Any]:
        try:
            grow(self.listener.node(*json.loads(line)), self.store, watch=self._watch, patient=False)
            return {"event": "grown"}
        except Elsewhere:
            return {"event": "elsewhere"}
        except StoreTrouble as error:
            return {"event": "trouble", "kind": type(error).__name__, "error": str(error)}
        except EngramError as error:
            return {"event": "failed", "kind": type(error).__name__, "error": str(error)}
        except Stopped:
            raise
        except Exception as error:
            traceback.print_exc()
            text = f"{type(error).__name__}: {error} (details in the store's workers.log)"
            return {"event": "failed", "kind": "EngramError", "error": text}

    def _watch(self, node: Node, step: Step) -> None:
        if self.stop_asked:
            raise Stopped
        if time.monotonic() - self.told > TELL_SECONDS:
            self.told = time.monotonic()
            self._tell({"event": "step", "share": step.done / max(step.total, 1)})

    def ask_to_stop(self, *_: object) -> None:
        self.stop_asked = True

    def _tell(self, message: dict[str, Any]) -> None:
        self.answers.write(json.dumps(message) + "\n")
        self.answers.flush()


def _answers() -> TextIO:
    """Our standard output, kept for answers; what a learner or a library prints goes to the log instead."""
    kept = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return kept


def _die_with_parent(parent: int) -> None:
    """Ask the kernel (Linux) to end this process when its parent ends; elsewhere the closed pipe does it later."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the kernel was asked
            sys.exit(1)


def main() -> None:
    folder, parent = sys.argv[1:]
    _die_with_parent(int(parent))
    keep_freed()
    worker = Worker(Store(folder), _answers())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, worker.ask_to_stop)
    try:
        worker.serve()
    except (Stopped, BrokenPipeError):
        sys.exit(0)


if __name__ == "__main__":
    main()
