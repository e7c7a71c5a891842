"""Kemker et al. 2018, Measuring Catastrophic Forgetting in Neural Networks: six models, three experiments, Ω.

A cell is a model on some data in one experiment: ten permutations of the features, half of the classes and then one at
a time, or two modalities one after the other. Most tables and figures are views of the same cells, trained once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from engram.papers.cross_table import Cell
from engram.papers.kemker2018_claims import claims_of, remarks
from engram.papers.kemker2018_figures import ALL, curves
from engram.papers.kemker2018_models import (
    INCREMENTAL,
    KINDS,
    MODELS,
    MULTIMODAL,
    PERMUTATION,
    SHAPES,
)
from engram.papers.kemker2018_more import (
    RULES,
    capacity_table,
    count_table,
    increment_table,
    matrices,
    shift_table,
    tick_table,
)
from engram.papers.kemker2018_tables import (
    NEW,
    accuracy_table,
    average_table,
    long_form,
    omega_tables,
    published,
    size_tables,
    time_tables,
)
from engram.papers.kemker2018_words import BUDGET, CUT, TIMES, about, caveats
from engram.papers.paper import Experiment, Paper, Question
from engram.papers.published import printed
from engram.papers.shown_table import ShownTable
from engram.reports.content import Column

Capacities = Mapping[str, tuple[str, tuple[Any, ...]]]
BLOBS = "blobs"  # the second modality of the tier quick, and nothing else


# Capacities that are tried for Table S10, three for each model. The first is that of Table 2.
CAPACITIES: Capacities = {
    "MLP": ("widths", ("400-400", "1000-1000", "2000-2000")),
    "EWC": ("widths", ("400-400", "1000-1000", "2000-2000")),
    "PathNet": ("units", (80, 120, 160)),
    "GeppNet": ("map_side", (23, 32, 40)),
    "GeppNet+STM": ("map_side", (23, 32, 40)),
    "FEL": ("units", (2000, 8000, 20_000)),
}


@dataclass(frozen=True)
class Scale:
    """Which data stand for the paper's, and how much of every model is trained (`less`)."""

    data: Mapping[str, str]
    modalities: tuple[str, ...]  # labels of two of the data
    permutations: int = 10
    less: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    streams: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # options of the streams, by data
    fair: tuple[str, ...] = ()  # data whose incremental experiment has offline models of everything seen
    digits: Sequence[int] = range(10)  # of Table S6
    capacities: Capacities = field(default_factory=lambda: CAPACITIES)


# Table S7, calibrated: the paper does not say how much is trained on.
ONE_PASS = {"epochs": 1, "stop": "no", "rate": 2.5e-3, "samples": 10_000, "blocks": 2}
_QUICK = {"epochs": 10, "patience": 20, "patience_epochs": 2, "batch": 32}
_QUICK_MAP = {"map_side": 10, "base_iterations": 4000, "later_iterations": 1000}
_SMALL = {"epochs": 10, "patience_epochs": 2}
_SMALL_MAP = {"base_iterations": 20_000, "later_iterations": 2000}
_STANDARD = {"CUB": {"standardised": True}, "AS": {"standardised": True}}
TIERS = {
    "quick": Scale(
        {"digits": "digits", BLOBS: "blobs"},
        ("digits", BLOBS),
        permutations=3,
        less={
            "MLP": {**_QUICK, "widths": "100-100"},
            "EWC": {**_QUICK, "widths": "100-100", "rate": 1e-3},
            "EWC-all": {**_QUICK, "widths": "100-100", "rate": 1e-3},
            "PathNet": {"units": 20, "population": 8, "generations": 20, "batches": 20, "patience": 10},
            "GeppNet": _QUICK_MAP,
            "GeppNet+STM": {**_QUICK_MAP, "sleep_every": 500},
            "FEL": {**_QUICK, "widths": "100", "units": 400},
            "FEL-SGD": {**_QUICK, "widths": "100", "units": 400},
        },
        capacities={"MLP": ("widths", ("50-50", "100-100")), "FEL": ("units", (200, 400))},
        fair=("digits",),
        digits=(3,),
    ),
    "small": Scale(
        {"MNIST": "mnist", "CUB": "cub200-lite0", "AS": "audioset100"},
        ("CUB", "AS"),
        permutations=4,
        less={
            "MLP": _SMALL,
            "EWC": _SMALL,
            "EWC-all": _SMALL,
            "PathNet": {"population": 16, "generations": 50},
            "GeppNet": _SMALL_MAP,
            "GeppNet+STM": _SMALL_MAP,
            "FEL": _SMALL,
            "FEL-SGD": _SMALL,
        },
        streams=_STANDARD,
        digits=(0, 3, 9),
    ),
    "paper": Scale(
        {"MNIST": "mnist", "CUB": "cub200-lite0", "AS": "audioset100"},
        ("CUB", "AS"),
        streams=_STANDARD,
        fair=("CUB", "AS"),
    ),
}


class _Cells:
    """The rows of every experiment of a tier, on its data or on those that were given."""

    def __init__(self, name: str, dataset: str | None):
        self.tier = TIERS[name]
        self.data = dict(self.tier.data) if dataset is None else _given(dataset)
        self.both = self.tier.modalities if dataset is None else tuple(self.data)[:2] if len(self.data) > 1 else ()

    def of(self, *kinds: str) -> tuple[Cell, ...]:
        single = [label for label in self.data if label != BLOBS]
        alone: list[tuple[str, ...]] = [(label,) for label in single]
        places = {PERMUTATION: alone, INCREMENTAL: alone}
        places[MULTIMODAL] = [self.both, self.both[::-1]] if self.both else []
        return tuple(
            self.cell(name, kind, labels)
            for kind in kinds
            for labels in places[kind]
            for name, model in MODELS.items()
            if kind in model.kinds
        )

    def cell(self, model: str, kind: str, labels: Sequence[str], table: str = "table2") -> Cell:
        data = labels[0]
        run = {**self.stream(kind, labels), **self.learner(model, kind, data)}
        run["settings"] = {**run.pop("options"), **run["settings"]}
        beside = published(model, data, kind, table)
        source = f"Kemker et al. 2018, Table {table.removeprefix('table').upper()}" if beside else ""
        return Cell(f"{model} {data} {kind}", run, beside, source, model=model, dataset=data, variant=kind)

    def stream(self, kind: str, labels: Sequence[str]) -> dict[str, Any]:
        where = {"dataset": "+".join(self.data[label] for label in labels), "offline": "base"}
        options = dict(self.tier.streams.get(labels[0], {}))
        if kind == PERMUTATION:
            return {
                **where,
                "stream": "permuted",
                "tasks": self.tier.permutations,
                "options": {**options, "first_permuted": False},
            }
        if kind == INCREMENTAL:
            ideal = {"offline": "seen"} if labels[0] in self.tier.fair else {}
            return {**where, "stream": "incremental", "options": options, **ideal}
        return {**where, "stream": "concat", "options": options}

    def learner(self, model: str, kind: str, data: str) -> dict[str, Any]:
        found = MODELS[model]
        settings = {**found.on(kind, data), **self.tier.less.get(model, {})}
        return {"learner": found.learner, "network": found.network, "settings": settings}

    def increments(self) -> tuple[Question, ...]:
        """Table S6: nine digits, then the one that is left."""
        return tuple(
            Question(f"Inc-{digit} {model}", self._increment(model, digit), {}, "Kemker et al. 2018, Table S6")
            for digit in self.tier.digits
            for model in ("GeppNet", "GeppNet+STM")
            if model in MODELS
        )

    def _increment(self, model: str, digit: int) -> dict[str, Any]:
        run = self.learner(model, INCREMENTAL, "MNIST")
        first = next(iter(self.data.values()))
        return {**run, "stream": "pair", "dataset": first, "settings": {**run["settings"], "second": str(digit)}}

    def shares(self) -> tuple[Question, ...]:
        """Table S7: all classes at once, then two halves of them."""
        run: dict[str, Any] = {"stream": "drifting", "dataset": next(iter(self.data.values()))}
        run |= self.learner("FEL", INCREMENTAL, "MNIST")
        settings = {**run["settings"], **ONE_PASS}
        shares = [row["non_stationary_percentage"] for row in printed("kemker2018", "s7")]
        runs = {share: {**run, "settings": {**settings, "share": share}} for share in shares}
        return tuple(Question(f"FEL @ {s}", runs[s], {}, "Kemker et al. 2018, Table S7") for s in shares)

    def capacities(self) -> tuple[Cell, ...]:
        """Table S10: CUB and AudioSet, or what stands for them."""
        labels = [label for label in self.data if label not in ("MNIST", BLOBS)]
        return tuple(
            self._sized(self.cell(model, kind, (label,), "s10"), setting, value)
            for kind in (PERMUTATION, INCREMENTAL)
            for label in labels
            for model, (setting, values) in self.tier.capacities.items()
            if model in MODELS and kind in MODELS[model].kinds
            for value in values
        )

    def _sized(self, cell: Cell, setting: str, value: Any) -> Cell:
        run = {**cell.run, "settings": {**cell.run["settings"], setting: value}}
        own = {"model": cell.model, "dataset": cell.dataset, "variant": cell.variant}
        return Cell(f"{cell.label} @ {setting}={value}", run, cell.published, cell.source, **own)


def _given(dataset: str) -> dict[str, str]:
    """Datasets of the user's own, or others of the catalogue, joined by +. Whose published numbers stand beside them is
    told by the number of classes."""
    from engram import datasets

    by_classes = {shape.classes: label for label, shape in SHAPES.items()}
    found = {}
    for name in dataset.split("+"):
        label = by_classes.get(len(datasets.load(name).classes), name)
        found[name if label in found else label] = name
    return found


METRICS = ("omega_base", *dict.fromkeys(NEW.values()), "omega_all")
view = partial(ShownTable, columns=tuple(Column(metric, metric) for metric in METRICS))


def _experiments(name: str, dataset: str | None) -> Sequence[Experiment]:
    cells, claims = _Cells(name, dataset), claims_of(name, dataset)
    found = [*_omegas(cells, name), *_others(cells, name)]
    return [replace(experiment, claims=claims[experiment.name]) for experiment in found]


def _omegas(cells: _Cells, tier: str) -> list[Experiment]:
    """What is made of the cells of Table 2."""
    every, timed = cells.of(*KINDS), cells.of(PERMUTATION, INCREMENTAL)
    permuted, incremental, both = (cells.of(kind) for kind in KINDS)
    told: dict[str, Any] = {"whole": long_form, "remarks": remarks(tier)}
    drawn: dict[str, Any] = {"figure": curves, "shown": omega_tables}
    overall: dict[str, Any] = {**drawn, "figure": partial(curves, wanted=(ALL,))}
    return [
        view("table2", "Table 2: Ω and model size", questions=every, shown=size_tables, **told),
        view("table3", "Table 3: Ω all, averaged over the data", questions=every, shown=average_table),
        view("table4", "Table 4: training time", questions=timed, shown=time_tables, about=TIMES),
        view("table5", "Table 5: what is good for what", questions=every, shown=tick_table, about=RULES),
        view("fig2", "Figure 2: accuracy on all classes seen", questions=incremental, **overall),
        view("s2", "Figure S2: permutations, session by session", questions=permuted, **drawn),
        view("s3", "Figure S3: one class after the other", questions=incremental, **drawn),
        view("s8", "Table S8: accuracy on both modalities", questions=both, shown=accuracy_table),
    ]


def _others(cells: _Cells, tier: str) -> list[Experiment]:
    """What has cells of its own, or no runs."""
    data = {label: where for label, where in cells.data.items() if label != BLOBS}
    counted = count_table(data)
    free: dict[str, Any] = {"shown": capacity_table, "about": BUDGET, "ours": tier != "quick"}
    squares: dict[str, Any] = {"shown": counted, "figure": lambda answers: matrices(data)}
    return [
        view("s6", "Table S6: the tenth digit", questions=cells.increments(), shown=increment_table),
        view("s7", "Table S7: FEL on data that drift", questions=cells.shares(), shown=shift_table),
        view("s9", "Table S9: features that are not redundant", questions=(), shown=counted, about=CUT),
        view("s4", "Figure S4: symmetric uncertainty of all pairs of features", questions=(), **squares),
        view("s10", "Table S10: free capacity", questions=cells.capacities(), **free),
    ]


PAPER = Paper(
    name="kemker2018",
    title="Measuring Catastrophic Forgetting in Neural Networks (Kemker et al. 2018)",
    about=about,
    caveats=caveats,
    experiments=_experiments,
    seeds="0",
    quick_seeds="0",
    tiers=tuple(TIERS),
)
