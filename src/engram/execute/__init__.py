"""Who grows the tree: this process, worker processes or a cluster, by one board."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence

from engram.errors import UnknownName
from engram.execute.board import Crew, drive
from engram.execute.here import Here
from engram.execute.noted import Noted, notes
from engram.execute.processes import Processes
from engram.execute.progress import Progress, Silence
from engram.execute.tidying import clean_up, tidy
from engram.execute.walk import Walk
from engram.own import file_name
from engram.own.specs import code_of, without_code
from engram.runs import Run
from engram.store import Store

__all__ = ["ENGINES", "Progress", "Silence", "clean_up", "default_jobs", "execute", "notes", "tidy"]

ENGINES = ("processes", "ray")


def default_jobs() -> int:
    """As many workers as this process may use cores."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def execute(
    runs: Sequence[Run],
    store: Store,
    jobs: int = 1,
    progress: Progress | None = None,
    engine: str = "processes",
    ray_address: str | None = None,
) -> None:
    """Grow what the runs ask for. Each ends in the store as done or failed; one that fails stops no other.

    With the engine `ray` workers are those of a cluster, and 0 `jobs` are one for each of its CPUs."""
    if engine not in ENGINES:
        raise UnknownName("engine", engine, ENGINES)
    unique = list({run.key: run for run in runs}.values())
    _say_what_changed(unique, store)
    for run in unique:
        store.add_run(run.key, run.to_json())
    walks = [Walk(run) for run in unique]
    noted = Noted(progress or Silence(), store.folder, walks)
    noted.begin(sum(run.size() for run in unique))
    alone = engine == "processes" and jobs == 1
    here = [walk for walk in walks if alone or _only_here(walk.run, sends_data=engine == "ray")]
    try:
        if len(here) < len(walks):
            crew = _crew(engine, store, jobs, ray_address)
            drive([walk for walk in walks if walk not in here], store, noted, crew)
        if here:
            drive(here, store, noted, Here(store))
    finally:
        noted.end()
    tidy(store)


def _crew(engine: str, store: Store, jobs: int, ray_address: str | None) -> Crew:
    if engine == "processes":
        return Processes(store, jobs)
    from engram.execute.remote import Remote

    return Remote(store, jobs, ray_address, jobs or default_jobs())


def _only_here(run: Run, sends_data: bool) -> bool:
    """Whether a run needs what only this process has, which is then said. Some workers are sent data, none code that is
    in no file."""
    spec = run.stream.spec
    reasons = {kind: origin.place is None for kind, origin in run.root.own.items()}
    reasons["stream"] = not sends_data and (spec["kind"] == "arrays" or spec.get("place", "") is None)
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
