"""What only a process of its own shows: start-up time, the terminal, the pool of workers."""

from __future__ import annotations

import json
import os
import pty
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import engram as library

ENGRAM = [sys.executable, "-m", "engram.cli"]
SMALL = ["run", "split-digits", "--learner", "finetune", "--tasks", "2", "--set", "widths=12"]


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_help_is_quick_and_imports_nothing_heavy():
    before = _cpu_seconds()
    done = subprocess.run([sys.executable, "-X", "importtime", "-m", "engram.cli", "--help"], capture_output=True)
    assert _cpu_seconds() - before < 0.4
    assert done.returncode == 0
    imported = {line.split(b"|")[-1].strip() for line in done.stderr.splitlines()}
    assert b"engram.cli" in imported
    assert not imported & {b"torch", b"numpy", b"scipy", b"sklearn", b"matplotlib"}


def test_workers_give_the_bits_of_this_process_and_standard_error_is_silent(tmp_path):
    asked = [*ENGRAM, *SMALL, "--seeds", "0,1", "--json", "--jobs", "2"]
    pool = subprocess.run(asked, capture_output=True, cwd=tmp_path, check=True)
    assert pool.stderr == b""
    for run in json.loads(pool.stdout)["runs"]:
        stream = library.stream("split-digits", seed=run["seed"], tasks=2)
        here = library.run(stream, "finetune", seed=run["seed"], widths="12")
        assert run["parameters_sha256"] == here.parameters_sha256


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_the_bar_with_the_time_left_is_for_terminals(tmp_path: Path):
    master, terminal = pty.openpty()
    words = [*ENGRAM, *SMALL, "--jobs", "1", "--json"]
    process = subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=terminal, env={**os.environ, "TERM": "xterm"}
    )
    os.close(terminal)
    out, _ = process.communicate(timeout=120)
    drawn = os.read(master, 1 << 20).decode()
    os.close(master)
    assert process.returncode == 0
    assert json.loads(out)["learner"] == "finetune"
    assert "tasks" in drawn
    assert "left" in drawn
