"""Code of one's own as text that can be unpacked on a machine that lacks its files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from engram.errors import BadSetting
from engram.own.places import file_name, file_of
from engram.own.source import imported, root_of


def pack(place: str) -> dict[str, Any]:
    """The file or module of a place, what it imports from beside it and the packages that they are in, as text by their
    paths below one folder. The digest of the place is the same wherever they are unpacked."""
    where, _, name = place.rpartition(":")
    file = Path(where) if where.endswith(".py") else file_of(sys.modules.get(where))
    if file is None or not file.is_file():
        raise BadSetting(f"the source of {file_name(place)} cannot be read any more; put it back, or ask for it again")
    module = "" if where.endswith(".py") else where
    root = root_of(file, module)
    found = [path for path in imported(file, module) if path.is_relative_to(root)]
    return {
        "file": str(file.relative_to(root)),
        "module": module,
        "name": name,
        "files": {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in found},
    }


def unpack(parcel: dict[str, Any], folder: Path) -> str:
    """Write what was packed below a folder: its place there. Modules are found by their names, before others."""
    for name, text in parcel["files"].items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    if parcel["module"]:
        sys.path.insert(0, str(folder))
        return f"{parcel['module']}:{parcel['name']}"
    return f"{folder / parcel['file']}:{parcel['name']}"
