"""A worker without a store: it is given nodes as plain bytes and answers with messages. Its calls come from several
threads of one process; who makes them, Ray or a test, is not its business."""

from __future__ import annotations

import contextlib
import hashlib
import os
import queue
import socket
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import engram
from engram.core import Step
from engram.errors import ClusterTrouble, EngramError, Stopped
from engram.execute.freight import Receiver
from engram.execute.news import Listener
from engram.execute.satchel import Message, Satchel, words
from engram.memory import keep_freed
from engram.nodes import Node, torch_version
from engram.own import unpack
from engram.tree import grow

TELL_SECONDS = 0.2
HEAR_SECONDS = 30.0  # how long a call waits for something to be told, and a question for its answer


class RemoteWorker:
    def __init__(self, get: Callable[[Any], bytes] | None = None):
        """`get` finds what was put somewhere: Ray's own unless another is given."""
        if get is None:
            import ray

            get = ray.get
        keep_freed()
        self.receiver, self.listener = Receiver(get), Listener()
        self.messages: queue.Queue[Message] = queue.Queue()
        self.answers: queue.Queue[tuple[str, bytes | None]] = queue.Queue()
        self.stop_asked, self.told = False, 0.0
        self.places: dict[str, str] = {}
        self.folder: tempfile.TemporaryDirectory[str] | None = None

    def about(self) -> dict[str, Any]:
        return {"who": f"process {os.getpid()} on {socket.gethostname()}", "versions": versions()}

    def give(self, freight: Message) -> None:
        """Begin to grow a node; what becomes of it is heard."""
        threading.Thread(target=self._grow, args=(freight,), daemon=True).start()

    def hear(self) -> list[Message]:
        """What has happened since it was asked last; waits for something."""
        try:
            heard = [self.messages.get(timeout=HEAR_SECONDS)]
        except queue.Empty:
            return []
        while not self.messages.empty():
            heard.append(self.messages.get())
        return heard

    def answer(self, key: str, content: bytes | None) -> None:
        """To what it asked."""
        self.answers.put((key, content))

    def stop(self) -> None:
        """Leave the lesson that is being learned, with its position."""
        self.stop_asked = True

    def forget(self, streams: set[str]) -> None:
        """These are needed no more."""
        self.receiver.forget(streams)

    def close(self) -> None:
        """Leave nothing behind."""
        if self.folder is not None:
            self.folder.cleanup()

    def _grow(self, freight: Message) -> None:
        self.messages.put(self._outcome(freight))

    def _outcome(self, freight: Message) -> Message:
        try:
            node = self._node(freight)
            stream = self.receiver.stream(freight["stream"], freight["lots"])
            satchel = Satchel(freight["states"], freight["rows"], self.messages.put, self._ask)
            grow(node, satchel, stream, self._watch)
            return {"event": "grown"}
        except Stopped:
            return {"event": "stopped"}
        except EngramError as error:
            return {"event": "failed", **words(error)}
        except Exception as error:
            text = f"{type(error).__name__}: {error} (details in the store's workers.log)"
            return {"event": "failed", "kind": "EngramError", "error": text, "details": traceback.format_exc()}

    def _ask(self, question: Message) -> bytes | None:
        """The answer to a question; None also where none comes, which may come later and is then let pass."""
        self.messages.put(question)
        with contextlib.suppress(queue.Empty):
            while True:
                key, content = self.answers.get(timeout=HEAR_SECONDS)
                if key == question["key"]:
                    return content
        return None

    def _node(self, freight: Message) -> Node:
        """The node, with code of users unpacked here: its key says whether this process would grow the same."""
        for place, parcel in freight["code"].items():
            self.folder = self.folder or tempfile.TemporaryDirectory(prefix="engram-")
            self.places[place] = unpack(parcel, Path(tempfile.mkdtemp(dir=self.folder.name)))
        start, growths = freight["news"]
        if not isinstance(start, str) and "own" in start:
            own = {kind: [self.places[place], digest] for kind, (place, digest) in start["own"].items()}
            start = {**start, "own": own}
        node = self.listener.node(start, growths)
        if node.key != freight["key"]:
            raise ClusterTrouble(f"on {socket.gethostname()} this node would be another; install the same Engram there")
        return node

    def _watch(self, node: Node, step: Step) -> None:
        if self.stop_asked:
            raise Stopped
        if time.monotonic() - self.told > TELL_SECONDS:
            self.told = time.monotonic()
            self.messages.put({"event": "step", "share": step.done / max(step.total, 1)})


@cache
def versions() -> str:
    """What has to be the same wherever nodes of one tree are grown: this source, torch and Python."""
    folder = Path(engram.__file__).parent
    sha = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        sha.update(f"{path.relative_to(folder)} ".encode() + path.read_bytes())
    python = ".".join(map(str, sys.version_info[:2]))
    return f"Engram {engram.__version__} ({sha.hexdigest()[:8]}), torch {torch_version()}, Python {python}"
