"""Small files, catalogue entries for them, and what several tests ask of a folder."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path

from engram.datasets.catalogue import DataFile, Entry

CONTENT = bytes(range(256)) * 40
FILES = {"one.bin": CONTENT, "two.bin": CONTENT[::-1]}


def described(name: str, content: bytes, algorithm: str = "sha256") -> DataFile:
    return DataFile(name, len(content), f"{algorithm}:{hashlib.new(algorithm, content).hexdigest()}")


def entry_of(kind: str, files: dict[str, bytes], **values) -> Entry:
    settled = {"name": "toy", "shape": (1,), "classes": 10, "train": 1, "test": 1, "licence": "", "source": ""}
    described_files = tuple(described(name, content) for name, content in files.items())
    return Entry(**{**settled, "kind": kind, "files": described_files, **values})


def tar_gz(files: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def stored(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def everything_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
