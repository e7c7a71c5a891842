"""engram runs --watch beside a process that trains."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from engram.errors import Diverged
from engram.execute.noted import Noted
from engram.execute.progress import Silence
from engram.execute.walk import Walk
from engram.reports.watching import _with_time_left
from engram.request import Request
from engram.store import Store


@pytest.fixture
def training(engram):
    """A store in which this process trains: one of three runs is half way through its first task, one has failed."""
    store = Store("engram-store")
    runs = Request("split-digits", "ewc", tasks=2, settings={"widths": "8"}).runs([0, 1, 2])
    for run in runs:
        store.add_run(run.key, run.to_json())
    store.finish_run(runs[2].key, "failed", error=Diverged("the loss became nan\x1b[31m"))
    walks = [Walk(runs[0])]
    noted = Noted(Silence(), Path("engram-store"), walks)
    noted.begin(2)
    noted.noted = 0.0
    noted.step(walks[0].waiting_for[0].key, 0.5)
    yield noted
    noted.end()
    store.close()


def test_one_look_where_there_is_no_terminal(engram, training):
    said = engram("runs", "--watch")
    assert said.code == 0
    assert said.out.splitlines()[0] == "runs in engram-store: 1 failed, 1 running, 1 waiting"
    assert said.out.splitlines()[1].startswith(f"process {os.getpid()}: 25% of 2 tasks · about ")
    assert "  ewc  split-digits@1  seed 0  task 1 of 2  50%" in said.out
    assert r"failed: ewc on split-digits@1, seed 2: the loss became nan\x1b[31m" in said.out


def test_json_and_narrow_screens(engram, training, monkeypatch):
    found = engram("runs", "--watch", "--json").json
    assert found["runs"] == {"done": 0, "failed": 1, "running": 1, "waiting": 1}
    assert found["processes"][0]["growing"][0]["share"] == 0.5
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, engram("runs", "--watch").out.splitlines())) <= 60


def test_it_ends_by_itself_when_nothing_is_trained(engram, training):
    training.end()
    said = engram("runs", "--watch")
    assert said.out.startswith("runs in engram-store: 1 failed, 2 waiting · nothing is being trained; 'engram")


def test_on_a_terminal_it_goes_on_until_ctrl_c(training):
    main, terminal = pty.openpty()
    command = [sys.executable, "-m", "engram", "runs", "--watch"]
    listening = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # where these tests run in the background too
    environment = {**os.environ, "NO_COLOR": "1"}
    process = subprocess.Popen(command, stdout=terminal, stderr=terminal, env=environment, preexec_fn=listening)
    os.close(terminal)
    seen = b""
    while b"50%" not in seen:
        seen += os.read(main, 4096)
    time.sleep(0.2)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    with contextlib.suppress(OSError):  # which is how a terminal ends; one that nobody reads would hold up who writes
        while os.read(main, 4096):
            pass
    assert process.wait(60) == 0
    os.close(main)


def test_time_left_is_by_what_was_grown_and_not_by_what_was_found():
    note = {
        "began": 100.0,
        "now": 130.0,
        "total": 10,
        "count": 5,
        "found": 3,
        "growing": [{"share": 0.5}, {"share": 0.5}],
    }
    found = _with_time_left(note)
    assert (found["share"], found["seconds_left"]) == (0.6, 40.0)
    assert _with_time_left({**note, "found": 5, "growing": []})["seconds_left"] is None
