"""The package itself: its public names, and that it runs."""

from __future__ import annotations

import subprocess
import sys

import engram


def test_dir_shows_the_public_names_and_each_of_them_is_there():
    assert set(dir(engram)) == set(engram.__all__) > {"run", "stream", "from_arrays", "Record", "__version__"}
    assert all(getattr(engram, name) is not None for name in dir(engram))


def test_everything_can_be_imported_at_once():
    names: dict[str, object] = {}
    exec("from engram import *", names)
    assert names["run"] is engram.run
    assert names["__version__"] == engram.__version__


def test_python_m_engram_is_the_command():
    done = subprocess.run([sys.executable, "-m", "engram", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"engram {engram.__version__}\n", "")
