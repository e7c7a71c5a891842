"""The digest of a Python file: of its text, and of the text of everything beside it that it imports."""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path


def digest_of(file: Path, module: str = "") -> str:
    """One sha256 over a Python file and over everything beside it that it imports, directly or not. `module` is the
    dotted name that it is imported by, if it is.

    What is installed counts as known by its version, as the libraries do that Engram itself stands on.
    """
    texts = sorted(map(of_text, imported(file.resolve(), module)))
    return hashlib.sha256(" ".join(texts).encode()).hexdigest()[:16]


def of_name(file: Path, name: str, module: str = "") -> str:
    """The digest of one thing of a Python file: two of them that go by one name are not the same."""
    return hashlib.sha256(f"{digest_of(file, module)} {name}".encode()).hexdigest()[:16]


def of_text(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def imported(file: Path, module: str = "") -> set[Path]:
    """The file and the modules beside it (in its folder, or in the package that it is part of) that it imports, those
    that they import, and the first files of all packages that they are in, because they run too."""
    root, known, new = root_of(file, module), {file}, [file]
    while new:
        for path in _asked_for(new.pop(), root) - known:
            if path.is_file():
                known.add(path)
                new.append(path)
    return known


def _asked_for(file: Path, root: Path) -> set[Path]:
    """Where a file's imports would lie, and the first files of the packages that it is in."""
    found = {folder / "__init__.py" for folder in file.parents if folder != root and folder.is_relative_to(root)}
    for folder, name in _imports(file, {file.parent, root_of(file), root}):
        path = folder.joinpath(*name.split("."))
        found |= {path.with_suffix(".py"), path / "__init__.py"}
        found |= {package / "__init__.py" for package in path.parents if folder in package.parents}
    return found


def _imports(file: Path, roots: set[Path]) -> set[tuple[Path, str]]:
    """Every dotted name that a file imports, with the folders to look for it in; in `from a import b` both a and a.b,
    because b may be a module."""
    found: set[tuple[Path, str]] = set()
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):  # importing it will say so
        return found
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {(folder, alias.name) for folder in roots for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            folders = {file.parents[node.level - 1]} if node.level else roots
            names = [".".join(filter(None, (node.module, alias.name))) for alias in node.names]
            found |= {(folder, name) for folder in folders for name in filter(None, (node.module, *names))}
    return found


def root_of(file: Path, module: str = "") -> Path:
    """The folder of a file, or the one that its package lies in. A package without an `__init__.py` shows only in the
    name that the module is imported by."""
    parts = (*module.split("."), "__init__") if file.name == "__init__.py" else tuple(module.split("."))
    if file.with_suffix("").parts[-len(parts) :] == parts:
        return file.parents[len(parts) - 1]
    folder = file.parent
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder
