"""A machine with empty ENGRAM_DATA and cache folders, and small datasets in the official formats."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_entries import FILES, entry_of

from engram import datasets
from engram.datasets import api
from engram.datasets.catalogue import Entry


@pytest.fixture
def data(tmp_path, monkeypatch) -> Path:
    """The folder in ENGRAM_DATA; the cache is its neighbour."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("ENGRAM_DATA", str(folder))
    monkeypatch.setenv("ENGRAM_CACHE", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def cache(data) -> Path:
    return data.parent / "cache" / "datasets"


@pytest.fixture
def catalogue(data, monkeypatch):
    """Make these entries the whole catalogue."""
    return lambda *entries: monkeypatch.setattr(api, "ENTRIES", entries)


@pytest.fixture
def install(data, catalogue):
    """Make an entry known, and put its files into ENGRAM_DATA."""

    def put(entry: Entry, files: dict[str, bytes]) -> Entry:
        catalogue(entry)
        for name, content in files.items():
            path = data / entry.name / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        return entry

    return put


@pytest.fixture
def fetch(catalogue):
    """Fetch a dataset with these roads."""

    def run(*ways, files=FILES, timeout=5.0):
        catalogue(entry_of("idx", files, roads=ways))
        return datasets.fetch("toy", timeout=timeout)

    return run
