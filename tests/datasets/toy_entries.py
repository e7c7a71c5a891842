"""Catalogue entries for files that a test makes."""

from __future__ import annotations

import hashlib

from engram.datasets.catalogue import DataFile, Entry


def described(name: str, content: bytes, algorithm: str = "sha256") -> DataFile:
    return DataFile(name, len(content), f"{algorithm}:{hashlib.new(algorithm, content).hexdigest()}")


def entry_of(kind: str, files: dict[str, bytes], **values) -> Entry:
    settled = {"name": "toy", "shape": (1,), "classes": 10, "train": 1, "test": 1, "licence": "", "source": ""}
    described_files = tuple(described(name, content) for name, content in files.items())
    return Entry(**{**settled, "kind": kind, "files": described_files, **values})
