"""How a command leaves when nobody reads what it prints, or when it cannot be written: in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ENGRAM = [sys.executable, "-m", "engram.cli"]
RUN = ["run", "split-digits", "--learner", "finetune", "--tasks", "2", "--set", "widths=12", "--jobs", "1"]
PAPER = ["paper", "permuted-mnist", "--seeds", "0", "--jobs", "2"]
COMMANDS = [
    ["--help"], ["list", "learners"], ["data", "list", "--json"], [*RUN, "--json"], ["runs"], ["show", "KEY"], PAPER,
    ["data", "verify", "digits"],
]  # fmt: skip


def ids(words: list[str]) -> str:
    return " ".join(words)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store in which everything is done that the commands ask for."""
    folder = tmp_path_factory.mktemp("leaving")
    for words in (RUN, PAPER):
        subprocess.run([*ENGRAM, *words], cwd=folder, check=True, capture_output=True)
    return folder


def left(words: list[str], folder: Path, redirection: str) -> tuple[int, str]:
    """The exit code of a command in a shell, with its output sent there, and what it said on standard error."""
    words = [_key(folder) if word == "KEY" else word for word in words]
    script = ["bash", "-c", f'set -o pipefail; "$0" "$@" {redirection}']
    done = subprocess.run([*script, *ENGRAM, *words], cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stderr


def _key(folder: Path) -> str:
    listed = subprocess.run([*ENGRAM, "runs", "--json"], cwd=folder, capture_output=True, check=True).stdout
    return json.loads(listed)["runs"][0]["key"]


@pytest.mark.parametrize("words", COMMANDS, ids=ids)
def test_a_reader_that_leaves_is_no_trouble(words, store):
    code, said = left(words, store, "| head -c 1 >/dev/null")
    assert code in (0, 141)
    assert said == ""


@pytest.mark.parametrize("words", COMMANDS, ids=ids)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_sentence(words, store):
    code, said = left(words, store, "> /dev/full")
    assert code == 2
    assert said == "engram: standard output cannot be written (No space left on device); send it somewhere else\n"


@pytest.mark.parametrize("words", [["list", "learners"], ["runs", "--json"], ["--help"]], ids=ids)
def test_closed_streams_are_no_trouble(words, store):
    assert left(words, store, ">&- 2>&-") == (0, "")


@pytest.mark.parametrize("where", ["2>/dev/full", "2>&-", "2>&1 | true"])
def test_a_mistake_that_cannot_be_told_is_still_a_mistake(store, where):
    assert left(["list", "learnrs"], store, where) == (2, "")


def test_a_terminal_without_unicode_gets_escapes(store, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    assert left(["show", "KEY"], store, "| grep -c '\\\\xb7'") == (0, "")
