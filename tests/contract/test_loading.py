"""A learner class is found by module or by file, and what is wrong with the text is said."""

from __future__ import annotations

import sys

import pytest

from engram.checks import check_learner
from engram.learners import LEARNERS
from engram.learners.ridge import Ridge
from engram.own import NotFound

OWN = """
from __future__ import annotations

from dataclasses import dataclass

from engram.learners.ridge import Ridge


@dataclass
class Helper:
    size: int = 1


class Own(Ridge):
    name = "own"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "own_learner.py").write_text(OWN)
    (tmp_path / "helped.py").write_text("from own_learner import Own\n\n\nclass Helped(Own):\n    name = 'helped'\n")
    (tmp_path / "bad_syntax.py").write_text("class Own(:\n")
    (tmp_path / "part.py").write_text("from .own_learner import Own\n")
    (tmp_path / "nothing_here.py").write_text("number = 1\n")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in ("own_learner", "helped", "bad_syntax", "nothing_here"):
        sys.modules.pop(name, None)


def test_by_module():
    assert LEARNERS.of("engram.learners.ridge:Ridge") is Ridge


def test_by_module_in_the_folder_one_is_in(folder):
    path = list(sys.path)
    assert LEARNERS.of("own_learner:Own").name == "own"
    assert sys.path == path


def test_by_file(folder):
    cls = LEARNERS.of(f"{folder}/own_learner.py:Own")
    assert issubclass(cls, Ridge)
    assert all(check.passed for check in check_learner("own_learner.py:Own"))


def test_a_file_may_import_its_neighbours(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    assert LEARNERS.of(f"{folder}/helped.py:Helped").name == "helped"


@pytest.mark.parametrize(
    "text, said",
    [
        ("own_learner.py:", "'own_learner.py:' names no class; write it as module:Class or path/to/file.py:Class"),
        (":Own", "':Own' names no class"),
        ("missing.py:Own", "there is no file 'missing.py'; give the path of a Python file"),
        ("no_such_module:Own", "'no_such_module' cannot be imported (ModuleNotFoundError: No module named"),
        ("bad_syntax.py:Own", "'bad_syntax.py' cannot be imported (SyntaxError:"),
        ("part.py:Own", "'part.py' cannot be imported (ImportError: attempted relative import with no known parent"),
        ("own_learner.py:Other", "own_learner.py has no class 'Other'; choose one of: Own"),
        (
            "own_learner.py:Helper",
            "'Helper' of own_learner.py is not a subclass of engram.core.Learner; choose one of: Own",
        ),
        ("nothing_here.py:Own", "nothing_here.py has no class 'Own'; it defines no subclass of engram.core.Learner"),
    ],
)
def test_what_is_wrong_is_said(folder, text, said):
    with pytest.raises(NotFound) as caught:
        LEARNERS.of(text)
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)
