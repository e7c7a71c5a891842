"""The digest of a Python file: of its text, and of the text of everything beside it that it imports."""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path


def digest_of(file: Path) -> str:
    """One sha256 over a Python file and over everything beside it that it imports, directly or not.

    What is installed counts as known by its version, as the libraries do that Engram itself stands on.
    """
    return hashlib.sha256(" ".join(sorted(map(of_text, imported(file.resolve())))).encode()).hexdigest()[:16]


def of_name(file: Path, name: str) -> str:
    """The digest of one thing of a Python file: two of them that go by one name are not the same."""
    return hashlib.sha256(f"{digest_of(file)} {name}".encode()).hexdigest()[:16]


def of_text(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def imported(file: Path, found: frozenset[Path] = frozenset()) -> set[Path]:
    """The file and the modules beside it (in its folder, or in the package that it is part of) that it imports, and
    those that they import."""
    known = {*found, file}
    for folder, name in _imports(file):
        path = folder.joinpath(*name.split("."))
        for candidate in (path.with_suffix(".py"), path / "__init__.py"):
            if candidate.is_file() and candidate not in known:
                known |= imported(candidate, frozenset(known))
    return known


def _imports(file: Path) -> set[tuple[Path, str]]:
    """Every dotted name that a file imports, with the folders to look for it in; in `from a import b` both a and a.b,
    because b may be a module."""
    found: set[tuple[Path, str]] = set()
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):  # importing it will say so
        return found
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {(folder, alias.name) for folder in _roots(file) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            folders = {file.parents[node.level - 1]} if node.level else _roots(file)
            names = [".".join(filter(None, (node.module, alias.name))) for alias in node.names]
            found |= {(folder, name) for folder in folders for name in filter(None, (node.module, *names))}
    return found


def _roots(file: Path) -> set[Path]:
    return {file.parent, root_of(file)}


def root_of(file: Path) -> Path:
    """The folder of a file, or the one that its package lies in."""
    folder = file.parent
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder
