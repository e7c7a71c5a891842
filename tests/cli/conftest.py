"""The command line, called in this process: what it prints and how it leaves."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from engram.cli import main


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as one strict JSON value."""
        return json.loads(self.out, parse_constant=_refuse)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


Engram = Callable[..., Said]


@pytest.fixture
def engram(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Engram:
    """`engram("run", …)` in an empty folder, as wide as 80 columns and not on a terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("ENGRAM_STORE", raising=False)

    def engram(*words: str) -> Said:
        monkeypatch.setattr(sys, "argv", ["engram", *words])
        capsys.readouterr()
        with warnings.catch_warnings():
            warnings.simplefilter("default", UserWarning)  # as outside of tests: the command shows them
            with pytest.raises(SystemExit) as left:
                main()
        code = left.value.code
        said = capsys.readouterr()
        return Said(0 if code is None else int(code), said.out, said.err)

    return engram


@pytest.fixture
def train(engram: Engram) -> Engram:
    """`train("split-digits", "ewc", …)`: a small run in this process."""

    def train(stream: str, learner: str, *words: str) -> Said:
        return engram("run", stream, "--learner", learner, "--set", "widths=12", "--jobs", "1", *words)

    return train
