"""Where code comes from: enough to find it again in another process, and to see that it has changed."""

from __future__ import annotations

import inspect
import re
import sys
import uuid
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from engram.errors import BadSetting
from engram.own.places import LOADED, file_of
from engram.own.source import of_name

_LIBRARY = Path(__file__).resolve().parents[1]


class Origin(NamedTuple):
    """Where code comes from, and the digest of its source. The place is None where only this process has it: a class
    that was written at a prompt, in a notebook or in the script that is running."""

    place: str | None
    digest: str


def origin(thing: Any) -> Origin | None:
    """Where a class or function comes from; None for the library's own. It is found once for each object, because its
    file may be edited while the object stays what it is."""
    if thing not in _ORIGINS:
        _ORIGINS[thing] = _find_origin(thing)
    return _ORIGINS[thing]


def origin_at(place: str, thing: Any) -> Origin | None:
    """The same of what was asked for by its place: there it is found again also where a function of another file has
    made it."""
    found = origin(thing)
    if found is None or found.place is not None:
        return found and found._replace(place=place)
    where, _, name = place.rpartition(":")
    is_file = where.endswith(".py")
    file = Path(where) if is_file else file_of(sys.modules.get(where))
    if file is None or where == "__main__":
        return found
    return Origin(place, of_name(file, name, "" if is_file else where))


_ORIGINS: WeakKeyDictionary[Any, Origin | None] = WeakKeyDictionary()


def _find_origin(thing: Any) -> Origin | None:
    module = sys.modules.get(getattr(thing, "__module__", ""), None)
    file = file_of(module)
    if file is not None and file.is_relative_to(_LIBRARY):
        return None
    name = _name_in(module, file, thing)
    if file is None or module is None or name is None or not _is_written_in(thing, file):
        # The source cannot be read, or what a function around it has put into it: nothing may be taken for the same.
        return Origin(None, uuid.uuid4().hex[:16])
    if module.__name__ == "__main__":
        return Origin(None, of_name(file, name))
    _refuse_if_edited(module, file, thing)
    if module.__name__.startswith(LOADED):
        return Origin(f"{file}:{name}", of_name(file, name))
    return Origin(f"{module.__name__}:{name}", of_name(file, name, module.__name__))


def _name_in(module: ModuleType | None, file: Path | None, thing: Any) -> str | None:
    """What its module has it as, once it is imported: what a function made may have the `__qualname__` of another. None
    where it cannot be found again; a script that is running may bind a name to one thing after another, so there what
    was not written under its name has none."""
    if module is None or file is None or (module.__name__ == "__main__" and not _says_all(thing, file)):
        return None
    names = [name for name, value in vars(module).items() if value is thing]
    return thing.__name__ if thing.__name__ in names else next(iter(names), None)


def _is_written_in(thing: Any, file: Path) -> bool:
    """Whether a class or function has its source in this file: what was written at a prompt or in a document's example
    is said to belong to whichever script is running."""
    places = {code.co_filename for code in _codes(thing)} - {"<string>"}  # what dataclasses write themselves
    if places:
        return any(Path(place).resolve() == file for place in places)
    return f"class {thing.__name__}" in file.read_text(encoding="utf-8", errors="replace")


def _codes(thing: Any) -> list[CodeType]:
    """The code of a function, or of a class's methods."""
    return [each.__code__ for each in _functions(thing)]


def _functions(thing: Any) -> list[Any]:
    """A function, or a class's methods, as they were written: a decorator may lie anywhere."""
    found = [thing] if inspect.isfunction(thing) else [v for v in vars(thing).values() if inspect.isfunction(v)]
    return [each for each in map(inspect.unwrap, found) if inspect.isfunction(each)]


def _says_all(thing: Any, file: Path) -> bool:
    """Whether a class or function of the running script is as its text has it at the top level: no function has put
    anything into it."""
    if any("<locals>" in each.__qualname__ for each in _functions(thing)):
        return False
    if thing.__qualname__ == "<lambda>":
        return thing.__defaults__ is None
    text = file.read_text(encoding="utf-8", errors="replace")
    return re.search(rf"^(class|def|async def) {re.escape(thing.__qualname__)}\b", text, re.MULTILINE) is not None


def _refuse_if_edited(module: ModuleType, file: Path, thing: Any) -> None:
    """Results of what was imported are not kept under the digest of another text. An edit shows in the methods."""
    loader = getattr(module, "__loader__", None)
    if not isinstance(loader, SourceFileLoader):
        return  # nobody knows what it makes of a text
    here = [_without_lines(code) for code in _codes(thing) if Path(code.co_filename).resolve() == file]
    try:
        now = _without_lines(loader.source_to_code(file.read_bytes(), str(file)))
    except SyntaxError:
        now = None
    if now is None or not {*here} <= {*_inside(now)}:
        raise BadSetting(f"{file.name} has changed since it was imported; start Python again")


def _without_lines(code: CodeType) -> CodeType:
    """The same wherever it stands in a file."""
    parts = (_without_lines(part) if isinstance(part, CodeType) else part for part in code.co_consts)
    return code.replace(co_firstlineno=1, co_linetable=b"", co_filename="", co_consts=tuple(parts))


def _inside(code: CodeType) -> Iterator[CodeType]:
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _inside(part)
