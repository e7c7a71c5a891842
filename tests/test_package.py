"""The package itself: its public names, and that it runs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import engram

ROOT = Path(__file__).parents[1]
DISTRIBUTIONS = {"PIL": "pillow", "sklearn": "scikit-learn", "mlflow": "mlflow-skinny"}  # not called as imported


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


def _imported():
    """The packages that the library imports, wherever it does."""
    for file in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                yield from (alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                yield node.module.split(".")[0]


def _declared(part):
    """The packages that a list in pyproject.toml names."""
    return {re.match(r"[\w-]+", line).group() for line in re.findall(r'"(.+?)"', part)}


def test_what_is_imported_is_declared_and_nothing_else():
    project = (ROOT / "pyproject.toml").read_text()
    names = _declared(re.search(r"^dependencies = \[(.*?)^\]", project, re.S | re.M).group(1))
    extras = _declared(re.search(r"^\[project.optional-dependencies\](.*?)^dev =", project, re.S | re.M).group(1))
    foreign = set(_imported()) - set(sys.stdlib_module_names) - {"engram"}
    assert names <= {DISTRIBUTIONS.get(name, name) for name in foreign} <= names | extras
