"""Pfülb et al. 2018, Catastrophic forgetting: still a problem for DNNs: prescient against realistic evaluation.

Every cell is a model on a dataset of two tasks. The models are combinations of a learner, a network and its settings;
the first task is trained once for every topology and first rate, and all variants of the evaluation choose among the
same retrainings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from engram.papers.cross_table import FIRST, UNION, Cell, Contrast, CrossTable, of_variant, phases, spans
from engram.papers.paper import Experiment, Paper
from engram.papers.pfuelb2018_claims import CLAIMS, PERMUTED, TABLES, gap, remarks
from engram.papers.published import printed
from engram.protocols import protocol
from engram.reports.content import Column

_SGD = {"optimizer": "sgd", "momentum": 0.99, "optimizer_reset": "none"}  # the momentum goes on into the second task
_DROPOUT = {"dropout": 0.5, "input_dropout": 0.2}
_FC = {**_SGD, "init": "truncated-fan-in"}
_CONV = {**_SGD, "init": "truncated"}
_EWC = {
    "init": "truncated",
    "strength": 1.0,
    "per_rate": True,
    "fisher_samples": 0,
}  # λ = 1 / rate; Adam, new each task


@dataclass(frozen=True)
class Model:
    """A learner, a network and their settings. `units` is how many units one of the paper's hidden units has here."""

    learner: str
    network: str
    settings: Mapping[str, Any]
    units: int = 1


MODELS = {
    "fc": Model("finetune", "mlp", _FC),
    "D-fc": Model("finetune", "mlp", {**_FC, **_DROPOUT}),
    "conv": Model("finetune", "pfuelb-conv", _CONV),
    "D-conv": Model("finetune", "pfuelb-conv", {**_CONV, "dropout": 0.5}),
    "LWTA": Model("finetune", "mlp", {**_FC, "activation": "lwta"}, units=2),
    "D-EWC": Model("ewc", "mlp", {**_EWC, **_DROPOUT}),
    "EWC": Model("ewc", "mlp", _EWC),
}
PUBLISHED_NAMES = {"D-EWC": "EWC"}
MARK = "chosen by the test data that it reports"
D5, D9 = tuple(f"d5-5{letter}" for letter in "abcdefgh"), tuple(f"d9-1{letter}" for letter in "abc")
EVERY = protocol("prescient").settings()["every"]  # steps between two measurements


@dataclass(frozen=True)
class Tier:
    """How much of the grid is trained, and for how long."""

    dataset: str
    streams: tuple[str, ...]
    topologies: tuple[tuple[int, ...], ...]
    rates: tuple[float, ...]
    iterations: int
    conv: Mapping[str, Any]  # what is different for the convolutional networks


_ALL = tuple(sizes for layers in (2, 3) for sizes in product((200, 400, 800), repeat=layers))
_CONV_SMALL = {"iterations": 300, "every": 100}
TIERS = {
    "quick": Tier("digits", ("d5-5a", "d9-1a", PERMUTED), ((64, 64),), (0.001,), 250, {"full_width": 64}),
    "small": Tier("mnist", (*D5, *D9, PERMUTED), ((200, 200), (400, 400)), (0.001,), 1500, _CONV_SMALL),
    "paper": Tier("mnist", (*D5, *D9, PERMUTED), _ALL, (0.01, 0.001), 2500, {}),
}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "prescient": ("prescient", {}),
    "realistic": ("realistic", {}),
    "stop at 0.999": ("realistic", {"stop_fraction": 0.999}),
    "strict": ("realistic", {"strict": True}),
    "without 1e-5": ("realistic", {"second_rate": [1e-3, 1e-4]}),
}


def _experiments(name: str, dataset: str | None) -> Sequence[Experiment]:
    tier = TIERS[name]
    where = dataset or tier.dataset
    claims = CLAIMS if name != "quick" and where == "mnist" else {}
    cells = _Cells(tier, where)
    columns = (Column(UNION, "accuracy", 2),)
    tables = [
        CrossTable(
            "table3",
            f"Table 3: prescient evaluation, on {where}",
            columns,
            cells.of(TABLES, ("prescient",)),
            claims.get("table3", ()),
            figure=phases,
            about=f"Accuracy on D1 ∪ D2, {MARK}: a bound, not a result.",
            comparisons=(Contrast("published / ours, chosen by test data", of_variant("prescient")),),
            remarks=remarks(name),
            twice=(PERMUTED,),
        ),
        CrossTable(
            "table4",
            f"Table 4: realistic evaluation, on {where}",
            columns,
            cells.of(TABLES, ("realistic", "strict", "stop at 0.999")),
            claims.get("table4", ()),
            figure=phases,
            about=(
                "Accuracy on D1 ∪ D2 when retraining stops. The first matrix is the paper's algorithm 2; the second "
                "the same with the stop factor of the authors' code, by which Table 4 was made; the third chooses by "
                "held-out training data and, among retraining rates, by D2 alone. The first two choose by test "
                "data, of the first task and then of the second, as the paper does."
            ),
            comparisons=(
                Contrast("published / ours, stop at 0.99 of the best accuracy on D2", of_variant("realistic")),
                Contrast("published / ours, stop at 0.999", of_variant("stop at 0.999")),
                Contrast("ours, strictly realistic", of_variant("strict"), "ours"),
            ),
            remarks=remarks(name),
            twice=(PERMUTED,),
        ),
    ]
    return [*tables, *_others(cells, where, claims)]


def _others(cells: _Cells, where: str, claims: Mapping[str, Any]) -> list[Experiment]:
    columns = (Column(UNION, "accuracy", 2),)
    few = tuple(s for s in ("d5-5a", "d9-1a", PERMUTED) if s in cells.tier.streams)
    return [
        CrossTable(
            "gap",
            f"What knowing the future is worth: prescient minus realistic, on {where}",
            columns,
            cells.of(TABLES, ("prescient", "realistic", "without 1e-5", "strict")),
            claims.get("gap", ()),
            figure=spans,
            about=(
                f"Prescient values are {MARK}. The last step of realistic evaluation chooses among rates of retraining "
                "by the accuracy on both tasks; the second matrix leaves the slowest of the three rates out, the third "
                "is not allowed that look."
            ),
            comparisons=(
                Contrast("prescient − realistic, published / ours", gap("realistic"), signed=True),
                Contrast("prescient − realistic without the rate 1e-5, ours", gap("without 1e-5"), "ours", signed=True),
                Contrast("prescient − strictly realistic, ours", gap("strict"), "ours", signed=True),
            ),
        ),
        CrossTable(
            "figs",
            f"Figures 2 to 5: the run that realistic evaluation keeps, on {where}",
            columns,
            cells.of(TABLES, ("realistic",)),
            figure=phases,
            about="Training on D1 (white), retraining on D2 (grey): accuracy on D1, on D2 and on both; where it stops.",
            comparisons=(Contrast("published / ours", of_variant("realistic")),),
        ),
        CrossTable(
            "ewc",
            f"EWC with and without dropout, on {where}",
            columns,
            cells.of(("D-EWC", "EWC"), ("prescient", "realistic", "strict"), few),
            figure=phases,
            about="The paper calls D-EWC simply EWC; the other is ours. Prescient and realistic choose by test data.",
            comparisons=tuple(
                Contrast(f"ours, {variant}", of_variant(variant), "ours")
                for variant in ("prescient", "realistic", "strict")
            ),
            twice=(PERMUTED,),
        ),
    ]


class _Cells:
    """The rows of every experiment in one tier, on one dataset."""

    def __init__(self, tier: Tier, dataset: str):
        self.tier, self.dataset = tier, dataset

    def of(
        self, models: Sequence[str], variants: Sequence[str], streams: Sequence[str] | None = None
    ) -> tuple[Cell, ...]:
        wanted = self.tier.streams if streams is None else streams
        return tuple(self._cell(m, s, v) for s in wanted for m in models for v in variants)

    def _cell(self, model: str, stream: str, variant: str) -> Cell:
        protocol, options = VARIANTS[variant]
        run = {
            "stream": stream,
            "dataset": self.dataset,
            "learner": MODELS[model].learner,
            "network": MODELS[model].network,
            "head": "single",
            "protocol": protocol,
            "settings": {**self._settings(MODELS[model]), **options},
        }
        published, source = _published(model, stream, variant)
        label = f"{model} {stream} {variant}"
        return Cell(label, run, published, source, model=model, dataset=stream, variant=variant)

    def _settings(self, model: Model) -> dict[str, Any]:
        """One softmax over all ten classes from the start, batches of 100."""
        common = {"batch": 100, "heads": "masked", "loss_over": "all", "iterations": self.tier.iterations}
        common |= {"rate": list(self.tier.rates), **model.settings}
        if model.network != "mlp":
            return {**common, **self.tier.conv}
        widths = ["-".join(str(model.units * size) for size in sizes) for sizes in self.tier.topologies]
        return {**common, "widths": widths}


def _published(model: str, stream: str, variant: str) -> tuple[dict[str, float], str]:
    """The column of DP10-10 was measured on D1 alone, so it stands beside ours on D1."""
    table = {"prescient": "table3", "realistic": "table4", "stop at 0.999": "table4"}.get(variant)
    if table is None or model == "EWC":
        return {}, ""
    row = next(r for r in printed("pfuelb2018", table) if r["model"] == PUBLISHED_NAMES.get(model, model))
    value = row[stream.upper()[:-1] + stream[-1]]
    metric = FIRST if stream == PERMUTED else UNION
    return {metric: float(value)}, f"Pfülb et al. 2018, Table {table[-1]}"


def _about(name: str, dataset: str | None) -> str:
    tier = TIERS[name]
    every = tier.conv.get("every", EVERY)
    conv = f" (of the convolutional networks every {every})" if every != EVERY else ""
    return (
        f"{len(TABLES)} models on {len(tier.streams)} datasets of two tasks. A model is first trained on D1, for every "
        f"topology and rate, then retrained on D2 with three rates; accuracy is measured every {EVERY} steps{conv} on "
        "all test samples. Prescient evaluation reports the best accuracy on D1 ∪ D2 over all of it. Realistic "
        "evaluation chooses topology and first rate by D1, stops retraining when D2 is learned, and reports the "
        "accuracy on D1 ∪ D2 at that moment. Both choose among the same networks, trained once. The difference is "
        "what knowing the future is worth."
    )


SIZES = {
    "quick": "The tier `quick` trains one small topology for 250 steps a task, and claims nothing.",
    "small": (
        "The tier `small` trains two topologies (200-200 and 400-400; the paper's tables choose among 36), the first "
        "rate 0.001 (the only one of the authors' stored runs) and 1,500 steps a task; the two convolutional networks "
        "get 300 steps and are measured every 100; the tier `paper` is the published grid."
    ),
    "paper": "The tier `paper` is the published grid: 36 topologies, two first rates, 2,500 steps a task.",
}


def _caveats(name: str, dataset: str | None) -> str:
    held_out = (
        " 5,000 of 60,000 training images are held out, as in the paper's data; only the strict variant looks at them."
        if (dataset or TIERS[name].dataset) == "mnist"
        else " A twelfth of the training data is held out; only the strict variant looks at it."
    )
    return (
        f"{SIZES[name]} What the paper calls EWC always has dropout and is called D-EWC here: λ is 1 / rate of "
        "retraining, the optimiser is Adam, made new for the second task, the Fisher information comes from all "
        "training samples of D1 with their true labels. The published column of DP10-10 was measured on D1 alone; here "
        "the union is both permuted test sets, and D1 alone has a row of its own, at the moment that was chosen by the "
        f"union.{held_out} LWTA's sizes count blocks of two units. While D1 is trained, accuracy on it is read among "
        "the classes of D1; from then on among all classes."
    )


PAPER = Paper(
    name="pfuelb2018",
    title="Catastrophic forgetting: still a problem for DNNs (Pfülb et al. 2018)",
    about=_about,
    caveats=_caveats,
    experiments=_experiments,
    seeds="0",
    quick_seeds="0",
    tiers=tuple(TIERS),
)
