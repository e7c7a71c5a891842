"""What --plan prints: what there is to train, and how long it may take."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from engram.cli.options import open_store
from engram.cli.output import others_printing, print_json, say, waiting
from engram.reports.words import count, duration

if TYPE_CHECKING:
    from engram.plan import Forecast
    from engram.runs import Run


def show_plan(wanted: Sequence[Run], store: str, jobs: int, as_json: bool) -> None:
    """Look only: a store that is not there is not made."""
    from engram.plan import plan

    place = open_store(store) if os.path.exists(os.path.join(store, "store.db")) else None
    with waiting("timing a few steps of every kind of node"), others_printing():
        found = plan(wanted, place, jobs)
    if as_json:
        print_json(found.to_json())
    else:
        for line in lines(found, store):
            say(line)


def lines(plan: Forecast, store: str) -> list[str]:
    counts = f"{count(plan.nodes, 'node')} wanted by {count(plan.runs, 'run')}"
    known = f"{plan.shared} shared, {plan.known} in {store}"
    timed = [f"{count(plan.timed, 'node')} of them as long as with other seeds"] if plan.timed else []
    may_stop = f"{count(plan.stopping, 'node')} of them with all their steps, which may stop long before"
    early = [may_stop] if plan.stopping else []
    return [f"{counts}: {known}, {plan.to_train} to train", time_line(plan), *timed, *early]


def time_line(plan: Forecast) -> str:
    if not plan.to_train:
        return "nothing is left to train"
    if math.isnan(plan.seconds):
        return "how long it takes cannot be told: a few steps of it failed"
    kinds = count(plan.kinds, "kind")
    measured = kinds if plan.measured_kinds == plan.kinds else f"{plan.measured_kinds} of {kinds}"
    workers = count(plan.jobs, "worker")
    most = "at most about" if plan.stopping else "about"
    return f"{most} {duration(plan.wall_seconds)} with {workers} (from a few steps of {measured} of nodes)"
