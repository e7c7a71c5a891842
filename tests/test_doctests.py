"""The examples in the docstrings of all modules are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import engram

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(engram.__path__, "engram.")
    if not module.name.endswith("__main__")  # importing it runs the command
)


@pytest.mark.parametrize("name", ["engram", *MODULES])
def test_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples():
    assert sum(len(test.examples) for name in MODULES for test in _examples(name)) > 40


def _examples(name):
    return doctest.DocTestFinder().find(importlib.import_module(name))
