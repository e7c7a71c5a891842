"""The progress bar: on a terminal only, with the time left, and stopping gently when it is asked to."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from types import FrameType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from engram.errors import Stopped


class Bar:
    """Shows how many nodes have been grown. `check` raises `Stopped` after a signal."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        self.shown = Progress(
            TextColumn("training"),
            BarColumn(),
            TextColumn("{task.completed:.0f}/{task.total:.0f} tasks"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self.stop_asked = False
        self.shares: dict[str, float] = {}

    def check(self) -> None:
        if self.stop_asked:
            raise Stopped

    def begin(self, nodes: int) -> None:
        self.task = self.shown.add_task("", total=nodes)
        self.total = nodes
        self.count = 0
        self.shown.start()

    def step(self, key: str, share: float) -> None:
        if not self.shown.disable:
            self.shares[key] = share
            self._show()

    def grown(self, key: str) -> None:
        self.shares.pop(key, None)
        self.count += 1
        self._show()

    def _show(self) -> None:
        self.shown.update(self.task, completed=min(self.count + sum(self.shares.values()), self.total))

    def end(self) -> None:
        self.shown.stop()

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Ctrl-C, SIGTERM and SIGHUP ask to stop; a second one leaves at once."""
        signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = {number: signal.signal(number, self._ask) for number in signals}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.stop_asked:
            os._exit(130)
        self.stop_asked = True
