"""Who grows the tree: this process, or a pool of worker processes."""

from __future__ import annotations

import os
from collections.abc import Sequence

from engram.execute.here import grow_here
from engram.execute.pool import grow_in_pool
from engram.execute.progress import Progress, Silence
from engram.execute.tidying import clean_up, tidy
from engram.execute.walk import Walk
from engram.learners import REGISTERED
from engram.runs import Run
from engram.store import Store

__all__ = ["Progress", "Silence", "clean_up", "default_jobs", "execute", "tidy"]


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
