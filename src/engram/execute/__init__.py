"""Who grows the tree: this process, or worker processes, by one board."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence

from engram.execute.board import drive
from engram.execute.here import Here
from engram.execute.noted import Noted, notes
from engram.execute.processes import Processes
from engram.execute.progress import Progress, Silence
from engram.execute.tidying import clean_up, tidy
from engram.execute.walk import Walk
from engram.own import file_name
from engram.runs import Run, code_of, without_code
from engram.store import Store

__all__ = ["Progress", "Silence", "clean_up", "default_jobs", "execute", "notes", "tidy"]


def default_jobs() -> int:
    """As many workers as this process may use cores."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def execute(runs: Sequence[Run], store: Store, jobs: int = 1, progress: Progress | None = None) -> None:
    """Grow what the runs ask for. Each ends in the store as done or failed; one that fails stops no other."""
    unique = list({run.key: run for run in runs}.values())
    _say_what_changed(unique, store)
    for run in unique:
        store.add_run(run.key, run.to_json())
    walks = [Walk(run) for run in unique]
    noted = Noted(progress or Silence(), store.folder, walks)
    noted.begin(sum(run.size() for run in unique))
    here = [walk for walk in walks if jobs == 1 or _only_here(walk.run)]
    try:
        if len(here) < len(walks):
            drive([walk for walk in walks if walk not in here], store, noted, Processes(store, jobs))
        if here:
            drive(here, store, noted, Here(store))
    finally:
        noted.end()
    tidy(store)


def _only_here(run: Run) -> bool:
    """Whether a run needs what only this process has, which is then said."""
    spec = run.stream.spec
    reasons = {kind: origin.place is None for kind, origin in run.root.own.items()}
    reasons["stream"] = spec["kind"] == "arrays" or spec.get("place", "") is None
    only = [kind for kind, here in reasons.items() if here]
    if only:
        warnings.warn(
            f"the {' and the '.join(only)} of {run.learner} on {run.stream.name} are in this process only, so it is "
            "trained here and not by workers; put code into a module of its own to change that",
            stacklevel=2,
        )
    return bool(only)


def _say_what_changed(runs: Sequence[Run], store: Store) -> None:
    """An edited method is another method: its runs are trained again, and the reason is said."""
    asked = {without_code(spec): code_of(spec) for spec in (run.to_json() for run in runs) if code_of(spec)}
    if not asked:
        return
    before = [entry["spec"] for entry in store.runs() if entry["key"] not in {run.key for run in runs}]
    changed: dict[str, None] = {}
    for spec in before:
        now = asked.get(without_code(spec), {})
        changed |= {place: None for place, digest in code_of(spec).items() if now.get(place, digest) != digest}
    for place in changed:
        warnings.warn(f"{file_name(place)} has changed since these runs; training again", stacklevel=2)
