"""Who grows the tree: this process, or a pool of worker processes."""

from __future__ import annotations

import os
from collections.abc import Sequence

from engram.execute.here import grow_here
from engram.execute.pool import grow_in_pool
from engram.execute.progress import Progress, Silence
from engram.execute.walk import Walk
from engram.learners import REGISTERED
from engram.runs import Run
from engram.store import Store

__all__ = ["Progress", "Silence", "default_jobs", "execute"]


def default_jobs() -> int:
    """As many workers as this process may use cores."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def execute(runs: Sequence[Run], store: Store, jobs: int = 1, progress: Progress | None = None) -> None:
    """Grow what the runs ask for. Each ends in the store as done or failed; one that fails stops no other."""
    progress = progress or Silence()
    unique = list({run.key: run for run in runs}.values())
    for run in unique:
        store.add_run(run.key, run.to_json())
    walks = [Walk(run) for run in unique]
    progress.begin(sum(run.size() for run in unique))
    try:
        if jobs == 1 or any(_only_here(run) for run in unique):
            grow_here(walks, store, progress)
        else:
            grow_in_pool(walks, store, jobs, progress)
    finally:
        progress.end()
    tidy(store)


def _only_here(run: Run) -> bool:
    """Whether a run needs what only this process has: arrays in memory, a learner registered by hand."""
    return run.stream.spec["kind"] == "arrays" or run.learner in REGISTERED


def tidy(store: Store) -> int:
    """Drop the checkpoints that finished runs no longer need: all but the newest final ones and, as far as there is
    room, those of first tasks, which a sweep of the penalty's strength shares. Bytes freed."""
    results = [entry["result"] for entry in reversed(store.runs()) if entry["status"] == "done" and entry["result"]]
    grown = {key for result in results for key in result["grown"]}
    paths = [result["path"] for result in results if result["path"]]
    return store.prune(grown, list(dict.fromkeys([path[-1] for path in paths] + [path[0] for path in paths])))


def clean_up(store: Store, forget_failed: bool = False) -> dict[str, int]:
    """Drop what no run needs: see `tidy`; and positions and nodes that belong to no run that is done or will go on."""
    if forget_failed:
        store.forget_runs([entry["key"] for entry in store.runs() if entry["status"] == "failed"])
    entries = store.runs()
    freed = tidy(store)
    if all(entry["status"] == "done" for entry in entries):
        held = {key for entry in entries for key in entry["result"]["grown"]}
        freed += store.drop_all_but(held, {entry["result"]["path"][-1] for entry in entries})
    return {"freed_bytes": freed, "store_bytes": store.size_bytes()}
