"""How far the work has come. The library is silent; the command line shows a bar on a terminal."""

from __future__ import annotations

from typing import Protocol as Interface


class Progress(Interface):
    """Told of every node that is grown, and of steps on the way. `check` raises `Stopped` if somebody asked."""

    def check(self) -> None: ...
    def begin(self, nodes: int) -> None: ...
    def step(self, key: str, share: float) -> None: ...
    def grown(self, key: str) -> None: ...
    def end(self) -> None: ...


class Silence:
    """Shows nothing, never stops."""

    def check(self) -> None:
        """Nobody asked."""

    def begin(self, nodes: int) -> None:
        """Nothing is shown."""

    def step(self, key: str, share: float) -> None:
        """Nothing is shown."""

    def grown(self, key: str) -> None:
        """Nothing is shown."""

    def end(self) -> None:
        """Nothing is shown."""
