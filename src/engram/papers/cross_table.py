"""An experiment whose cells are models on datasets, shown as one small table for each thing that is compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from engram.papers.paper import STOPPED, Answer, Experiment, Question
from engram.reports.content import Column, Number, Phases, Spans, Table, TableRow
from engram.reports.summary import done

Key = tuple[str, str, str]  # model, dataset, variant
Cells = Mapping[Key, Answer]

UNION, FIRST = "union_accuracy", "first_task_accuracy"
DATA = (Column(UNION, UNION), Column(FIRST, FIRST), Column(STOPPED, STOPPED))


@dataclass(frozen=True)
class Cell(Question):
    """One model on one dataset, in one variant of the evaluation."""

    model: str = ""
    dataset: str = ""
    variant: str = ""


@dataclass(frozen=True)
class Contrast:
    """What stands in the cell of a model and a dataset, read by a metric (by default all test samples together);
    `signed` where it is a difference."""

    title: str
    number: Callable[[Cells, str, str, str], Number | None]  # cells, model, dataset, metric
    shown: Literal["pairs", "ours"] = "pairs"
    signed: bool = False


@dataclass(frozen=True)
class CrossTable(Experiment):
    """Rows are datasets, columns are models. A dataset with overlapping tasks has a second row, for its first task."""

    comparisons: tuple[Contrast, ...] = ()
    remarks: Callable[[Cells], list[str]] = lambda cells: []
    twice: tuple[str, ...] = ()  # datasets that are also shown on their first task alone

    def data(self, answers: Sequence[Answer]) -> Table:
        """The long form, a row for each cell and variant."""
        rows = (TableRow(key, tuple(a.number(c.metric) for c in DATA)) for key, a in by_cell(answers).items())
        return Table(("model", "dataset", "variant"), DATA, tuple(rows))

    def tables(self, answers: Sequence[Answer]) -> tuple[Table, ...]:
        cells = by_cell(answers)
        models, datasets = _models(cells), list(dict.fromkeys(dataset for _, dataset, _ in cells))
        rows = [(d, d, UNION) for d in datasets] + [(f"{d}, D1 alone", d, FIRST) for d in datasets if d in self.twice]
        return tuple(
            Table(
                ("",),
                tuple(Column(model, model, 2, signed=comparison.signed) for model in models),
                tuple(
                    TableRow((name,), tuple(comparison.number(cells, model, d, metric) for model in models))
                    for name, d, metric in rows
                ),
                comparison.title,
                comparison.shown,
            )
            for comparison in self.comparisons
        )

    def settings(self, answers: Sequence[Answer]) -> dict[str, dict[str, Any]]:
        """A model has the same settings on every dataset."""
        first = {model: a for (model, _, _), a in reversed(by_cell(answers).items())}
        return {model: first[model].settings() for model in reversed(first)}

    def notes(self, answers: Sequence[Answer]) -> tuple[str, ...]:
        return tuple(self.remarks(by_cell(answers)))


def by_cell(answers: Sequence[Answer]) -> dict[Key, Answer]:
    return {(c.model, c.dataset, c.variant): answer for answer, c in ((a, _cell(a)) for a in answers)}


def _cell(answer: Answer) -> Cell:
    assert isinstance(answer.question, Cell)
    return answer.question


def _models(cells: Cells) -> list[str]:
    return list(dict.fromkeys(model for model, _, _ in cells))


def of_variant(variant: str) -> Callable[[Cells, str, str, str], Number | None]:
    """The number of one variant."""

    def number(cells: Cells, model: str, dataset: str, metric: str) -> Number | None:
        answer = cells.get((model, dataset, variant))
        return None if answer is None else answer.number(metric)

    return number


def phases(answers: Sequence[Answer]) -> Phases:
    """For each model and dataset the run of the first seed and variant."""
    cells = by_cell(answers)
    first = next(iter(cells))[2]
    return Phases(
        {(m, d): next(iter(done(a.records)), None) for (m, d, variant), a in cells.items() if variant == first}
    )


def spans(answers: Sequence[Answer]) -> Spans:
    """For each dataset and model from the realistic accuracy to the prescient one; the strict one is the dot."""
    cells = by_cell(answers)
    wanted = ("realistic", "prescient", "strict")
    bars = {
        (d, m): (_mean(cells, m, d, wanted[0]), _mean(cells, m, d, wanted[1]), _mean(cells, m, d, wanted[2]))
        for m, d, _ in cells
    }
    return Spans("accuracy on D1 ∪ D2: realistic to prescient", "strict", bars)


def _mean(cells: Cells, model: str, dataset: str, variant: str) -> float:
    answer = cells.get((model, dataset, variant))
    return float("nan") if answer is None else answer.mean(UNION)
