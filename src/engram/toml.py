"""TOML: files of other people's read with care, and the few kinds of values that an experiment has written."""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engram.errors import BadSetting

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MOST_BYTES = 1_000_000  # no experiment that a person wrote is longer
_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file, if it is one."""
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):
            raise BadSetting(f"{path} is not a regular file; give the path of an experiment file")
        if found.st_size > MOST_BYTES:
            raise BadSetting(f"{path} has {found.st_size} bytes, which no experiment file has; give another")
        return Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadSetting(f"{path} is not text in UTF-8 ({error.reason}); give the path of an experiment file") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise BadSetting(f"{path} cannot be read ({why}); give the path of an experiment file") from error


def parsed(text: str, path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        return tomllib.loads(text.replace("\r\n", "\n"))
    except (ValueError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else str(error).rstrip(".")
        hint = "each key can be given once" if "overwrite" in why else "see the README for an example"
        raise BadSetting(f"{path} is not an experiment file: {why}; {hint}") from None


def as_text(table: Mapping[str, Any]) -> str:
    """A table of values and of tables of values, as text that reads back as the same.

    >>> print(as_text({"a": [1, "x"], "t": {"b": 0.5, "u": {"c++": True}}}), end="")
    a = [1, "x"]
    <BLANKLINE>
    [t]
    b = 0.5
    <BLANKLINE>
    [t.u]
    "c++" = true
    """
    return "\n".join(_blocks(table, ()))


def _blocks(table: Mapping[str, Any], path: tuple[str, ...]) -> list[str]:
    values = {name: value for name, value in table.items() if not isinstance(value, Mapping)}
    lines = [f"[{'.'.join(map(_key, path))}]\n"] if path and (values or not table) else []
    lines += [f"{_key(name)} = {_value(value)}\n" for name, value in values.items()]
    blocks = ["".join(lines)] if lines else []
    for name, value in table.items():
        if isinstance(value, Mapping):
            blocks += _blocks(value, (*path, name))
    return blocks


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    return str(value).lower() if isinstance(value, bool) else repr(value)
