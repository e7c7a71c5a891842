"""The tables of Kemker et al. 2018 that are no table of Ω: ticks, verification on MNIST, redundancy, free capacity."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

from engram import datasets
from engram.metrics import spread
from engram.papers.cross_table import Cells, by_cell
from engram.papers.kemker2018_models import INCREMENTAL, KINDS, MULTIMODAL, PERMUTATION, SHAPES
from engram.papers.kemker2018_tables import (
    NEW,
    TITLES,
    as_cell,
    average,
    features,
    measured,
    megabytes,
    models,
    ratio,
    seconds,
)
from engram.papers.paper import Answer
from engram.papers.published import printed
from engram.record import Record
from engram.redundancy import Redundancy, of_dataset
from engram.reports.content import Column, Number, Squares, Table, TableRow
from engram.reports.summary import done

PERCENT = 100.0

# Table 5 is not explained in the paper. These rules give all its ticks from its own Tables 2 to 4.
GOOD, SIZE, TIME = 0.7, 2.0, 5.0
TICKS = {
    "incremental_class": INCREMENTAL,
    "similar_data_permutation": PERMUTATION,
    "dissimilar_data_multimodal": MULTIMODAL,
}
GROWS = ("PathNet",)
RULES = (
    f"A tick for an experiment: Ω all, averaged over the data (Table 3), is at least {GOOD}. Memory efficient: of "
    f"fixed size, and on no data more than {SIZE:g} times the MLP's. Trains quickly: at most {TIME:g} times the MLP's "
    "time in both experiments of Table 4. By these rules the published tables give the published ticks."
)


def tick_table(answers: Sequence[Answer]) -> list[Table]:
    """Table 5, from our numbers: 1 is a tick."""
    cells = by_cell(answers)
    published = {data for _, data, _ in cells} <= set(SHAPES)
    marks = {row["model"]: row for row in printed("kemker2018", "table5")} if published else {}
    names = (*TICKS, "memory_efficient", "trains_quickly")
    columns = tuple(Column(name, name.replace("_", " "), 0) for name in names)
    rows = []
    for model in models(cells):
        ours = [*(_good(cells, model, kind) for kind in TICKS.values()), _small(cells, model), _quick(cells, model)]
        beside = [float(marks[model][name]) if model in marks else None for name in names]
        numbers = (Number(float(mark), published=b) for mark, b in zip(ours, beside, strict=True))
        rows.append(TableRow((model,), tuple(numbers)))
    return [Table(("model",), columns, tuple(rows), "1 is a tick: published / ours", "pairs")]


def _good(cells: Cells, model: str, kind: str) -> bool:
    found = average(cells, model, kind)
    return found is not None and found.mean >= GOOD


def _small(cells: Cells, model: str) -> bool:
    """By what our runs keep."""
    sizes = {data: measured(a, megabytes).mean for (m, data, k), a in cells.items() if (m, k) == (model, PERMUTATION)}
    beside = [cells.get(("MLP", data, PERMUTATION)) for data in sizes]
    of_mlp = [measured(answer, megabytes).mean for answer in beside if answer is not None]
    return model not in GROWS and len(of_mlp) == len(beside) and is_small(list(sizes.values()), of_mlp)


def is_small(sizes: Sequence[float], of_mlp: Sequence[float]) -> bool:
    """Half a per cent more is rounding."""
    return all(size <= 1.005 * SIZE * base for size, base in zip(sizes, of_mlp, strict=True))


def _quick(cells: Cells, model: str) -> bool:
    found = [ratio(cells, model, kind, seconds, None) for kind in (PERMUTATION, INCREMENTAL)]
    return all(number.mean <= TIME for number in found if number is not None)


def increment_table(answers: Sequence[Answer]) -> list[Table]:
    """Table S6: accuracy on nine classes before the tenth is learned, on the tenth after, and on all."""
    beside = {(row["test"], row["model"]): row for row in printed("kemker2018", "s6")}
    reads: dict[str, Callable[[Record], float]] = {
        "base_acc": lambda record: record.accuracy[0][0],
        "new_class_acc": lambda record: record.accuracy[1][1],
        "overall_acc": overall,
    }
    titles = ("base %", "new class %", "overall %")
    columns = tuple(Column(name, title, 1, PERCENT) for name, title in zip(reads, titles, strict=True))
    rows = []
    for answer in answers:
        test, model = answer.question.label.split(" ", 1)
        row = beside.get((test, model), {}) if answer.question.run["dataset"] == "mnist" else {}
        numbers = (measured(answer, r, float(row[n]) / PERCENT if row else None) for n, r in reads.items())
        rows.append(TableRow((test, model), tuple(numbers)))
    return [Table(("test", "model"), columns, tuple(rows), "", "pairs")]


def shift_table(answers: Sequence[Answer]) -> list[Table]:
    """Table S7: accuracy of FEL on all test samples at the end, by the share of training that is not shuffled."""
    beside = {row["non_stationary_percentage"]: row["fel_accuracy_percent"] for row in printed("kemker2018", "s7")}
    rows = []
    for answer in answers:
        share = answer.question.label.split(" @ ")[1]
        value = float(beside[share]) / PERCENT if answer.question.run["dataset"] == "mnist" else None
        rows.append(TableRow((share,), (measured(answer, overall, value),)))
    return [Table(("share that drifts",), (Column("accuracy", "FEL %", 1, PERCENT),), tuple(rows))]


def overall(record: Record) -> float:
    """Accuracy on the test samples of all tasks at the end."""
    return math.nan if record.union is None else record.union


@lru_cache(maxsize=4)
def redundancy(dataset: str) -> Redundancy:
    """Kept while a page is made, of which several parts show it."""
    return of_dataset(datasets.load(dataset))


def count_table(data: dict[str, str]) -> Callable[[Sequence[Answer]], list[Table]]:
    """Table S9: features that are not redundant, by FCBF."""
    beside = {"MNIST": "MNIST", "CUB": "CUB-200", "AS": "AudioSet"}
    printed_ = {row["dataset"]: row for row in printed("kemker2018", "s9")}

    def shown(answers: Sequence[Answer]) -> list[Table]:
        rows = []
        for label, dataset in data.items():
            found, row = redundancy(dataset), printed_.get(beside.get(label, ""), {})
            count = Number(len(found.kept), published=_number(row.get("non_redundant_features")))
            share = Number(100 * len(found.kept) / found.features, published=_number(row.get("percentage_of_total")))
            rows.append(TableRow((dataset, str(found.features)), (count, share)))
        columns = (Column("non_redundant", "not redundant", 0), Column("percentage", "% of all", 1))
        return [Table(("data", "features"), columns, tuple(rows))]

    return shown


def _number(text: str | None) -> float | None:
    return float(text) if text else None


def matrices(data: dict[str, str]) -> Squares:
    """Figure S4."""
    return Squares({dataset: redundancy(dataset).matrix for dataset in data.values()}, "symmetric uncertainty")


def capacity_table(answers: Sequence[Answer]) -> list[Table]:
    """Table S10: of the capacities that were tried for a cell the best on validation data, after the last session."""
    tried: dict[tuple[str, str, str], list[Answer]] = {}
    for answer in answers:
        cell = as_cell(answer)
        tried.setdefault((cell.model, cell.dataset, cell.variant), []).append(answer)
    chosen = {key: max(several, key=_on_validation) for key, several in tried.items()}
    return [_chosen(chosen, kind) for kind in KINDS if any(k == kind for _, _, k in chosen)]


def _chosen(cells: Cells, kind: str) -> Table:
    columns = (Column("omega_base", "Ω base"), Column(NEW[kind], "Ω new"), Column("omega_all", "Ω all"))
    rows = [
        TableRow(
            (model, features(as_cell(a)), a.question.label.split(" @ ")[1]),
            (*(a.number(column.metric) for column in columns), measured(a, megabytes, _free_size(model, data))),
        )
        for (model, data, k), a in cells.items()
        if k == kind
    ]
    names = ("model", "data", "capacity")
    return Table(
        names, (*columns, Column("megabytes", "MB", 2)), tuple(rows), f"{TITLES[kind]}: published / ours", "pairs"
    )


def _free_size(model: str, data: str) -> float | None:
    rows = printed("kemker2018", "s10")
    return next((float(r["model_size_mb"]) for r in rows if (r["model"], r["dataset"]) == (model, data)), None)


def _on_validation(answer: Answer) -> float:
    """The criterion of the protocol stream-level."""
    values = [record.rows[-1].validation.get(record.head, ()) for record in done(answer.records)]
    return spread([sum(line) / len(line) for line in values if line])["mean"] if any(values) else -1.0
