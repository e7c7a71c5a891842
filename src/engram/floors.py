"""What every comparison is worth reading beside: what no method should fall below, and what hardly any can exceed.

`finetune` does nothing against forgetting, and `joint` has all data at once. The third is what little it takes to do
well: where a method keeps samples, `exemplars-only` with as many of every class as the method that keeps the most;
where none does, `ridge`, which keeps sums. All have the rows' network, stream, protocol and head; `finetune` and
`joint` also have their training (epochs, batch, rate, …), the third its own defaults. None of them takes part in
looking for the best row; one that was named among the learners is no floor but a row like the others, with all settings
that it knows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from engram.parts.gradient import GradientLearner
from engram.runs import Run
from engram.settings import declared

FLOORS = ("finetune", "joint", "exemplars-only", "ridge")
TRAINED = ("finetune", "joint")


def floors_beside(runs: Sequence[Run]) -> dict[str, dict[str, Any]]:
    """The floors that fit these runs, each with settings of its own."""
    kept = max((kept_per_class(run) for run in runs if run.learner not in FLOORS), default=0)
    third: dict[str, dict[str, Any]] = {"exemplars-only": {"exemplars": kept}} if kept else {"ridge": {}}
    return {"finetune": {}, "joint": {}, **third}


def training_of(floor: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Of the settings that were given to all learners those that a floor trains with."""
    known = declared(GradientLearner).keys() - {"heads"} if floor in TRAINED else set()
    return {name: value for name, value in given.items() if name in known}


def kept_per_class(run: Run) -> int:
    """How many samples of each class of each task a run keeps, with the settings that keep the most; 0 where it keeps
    none."""
    return max(_kept(run, settings) for settings in run.grid)


def _kept(run: Run, settings: Mapping[str, Any]) -> int:
    shared = settings.get("exemplar_budget", 0) + settings.get("memory_size", 0)
    of_each = settings.get("memory", 0) if "buffer" in settings else 0 if shared else settings.get("exemplars", 0)
    if run.learner == "gem":
        shared += settings["memory"] * len(run.stream)
    if not shared:
        return int(of_each)
    return max(of_each, math.ceil(shared / sum(len(task.classes) for task in run.stream)))
