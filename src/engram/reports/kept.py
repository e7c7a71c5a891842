"""Experiments that a store keeps: their tables again, from the store alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engram import experiment, toml
from engram.errors import BadSetting
from engram.reports.comparison import ComparedRow, Comparison, by_stream
from engram.runs import record_of
from engram.store import Store


def is_file(text: str) -> bool:
    """Whether this names an experiment file, rather than something in a store."""
    return text.lower().endswith(".toml")


def find_experiment(store: Store, path: str) -> Mapping[str, Any]:
    """The experiment of a file: the one with its very text, or the one that asks for the same. Code and data that the
    file names need not be here for the first."""
    text = toml.read_text(path)
    found = [each for each in store.experiments() if each["text"] == text]
    found = found or store.experiments(experiment.read(path).digest)
    if not found:
        raise BadSetting(f"{path} has not been run with the store {store.folder}; 'engram run {path}' does that")
    return found[-1]


def comparisons_of(kept: Mapping[str, Any], store: Store) -> list[Comparison]:
    """One for each stream, of what its runs have come to."""
    entries = {entry["key"]: entry for entry in store.runs()}
    missing = sum(key not in entries for row in kept["rows"] for key in row["runs"])
    if missing:
        raise BadSetting(
            f"{missing} of the runs of experiment {kept['key'][:10]} are no longer in {store.folder}; run it again, "
            "which trains only these"
        )
    rows = [
        ComparedRow(row["label"], tuple(record_of(entries[key], store) for key in row["runs"]), row["floor"])
        for row in kept["rows"]
    ]
    return [Comparison(tuple(here), kept["by"]) for here in by_stream(rows)]
