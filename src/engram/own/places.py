"""A class or function by its place: a file and a name in it, or a module and a name in it."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from engram.errors import EngramError
from engram.own.source import digest_of, imported, of_text

LOADED = "_engram_file_"  # what modules loaded from files are called in sys.modules


class NotFound(EngramError):
    """A text that leads to nothing of the kind that is wanted."""


def is_place(text: str) -> bool:
    """Whether a text names a thing inside a file or module, rather than a thing that the library knows by name."""
    where, colon, name = text.rpartition(":")
    return bool(colon) and (where.endswith(".py") or name.isidentifier())


def load(place: str, fits: Callable[[Any], bool], wanted: str) -> Any:
    """What is at a place, if it `fits`; `wanted` says what does. Importing it runs the module's code; a file that has
    changed is read again."""
    where, _, name = place.rpartition(":")
    if not where or not name:
        raise NotFound(f"'{place}' names no class; write it as module:Class or path/to/file.py:Class")
    module = _module(where)
    value = getattr(module, name, None)
    if value is None:
        raise NotFound(f"{where} has no class '{name}'; {_choices(module, fits, wanted)}")
    if not fits(value):
        raise NotFound(f"'{name}' of {where} is not a {wanted}; {_choices(module, fits, wanted)}")
    return value


def absolute(place: str) -> str:
    """The place as it is found from any folder."""
    where, _, name = place.rpartition(":")
    return f"{Path(where).expanduser().resolve()}:{name}" if where.endswith(".py") else place


def file_name(place: str) -> str:
    """What a place's file or module is called in a sentence."""
    where = place.rpartition(":")[0]
    return Path(where).name if where.endswith(".py") else where


def _module(where: str) -> ModuleType:
    path = Path(where).expanduser()
    is_file = path.suffix == ".py"
    if is_file and not path.is_file():
        raise NotFound(f"there is no file '{where}'; give the path of a Python file, as in my_learner.py:MyLearner")
    try:
        with _importable_from(path.resolve().parent if is_file else Path.cwd()):
            return _import_file(path.resolve()) if is_file else importlib.import_module(where)
    except (Exception, SystemExit) as error:  # a script without a guard may end itself
        text = " ".join(str(error).split())
        raise NotFound(
            f"'{where}' cannot be imported ({type(error).__name__}: {text}); {_way_out(path, text)}"
        ) from error


def _way_out(path: Path, trouble: str) -> str:
    if "relative import" in trouble:
        return f"it is part of a package, so name it as a module, as in {path.resolve().parent.name}.{path.stem}:Name"
    return "correct it, or give another module or file"


def _import_file(path: Path) -> ModuleType:
    """The module of a file as it is now: what it defined before it was changed stays what it was."""
    name = f"{LOADED}{path.stem}_{hashlib.sha256(f'{path} {digest_of(path)}'.encode()).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    _forget(imported(path) - {path}, path.parent)
    sys.modules[name] = module  # dataclasses look their own module up there
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


_SEEN: dict[Path, str] = {}  # the digests of modules beside a file when it was loaded


def _forget(neighbours: set[Path], folder: Path) -> None:
    """Let modules be imported again of which one was edited since (others may have taken values from it), or whose
    names another folder's modules have taken."""
    if any(_SEEN.get(path, of_text(path)) != of_text(path) for path in neighbours):
        for name in [name for name, module in sys.modules.items() if file_of(module) in neighbours]:
            del sys.modules[name]
    for path in neighbours:
        if path.is_relative_to(folder):
            _free(_dotted(path.relative_to(folder)), path)
        _SEEN[path] = of_text(path)


def _dotted(path: Path) -> str:
    """The name that a file in a folder is imported by."""
    return ".".join((path.parent if path.name == "__init__.py" else path.with_suffix("")).parts)


def _free(name: str, path: Path) -> None:
    """See that a name can be imported from this file. What is installed keeps its name: others count on it."""
    taken = file_of(sys.modules.get(name))
    installed = (sys.prefix, sys.base_prefix)
    if taken not in (None, path) and not any(taken.is_relative_to(place) for place in installed):
        del sys.modules[name]


@contextmanager
def _importable_from(folder: Path) -> Iterator[None]:
    """An installed command does not look for modules in the folder it is called from; here it should."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def _choices(module: ModuleType, fits: Callable[[Any], bool], wanted: str) -> str:
    own = {name: value for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__}
    found = [name for name, value in own.items() if fits(value)]
    return f"choose one of: {', '.join(found)}" if found else f"it defines no {wanted}; write one"


def file_of(module: ModuleType | None) -> Path | None:
    name = getattr(module, "__file__", None)
    return Path(name).resolve() if name and Path(name).suffix == ".py" else None
