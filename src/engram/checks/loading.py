"""A learner class of one's own, from text: "module:Class" or "path/to/file.py:Class"."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from engram.core import Learner
from engram.errors import EngramError


class NotALearner(EngramError):
    """Something that does not lead to a learner class."""


def load_class(text: str) -> type[Learner]:
    """The learner class that the text names. Importing it runs the module's code."""
    place, _, name = text.rpartition(":")
    if not place or not name:
        raise NotALearner(f"'{text}' names no class; write it as module:Class or path/to/file.py:Class")
    module = _module(place)
    value = getattr(module, name, None)
    if value is None:
        raise NotALearner(f"{place} has no class '{name}'; {_choices(module)}")
    if not (isinstance(value, type) and issubclass(value, Learner)):
        raise NotALearner(f"'{name}' of {place} is not a subclass of engram.core.Learner; {_choices(module)}")
    return value


def _module(place: str) -> ModuleType:
    path = Path(place)
    is_file = path.suffix == ".py"
    if is_file and not path.is_file():
        raise NotALearner(f"there is no file '{place}'; give the path of a Python file, as in my_learner.py:MyLearner")
    try:
        with _importable_from(path.resolve().parent if is_file else Path.cwd()):
            return _import_file(path) if is_file else importlib.import_module(place)
    except Exception as error:
        text = " ".join(str(error).split())
        raise NotALearner(
            f"'{place}' cannot be imported ({type(error).__name__}: {text}); correct it, or give another module or file"
        ) from error


def _import_file(path: Path) -> ModuleType:
    name = f"_engram_file_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their own module up there
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


@contextmanager
def _importable_from(folder: Path) -> Iterator[None]:
    """An installed command does not look for modules in the folder it is called from; here it should."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def _choices(module: ModuleType) -> str:
    found = [
        name
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Learner) and value.__module__ == module.__name__
    ]
    return f"choose one of: {', '.join(found)}" if found else "it defines no subclass of engram.core.Learner; write one"
