"""Beyond what is published: how far learners in closed form get on streams that others need exemplars or tasks for.

Nothing here is trained by gradients: features are fixed before the first task (`parts/maps.py`), and what is learned
are sums over samples, from which linear equations are solved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engram.papers.beyond_words import ABOUT, about, caveats
from engram.papers.paper import KILOBYTES, Claim, Experiment, Paper, Question, at_least, at_most
from engram.reports.content import Column
from engram.streams.two_tasks import SPLITS

ACCURACY = Column("average_accuracy", "accuracy", 4)
FORGETTING = Column("forgetting_ctrl", "forgetting (ctrl)", 4)
MEMORY, MINUTES = Column(KILOBYTES, "kB kept", 1), Column("minutes", "minutes a run", 1)
PERMUTED = "dp10-10"

SIZES: Mapping[str, Mapping[str, Any]] = {
    "paper": {"dataset": "mnist", "filters": 32, "waves": 6000, "components": 100, "each": 3000, "pairs": 1000},
    "quick": {"dataset": "digits", "filters": 8, "waves": 200, "components": 30, "each": 150, "pairs": 100},
}
TASKS = {"paper": 10, "quick": 3}
PAIRS = {"paper": (*SPLITS, PERMUTED), "quick": ("d5-5a", PERMUTED)}


def _experiments(tier: str, dataset: str | None) -> Sequence[Experiment]:
    size = {**SIZES[tier], "tasks": TASKS[tier], **({"dataset": dataset} if dataset else {})}
    claimed = tier == "paper" and size["dataset"] == "mnist"
    return [
        _split(size, claimed),
        _exemplars(size, claimed),
        _permuted(size, claimed),
        _pairs(size, PAIRS[tier], claimed),
    ]


def _run(stream: str, dataset: str, learner: str, settings: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"stream": stream, "dataset": dataset, "learner": learner, "settings": dict(settings), **more}


def _split(size: Mapping[str, Any], claimed: bool) -> Experiment:
    """Classes two by two; one pass, no exemplars, no pretraining."""
    settings = {"filters": size["filters"], "features": size["waves"], "strength": 0}
    asked = [("patches", size["dataset"]), ("filters", size["dataset"])]
    rows = tuple(
        Question(f"ridge on {kind}, {dataset}", _run("split", dataset, "ridge", {**settings, "map": kind}))
        for kind, dataset in [*asked, *([("patches", "fashion-mnist")] if claimed else [])]
    )
    mnist, fashion = (f"ridge on patches, {dataset}" for dataset in ("mnist", "fashion-mnist"))
    claims = (
        at_least(mnist, 0.987),
        at_least(mnist, 0.990),
        at_least(fashion, 0.885),
        at_least(fashion, 0.900),
        *(at_most(label, 4, "minutes") for label in (mnist, fashion)),
    )
    title = "Single head, one pass, no exemplars, no pretraining"
    return Experiment(
        "split", title, (ACCURACY, MEMORY, MINUTES), rows, claims if claimed else (), about=ABOUT["split"]
    )


def _exemplars(size: Mapping[str, Any], claimed: bool) -> Experiment:
    dataset = size["dataset"]
    settings = {"map": "patches", "filters": 2 * size["filters"], "strength": 1e-3}
    rows = (
        Question("patches", _run("split", dataset, "exemplars-only", settings)),
        Question("plain", _run("split", dataset, "exemplars-only", {})),
    )
    claims = (at_least("patches", 0.95), at_most("patches", 100, KILOBYTES))
    title = f"Ten exemplars a class and nothing else, on {dataset}"
    return Experiment(
        "exemplars", title, (ACCURACY, MEMORY, MINUTES), rows, claims if claimed else (), about=ABOUT["exemplars"]
    )


def _permuted(size: Mapping[str, Any], claimed: bool) -> Experiment:
    settings = {**_components(size), "strength": 0}
    run = _run("permuted", size["dataset"], "ridge-each", settings, tasks=size["tasks"])
    label = "ridge-each on components"
    claims = (at_least(label, 0.97), at_least(label, -0.0005, FORGETTING.metric))
    title = f"Permuted {size['dataset']}, {size['tasks']} tasks, no task given"
    columns = (ACCURACY, FORGETTING, MEMORY, MINUTES)
    rows = (Question(label, run),)
    return Experiment("permuted", title, columns, rows, claims if claimed else (), about=ABOUT["permuted"])


def _components(size: Mapping[str, Any]) -> dict[str, Any]:
    return {"map": "components", "filters": size["components"], "features": size["each"]}


def _pairs(size: Mapping[str, Any], streams: Sequence[str], claimed: bool) -> Experiment:
    """Two tasks as somebody would meet them who sees the second after the first."""
    filters = {"map": "filters", "filters": size["filters"], "features": size["pairs"]}
    strictly = {"strict": True, "every": 1000}
    rows = []
    for stream in streams:
        learner, settings = ("ridge-each", _components(size)) if stream == PERMUTED else ("ridge", filters)
        asked = _run(stream, size["dataset"], learner, {**settings, **strictly}, protocol="realistic")
        more = {} if stream == PERMUTED else {"references": True, "offline": "no"}
        rows.append(Question(f"{learner} {stream}", {**asked, **more}))
    labels = [row.label for row in rows]
    columns = (
        Column("union_accuracy", "accuracy on D1 ∪ D2", 4),
        Column("intransigence", "both at once, minus this, on D2", 4),
        Column("first_task_accuracy", "accuracy on D1", 4),
        FORGETTING,
    )
    claims = (
        *(_all(labels, "union_accuracy", least) for least in (0.96, 0.97)),
        _none_lost([label for label in labels if PERMUTED not in label], "intransigence"),
        at_least(f"ridge-each {PERMUTED}", 0.0, FORGETTING.metric),
        _all(labels, FORGETTING.metric, 0.0),
    )
    title = f"Two tasks, strictly realistic, on {size['dataset']}"
    return Experiment("pairs", title, columns, tuple(rows), claims if claimed else (), about=ABOUT["pairs"])


def _all(labels: Sequence[str], metric: str, least: float) -> Claim:
    text = f"all {len(labels)}: {metric.replace('_', ' ')} ≥ {least:g}"
    return Claim(text, lambda rows: all(rows[label].mean(metric) >= least for label in labels))


def _none_lost(labels: Sequence[str], metric: str) -> Claim:
    text = f"all {len(labels)} streams of new classes: learning both tasks at once is no better ({metric} is 0)"
    return Claim(text, lambda rows: all(rows[label].mean(metric) == 0 for label in labels))


PAPER = Paper(
    name="beyond",
    title="Beyond what is published: closed forms on fixed features",
    about=about,
    caveats=caveats,
    experiments=_experiments,
    seeds="0",
    quick_seeds="0",
)
