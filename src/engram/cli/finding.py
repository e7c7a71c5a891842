"""What is meant by a key on the command line: a run, or an experiment with all its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from engram.cli.options import one_run
from engram.cli.output import others_printing
from engram.errors import BadSetting

if TYPE_CHECKING:
    from engram.store import Store


def experiment_of(store: Store, key: str) -> Mapping[str, Any] | None:
    """The experiment of a file, or the one whose digest begins like this and no run's key does."""
    from engram.reports.kept import find_experiment, is_file

    if is_file(key):
        with others_printing():
            return find_experiment(store, key)
    found = store.experiments(key)
    if not found or store.runs(key):
        return None
    if len(found) > 1:
        raise BadSetting(f"{len(found)} experiments in {store.folder} begin with '{key}'; give more of the digest")
    return found[0]


def some_runs(store: Store, keys: Sequence[str]) -> list[dict[str, Any]]:
    """The runs and the runs of experiments that are meant, each once; every run of the store where none is named."""
    if not keys:
        return store.runs()
    entries = {entry["key"]: entry for entry in store.runs()}
    found: dict[str, dict[str, Any]] = {}
    for key in keys:
        kept = experiment_of(store, key)
        meant = [run for row in kept["rows"] for run in row["runs"]] if kept else [one_run(store, key)["key"]]
        found |= {run: entries[run] for run in meant if run in entries}
    return list(found.values())
