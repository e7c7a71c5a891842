"""Standard output and standard error while a command runs: what goes wrong with them is said in a sentence, if at all.

Python, rich and typer each have their own idea of a closed pipe or a full disk (a traceback, exit code 1, a word at
shutdown), so no such error ever reaches them.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO

from engram.errors import EngramError


class ReaderGone(EngramError):
    """Whoever read standard output has seen enough, as in `engram list learners | head -1`."""

    exit_code = 141  # what a shell says of a command that SIGPIPE ended


class OutputTrouble(EngramError):
    """Standard output cannot be written."""


class _Stream:
    """A text stream whose writing ends in our errors, every time once it has failed; all else is the stream's own."""

    def __init__(self, stream: TextIO):
        self._stream = stream
        self._trouble: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with self._careful():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with self._careful():
            self._stream.flush()

    @contextlib.contextmanager
    def _careful(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._trouble = error
            _send_nowhere(self._stream)  # what is left in its buffer would be heard of at shutdown
        if self._trouble is not None:
            self.fail(self._trouble)

    def fail(self, error: OSError) -> None:
        """There is nowhere left to say it."""


class _Output(_Stream):
    def fail(self, error: OSError) -> None:
        if isinstance(error, BrokenPipeError):
            raise ReaderGone from error
        why = error.strerror or error
        raise OutputTrouble(f"standard output cannot be written ({why}); send it somewhere else") from error


@contextlib.contextmanager
def standard_streams() -> Iterator[None]:
    """While this lasts, `print` and everybody else's printing writes through the streams above."""
    output, errors = (_usable(stream) for stream in (sys.stdout, sys.stderr))
    with contextlib.redirect_stdout(_Output(output)), contextlib.redirect_stderr(_Stream(errors)):
        yield


def _usable(stream: TextIO | None) -> TextIO:
    """A stream that takes any character; where there is none (closed by the shell) one that nobody reads."""
    if stream is None:
        return open(os.devnull, "w")
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")
    return stream


def _send_nowhere(stream: TextIO) -> None:
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
