"""Chaudhry et al. 2018, Riemannian Walk for Incremental Learning: its tables and figures.

No single training regime gives the whole of Table 1, so every row declares its own: rows with samples train on a
class-weighted softmax over all labels seen, five epochs, centred images; rows without samples and multi-head rows on
a softmax over the task's labels, one epoch, with an Adam whose moments are reset but whose step count runs on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from engram.errors import UnknownName
from engram.papers.chaudhry2018_claims import CLAIMS, CNN_CLAIMS, of_variants
from engram.papers.chaudhry2018_words import about, caveats
from engram.papers.figures import plane, series
from engram.papers.paper import Experiment, Paper, Question
from engram.papers.published import printed
from engram.reports.content import Column

LEARNERS = {
    "Vanilla": "finetune",
    "EWC": "ewc++",
    "PI": "pi",
    "RWalk": "rwalk",
    "iCaRL": "icarl",
    "iCaRL-hb1": "icarl-hb1",
}
# What the paper says of RWalk (and of EWC++), and what the authors' released code does instead.
PAPER_SAYS = {"fisher_update": "step", "clip": "task"}
CODE_DOES = {"fisher_update": "interval", "clip": "interval"}
# RWalk as in the released code with one thing or another changed, and as in Table 1.
VARIANTS: dict[str, dict[str, Any]] = {
    "as in Table 1: F at every step, negative sums clipped": PAPER_SAYS,
    "F at every step": {"fisher_update": "step"},
    "F at every step and of the interval's end, negative sums clipped": {**PAPER_SAYS, "score_fisher": "end"},
    "as in the code": {},
    "not normalised": {"normalise": "none"},
    "not normalised, ε = 1e-8": {"normalise": "none", "damping": 1e-8},
    "normalised by tensor": {"normalise": "per-tensor"},
    "negative sums clipped": {"clip": "task"},
    "negative sums clipped, ε = 1e-8": {"clip": "task", "damping": 1e-8},
    "negative sums clipped, by tensor": {"clip": "task", "normalise": "per-tensor"},
    "cold Fisher information": {"warm": False},
    "weighted statistics": {"statistics": "weighted"},
    "step count runs on": {"optimizer_reset": "slots"},
    "batches of 16, one epoch": {"batch": 16, "epochs": 1},
}
STRENGTHS = ("0.1", "10", "1000")
# Settings beside the regime's. EWC has the per-sample, unnormalised Fisher information.
OWN: dict[str, dict[str, Any]] = {"EWC": {"estimator": "empirical", "fisher_update": "step"}, "RWalk": PAPER_SAYS}


@dataclass(frozen=True)
class Setup:
    """A dataset with what the paper uses on it: tasks, network, exemplars a class, and the regime's lengths."""

    published: str  # the columns of the published tables: mnist or cifar
    tasks: int
    network: Mapping[str, Any]
    exemplars: int
    interval: int
    epochs_with: int
    epochs_without: int
    counts: tuple[int, ...]  # Figure 4
    references: bool = True  # whether intransigence is worth its joint models, five times the work of a row


_MLP = {"network": "mlp", "settings": {"widths": "256-256", "init": "truncated"}}
_CNN = {"network": "rwalk-cnn", "settings": {}}
SETUPS = {
    "mnist": Setup("mnist", 5, _MLP, 10, 10, 5, 1, (1, 2, 5, 10, 20, 50)),
    "fashion-mnist": Setup("mnist", 5, _MLP, 10, 10, 5, 1, (1, 2, 5, 10, 20, 50)),
    "cifar100": Setup("cifar", 10, _CNN, 25, 50, 10, 10, (5, 25, 100, 200)),
    "tiny-imagenet100-32": Setup("cifar", 10, _CNN, 25, 50, 5, 5, (5, 25, 75), references=False),
    "digits": Setup("mnist", 5, {"network": "mlp", "settings": {"widths": "64-64"}}, 10, 10, 3, 3, (2, 10)),
}

ACCURACY = Column("average_accuracy", "A %", 1, 100.0)
ALL = (ACCURACY, Column("forgetting_rwalk", "F", 2), Column("intransigence", "I", 2))


def _experiments(tier: str, dataset: str | None) -> Sequence[Experiment]:
    name = _dataset(tier, dataset)
    paper = _Tables(name, _setup(name))
    claims = {"mnist": CLAIMS, "tiny-imagenet100-32": CNN_CLAIMS}.get(name, {}) if tier == "paper" else {}
    table1 = paper.table1()
    return [
        Experiment("table1", f"Table 1 on {name}", ALL, table1, claims.get("table1", ()), about=paper.about()),
        Experiment(
            "table3",
            f"Table 3: the weight of the penalty, on {name}",
            ALL,
            paper.table3(),
            claims.get("table3", ()),
        ),
        *_variants(paper, claims),
        *_table2(paper),
        Experiment(_tasks_figure(name), f"Figures 2 and 6: accuracy on every task, on {name}", (ACCURACY,), table1),
        Experiment("fig3", f"Figure 3: forgetting and intransigence, on {name}", ALL, table1, figure=plane),
        Experiment(
            "fig4",
            f"Figure 4: number of exemplars, on {name}",
            (ACCURACY,),
            paper.fig4(),
            figure=partial(series, across="exemplars of each class"),
        ),
        Experiment(
            "fig5",
            f"Figure 5: how exemplars are chosen, on {name}",
            (ACCURACY,),
            paper.fig5(),
            claims.get("fig5", ()),
            figure=partial(series, across="how exemplars are chosen"),
        ),
    ]


def _dataset(tier: str, dataset: str | None) -> str:
    return dataset or ("mnist" if tier == "paper" else "digits")


def _setup(dataset: str) -> Setup:
    if dataset not in SETUPS:
        raise UnknownName("dataset for 'chaudhry2018' called", dataset, SETUPS)
    return SETUPS[dataset]


def _tasks_figure(dataset: str) -> str:
    """The same figure is number 2 on MNIST and number 6 on CIFAR-100."""
    return "fig6" if SETUPS[dataset].published == "cifar" else "fig2"


def _variants(paper: _Tables, claims: Mapping[str, Any]) -> list[Experiment]:
    """Ours: a search for what the row of RWalk is missing, on the dataset where it is missing most."""
    if paper.setup.published != "mnist":
        return []
    title = f"What the paper leaves open about RWalk, each at three strengths, on {paper.dataset}"
    figure = partial(series, across="strength λ")
    text = (
        "Each is RWalk as in the authors' released code with what its name says changed; the first is the row of Table "
        "1. F at every step: the running Fisher information takes in every batch, as the paper says, and not the mean "
        "of each interval. F of the interval's end: in the score's denominator, where the paper writes Fᵗ for the way "
        "from t to t + Δt and its equation 2 has F where a way starts. Negative sums clipped: a score becomes 0 where "
        "its sum over a task is negative, and not in every interval. All of this was compared on test accuracy: it "
        "shows what can be reached, and selects nothing. The row of Table 1 is the one that the paper's words "
        "describe, whichever of these is the best."
    )
    variants = paper.variants()
    held = of_variants([question.label for question in variants]) if claims else ()
    return [Experiment("variants", title, ALL, variants, held, figure, text, ours=True)]


def _table2(paper: _Tables) -> list[Experiment]:
    """The comparison with GEM, on the dataset that it was made on or one that stands in for it."""
    if paper.dataset in ("mnist", "fashion-mnist"):
        return []
    title = f"Table 2: the comparison with GEM, on {paper.dataset}"
    return [Experiment("table2", title, (ACCURACY,), paper.table2(), about="Multi-head; one pass over each task.")]


class _Tables:
    """The rows of every experiment on one dataset."""

    def __init__(self, dataset: str, setup: Setup):
        self.dataset, self.setup = dataset, setup

    def about(self) -> str:
        stand_in = (
            " (150 training images a class, five epochs), which stands in for CIFAR-100: the published numbers are "
            "those of CIFAR-100, and only what is said in words can be compared. No joint models were trained, so "
            "there is no intransigence. Exemplars and their warped copies are at most 8,000 points: in the end two "
            "copies of each"
        )
        return f"Data: {self.dataset}{stand_in if self.dataset.startswith('tiny') else ''}."

    def table1(self) -> tuple[Question, ...]:
        rows = []
        for row in printed("chaudhry2018", "table1"):
            samples = row["samples"] == "1"
            method = row["method"].removesuffix("-S")
            strength = row[f"{self.setup.published}_lambda"]
            run = self._run(method, row["head"], samples, strength, {})
            rows.append(
                Question(f"{row['head']}: {row['method']}", run, self._published(row), "Chaudhry et al. 2018, Table 1")
            )
        return (*rows, *self._floors())

    def table3(self) -> tuple[Question, ...]:
        column = f"{self.setup.published}_lambda"
        rows = [(row["method"], row[column], row) for row in printed("chaudhry2018", "table3")]
        rows += [("RWalk", "10", {}), ("RWalk", "1000", {})] if self.setup.published == "mnist" else []
        return tuple(
            Question(
                f"{method} λ={float(strength):g}",
                self._run(method, "single", True, strength, {}),
                self._published(row) if row else {},
                "Chaudhry et al. 2018, Table 3" if row else "",
            )
            for method, strength, row in sorted(rows, key=lambda r: (r[0], float(r[1])))
        )

    def variants(self) -> tuple[Question, ...]:
        return tuple(
            Question(f"{name} @ {strength}", self._run("RWalk", "single", True, strength, {**CODE_DOES, **changes}))
            for name, changes in VARIANTS.items()
            for strength in STRENGTHS
        )

    def table2(self) -> tuple[Question, ...]:
        """Twenty tasks of five classes and the reduced ResNet-18; samples as published, a total over all classes."""
        large = self.setup.published == "cifar"
        where: dict[str, Any] = {"stream": "split", "dataset": self.dataset, "head": "multi"}
        where |= {"tasks": 20, "network": "resnet18-reduced"} if large else {"tasks": 5, "network": "mlp"}
        rows = []
        for row in printed("chaudhry2018", "table2"):
            total = int(row["total_samples"]) if large else 100
            own: dict[str, Any] = {
                "iCaRL": {"exemplar_budget": total},
                "GEM": {"memory": total // where["tasks"], "batch": 10},
                "RWalk": {"exemplar_budget": total, "sampling": "mof", "loss_over": "task", **PAPER_SAYS},
            }[row["method"]]
            learner = {"GEM": "gem"}.get(row["method"]) or LEARNERS[row["method"]]
            published = {"average_accuracy": float(row["A_percent"]) / 100}
            run = {**where, "learner": learner, "settings": {"epochs": 1, **own}}
            rows.append(Question(row["method"], run, published, "Chaudhry et al. 2018, Table 2"))
        return tuple(rows)

    def fig4(self) -> tuple[Question, ...]:
        """Uniform sampling, as in the paper."""
        return tuple(
            Question(f"{method} @ {count}", self._with(method, {"exemplars": count, "sampling": "uniform"}))
            for method in ("Vanilla", "EWC", "PI", "RWalk")
            for count in self.setup.counts
        )

    def fig5(self) -> tuple[Question, ...]:
        return tuple(
            Question(f"{method} @ {sampling}", self._with(method, {"sampling": sampling}))
            for method in ("Vanilla", "EWC", "PI", "RWalk")
            for sampling in ("uniform", "plane-distance", "entropy", "mof")
        )

    def _with(self, method: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        """A method with exemplars at its published strength, without the references that only a table needs."""
        with_samples = (row for row in printed("chaudhry2018", "table1") if row["samples"] == "1")
        row = next(row for row in with_samples if row["method"].removesuffix("-S") == method)
        run = self._run(method, "single", True, row[f"{self.setup.published}_lambda"], changes)
        return {**run, "references": False}

    def _floors(self) -> list[Question]:
        """What the stored exemplars alone are worth, with nothing else remembered."""
        where = {"stream": "split", "dataset": self.dataset, "tasks": self.setup.tasks, "head": "single"}
        return [
            Question(
                f"single: exemplars{'' if augment else ', not augmented'}",
                {
                    **where,
                    "learner": "exemplars-only",
                    "settings": {"exemplars": self.setup.exemplars, "augment": augment},
                },
            )
            for augment in (False, True)
        ]

    def _run(self, method: str, head: str, samples: bool, strength: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        regime = self._regime_with() if samples else self._regime_without()
        own = dict(OWN.get(method, {}))
        if strength and method in ("EWC", "PI", "RWalk"):
            own["strength"] = float(strength)
        if method == "EWC" and head == "multi":
            own["normalise"] = "joint"
        if method == "EWC" and samples:
            own["statistics"] = "weighted"
        if method in ("EWC", "RWalk"):
            own["interval"] = self.setup.interval
        if method.startswith("iCaRL"):
            regime = {
                name: value for name, value in regime.items() if name not in ("class_weighted", "loss_over", "sampling")
            }
        return {
            "stream": "split",
            "dataset": self.dataset,
            "tasks": self.setup.tasks,
            "learner": LEARNERS[method],
            "network": self.setup.network["network"],
            "head": head,
            "references": self.setup.references,
            "offline": "no",
            "settings": {**self.setup.network["settings"], **regime, **own, **changes},
        }

    def _regime_with(self) -> dict[str, Any]:
        return {
            "epochs": self.setup.epochs_with,
            "centred": True,
            "loss_over": "seen",
            "exemplars": self.setup.exemplars,
            "sampling": "mof",
            "class_weighted": True,
        }

    def _regime_without(self) -> dict[str, Any]:
        return {"epochs": self.setup.epochs_without, "loss_over": "task", "optimizer_reset": "slots"}

    def _published(self, row: Mapping[str, str]) -> dict[str, float]:
        tasks, data = (5, "mnist") if self.setup.published == "mnist" else (10, "cifar")
        names = {"average_accuracy": f"A{tasks}_percent", "forgetting_rwalk": f"F{tasks}", "intransigence": f"I{tasks}"}
        scale = {"average_accuracy": 0.01}
        found = {metric: row.get(f"{data}_{column}", "") for metric, column in names.items()}
        return {metric: float(text) * scale.get(metric, 1.0) for metric, text in found.items() if text}


def _about(tier: str, dataset: str | None) -> str:
    setup = _setup(_dataset(tier, dataset))
    return about(setup.epochs_without, setup.epochs_with, setup.references)


def _caveats(tier: str, dataset: str | None) -> str:
    name = _dataset(tier, dataset)
    return caveats(tier, _setup(name).published, measured=tier == "paper" and name == "mnist")


PAPER = Paper(
    name="chaudhry2018",
    title="Riemannian Walk for Incremental Learning (Chaudhry et al. 2018)",
    about=_about,
    caveats=_caveats,
    experiments=_experiments,
    seeds="0,1,2,3,4",
)
