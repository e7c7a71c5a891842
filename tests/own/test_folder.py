"""A registry that is a folder."""

from __future__ import annotations

import sys

import pytest

from engram.own import in_folder


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of two modules, one of which imports from the other."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "base.py").write_text("class Thing:\n    name = ''\n")
    (folder / "one.py").write_text("from shelf.base import Thing\nclass One(Thing):\n    name = 'one'\nsize = 3\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "shelf"
    for name in [name for name in sys.modules if name.split(".")[0] == "shelf"]:
        del sys.modules[name]


def test_what_has_a_name_and_fits_is_found(package):
    found = in_folder(package, lambda value: isinstance(value, type))
    assert {name: value.__name__ for name, value in found.items()} == {"one": "One"}
