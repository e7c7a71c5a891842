"""How the runs of Kemker et al. 2018 become tables: all are views of the same cells, model × data × experiment."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import PurePath

from engram.metrics import spread
from engram.papers.cross_table import Cell, Cells, by_cell
from engram.papers.kemker2018_models import (
    INCREMENTAL,
    KINDS,
    MULTIMODAL,
    PERMUTATION,
    READOUTS,
    SHAPES,
    numbers,
)
from engram.papers.paper import Answer
from engram.papers.published import printed
from engram.record import Record
from engram.reports.content import Column, Number, Table, TableRow
from engram.reports.summary import done

TITLES = {
    PERMUTATION: "Data permutation",
    INCREMENTAL: "Incremental class learning",
    MULTIMODAL: "Multi-modal, the first of the two named",
}
# The paper's Ω_new of permuted data can only be shares of the offline model's accuracy: 0.917 on CUB, which it knows
# to 62.1 %. All others are accuracies.
NEW = {PERMUTATION: "omega_new_share", INCREMENTAL: "omega_new", MULTIMODAL: "omega_new"}
FAIR, LOWEST = "omega_all_fair", "omega_all_fair_lowest"
SHORT = {PERMUTATION: "perm", INCREMENTAL: "inc", MULTIMODAL: "mm"}
MEGA = 1e6
PRINTED_AS = {PERMUTATION: "data_permutation", INCREMENTAL: "incremental_class", MULTIMODAL: "multi_modal"}


def published(model: str, data: str, kind: str, table: str = "table2") -> dict[str, float]:
    """What the paper prints for a cell, by metric."""
    row = next((r for r in printed("kemker2018", table) if (r["model"], r["dataset"]) == (model, data)), {})
    names = {"omega_base": "base", NEW[kind]: "new", "omega_all": "all"}
    found = {metric: row.get(f"{SHORT[kind]}_omega_{name}", "") for metric, name in names.items()}
    return {metric: float(text) for metric, text in found.items() if text}


def features(cell: Cell) -> str:
    """The data as they are: the features that were used, and whose published numbers stand beside them."""
    names = [PurePath(name).name for name in str(cell.run["dataset"]).split("+")]
    stands_for = f" (as {cell.dataset})" if cell.dataset in SHAPES and cell.dataset.lower() != names[0] else ""
    return ", then ".join(names) + stands_for


def measured(answer: Answer, read: Callable[[Record], float], published: float | None = None) -> Number:
    """A number of each finished run, mean and deviation."""
    found = spread(answer.values(read))
    return Number(found["mean"], found["std"], len(done(answer.records)), published)


def long_form(answers: Sequence[Answer]) -> Table:
    metrics = ("omega_base", "omega_new", "omega_new_share", "omega_all", FAIR, LOWEST, "mean_class_accuracy")
    columns = (*(Column(metric, metric) for metric in metrics), Column("megabytes", "MB"), Column("minutes", "minutes"))
    rows = [
        TableRow(
            (model, features(as_cell(answer)), kind),
            (*(answer.number(metric) for metric in metrics), measured(answer, megabytes), answer.number("minutes")),
        )
        for (model, _, kind), answer in by_cell(answers).items()
    ]
    return Table(("model", "data", "experiment"), columns, tuple(rows))


def as_cell(answer: Answer) -> Cell:
    assert isinstance(answer.question, Cell)
    return answer.question


def megabytes(record: Record) -> float:
    return record.bytes["total"] / MEGA


def omega_tables(answers: Sequence[Answer]) -> list[Table]:
    """The three Ω of every cell, a table for each experiment."""
    cells = by_cell(answers)
    return [_omegas(cells, kind) for kind in KINDS if any(k == kind for _, _, k in cells)]


def size_tables(answers: Sequence[Answer]) -> list[Table]:
    """Table 2: Ω, and the sizes beside them."""
    return [*omega_tables(answers), *_sizes(by_cell(answers))]


def _omegas(cells: Cells, kind: str) -> Table:
    picked = {(model, data): answer for (model, data, k), answer in cells.items() if k == kind}
    columns = [Column("omega_base", "Ω base"), Column(NEW[kind], "Ω new"), Column("omega_all", "Ω all")]
    if any(FAIR in record.metrics() for answer in picked.values() for record in done(answer.records)):
        columns += [Column(FAIR, "Ω all, fair"), Column(LOWEST, "its lowest session")]
    rows = [
        TableRow((model, features(as_cell(answer))), tuple(answer.number(c.metric) for c in columns))
        for (model, _), answer in sorted(picked.items(), key=lambda item: list(cells).index((*item[0], kind)))
    ]
    return Table(("model", "data"), tuple(columns), tuple(rows), f"{TITLES[kind]}: published / ours", "pairs")


def _sizes(cells: Cells) -> list[Table]:
    """What the paper prints beside the closed formula at its shapes, and beside what our runs keep."""
    found = {(model, data): answer for (model, data, kind), answer in cells.items() if kind == PERMUTATION}
    models, known = list(dict.fromkeys(model for model, _ in found)), list(dict.fromkeys(data for _, data in found))
    columns = tuple(Column(data, data, 2) for data in known)
    formula = tuple(TableRow((m,), tuple(_formula(m, d) for d in known)) for m in models if printed_size(m, "MNIST"))
    kept = tuple(TableRow((m,), tuple(_kept(found.get((m, d)), m, d) for d in known)) for m in models)
    ours = Table(("MB",), columns, kept, "Size in MB after all permutations: published / what our runs keep", "pairs")
    if not set(known) & set(SHAPES):
        return [ours]
    return [ours, Table(("MB",), columns, formula, "Size in MB: published / formula at the published shapes", "pairs")]


def _kept(answer: Answer | None, model: str, data: str) -> Number | None:
    return None if answer is None else measured(answer, megabytes, printed_size(model, data))


def printed_size(model: str, data: str) -> float | None:
    rows = printed("kemker2018", "table2")
    return next((float(r["model_size_mb"]) for r in rows if (r["model"], r["dataset"]) == (model, data)), None)


def _formula(model: str, data: str) -> Number | None:
    if data not in SHAPES:
        return None
    return Number(4 * numbers(model, data, READOUTS.get(data)) / MEGA, published=printed_size(model, data))


def average_table(answers: Sequence[Answer]) -> list[Table]:
    """Table 3: Ω all, averaged over the data."""
    cells = by_cell(answers)
    rows = [TableRow((model,), tuple(average(cells, model, kind) for kind in KINDS)) for model in models(cells)]
    return [Table(("model",), tuple(Column(kind, TITLES[kind].split(",")[0]) for kind in KINDS), tuple(rows))]


def models(cells: Cells) -> list[str]:
    return list(dict.fromkeys(model for model, _, _ in cells))


def average(cells: Cells, model: str, kind: str) -> Number | None:
    found = {data: answer.mean("omega_all") for (m, data, k), answer in cells.items() if (m, k) == (model, kind)}
    if not found:
        return None
    row = (
        next((r for r in printed("kemker2018", "table3") if r["model"] == model), {})
        if set(found) <= set(SHAPES)
        else {}
    )
    text = row.get(PRINTED_AS[kind], "")
    return Number(sum(found.values()) / len(found), published=float(text) if text else None)


def time_tables(answers: Sequence[Answer]) -> list[Table]:
    """Table 4: what training takes, as a multiple of the MLP's; in operations too, which no busy machine can change."""
    cells = by_cell(answers)
    kinds = (PERMUTATION, INCREMENTAL)
    columns = tuple(Column(kind, TITLES[kind], 2) for kind in kinds)

    def table(title: str, read: Callable[[Record], float], beside: Callable[[str, str], float | None]) -> Table:
        rows = (TableRow((m,), tuple(ratio(cells, m, k, read, beside(m, k)) for k in kinds)) for m in models(cells))
        return Table(("model",), columns, tuple(rows), title, "pairs")

    return [
        table("Time as a multiple of the MLP's: published / ours", seconds, printed_ratio),
        table("Operations as a multiple of the MLP's, ours", lambda record: float(record.flops), lambda m, k: None),
    ]


def printed_ratio(model: str, kind: str) -> float | None:
    minutes = {row["model"]: row[PRINTED_AS[kind]] for row in printed("kemker2018", "table4")}
    return float(minutes[model]) / float(minutes["MLP"]) if minutes.get(model) else None


def seconds(record: Record) -> float:
    return record.seconds


def ratio(
    cells: Cells, model: str, kind: str, read: Callable[[Record], float], published: float | None
) -> Number | None:
    """On the data that both are there for; the paper's are of CUB-200."""
    shared = [data for m, data, k in cells if (m, k) == (model, kind) and ("MLP", data, kind) in cells]
    data = "CUB" if "CUB" in shared else next(iter(shared), None)
    if data is None:
        return None
    ours, base = measured(cells[model, data, kind], read), measured(cells["MLP", data, kind], read)
    beside = published if data == "CUB" else None
    return Number(ours.mean / base.mean if base.mean else math.nan, n=min(ours.n, base.n), published=beside)


def accuracy_table(answers: Sequence[Answer]) -> list[Table]:
    """Table S8: accuracy on both modalities, of each after it was learned and at the end."""
    names = ("initial_acc_first", "initial_acc_second", "final_acc_first", "final_acc_second")
    titles = ("first, learned", "second, learned", "first, at the end", "second, at the end")
    places = ((0, 0), (1, 1), (1, 0), (1, 1))
    rows = []
    for (model, data, _), answer in by_cell(answers).items():
        row = next((r for r in printed("kemker2018", "s8") if r["model"] == model and r["order"].startswith(data)), {})
        beside = [float(row[name]) / 100 if row else None for name in names]
        cells = (measured(answer, _accuracy_at(k, j), value) for (k, j), value in zip(places, beside, strict=True))
        rows.append(TableRow((model, features(as_cell(answer))), tuple(cells)))
    columns = tuple(Column(name, title + " %", 1, 100.0) for name, title in zip(names, titles, strict=True))
    return [Table(("model", "data"), columns, tuple(rows), "published / ours", "pairs")]


def _accuracy_at(after: int, task: int) -> Callable[[Record], float]:
    """As Ω has it: the mean over classes, where a session brings some."""
    return lambda record: record.alphas.parts[after][task]
