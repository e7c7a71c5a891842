"""An experiment whose cells are models on datasets, shown as one small matrix for each thing that is measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from engram.papers.paper import Entry, Experiment, Line, Table
from engram.reports.summary import done

Key = tuple[str, str, str]  # model, dataset, variant
Lines = Mapping[Key, Line]


@dataclass(frozen=True)
class Cell(Entry):
    """One model on one dataset, in one variant of the evaluation."""

    model: str = ""
    dataset: str = ""
    variant: str = ""


@dataclass(frozen=True)
class View:
    """A matrix: what stands in the cell of a model and a row. A row is a dataset, read by `metric` (by default all
    test samples together)."""

    title: str
    text: Callable[[Lines, str, str, str], str]  # lines, model, dataset, metric


@dataclass(frozen=True)
class Matrix(Experiment):
    """Rows are datasets, columns are models. A dataset with overlapping tasks has a second row, for its first task."""

    views: tuple[View, ...] = ()
    remarks: Callable[[Lines], list[str]] = lambda lines: []
    twice: tuple[str, ...] = ()  # datasets that are also shown on their first task alone

    def header(self) -> list[str]:
        return ["model", "dataset", "variant", "published", "ours", "ours on the first task", "stopped after steps"]

    def table(self, lines: Sequence[Line]) -> list[list[str]]:
        """The long form, a row for each cell and variant, for machines."""
        return [self._long(line) for line in lines]

    def _long(self, line: Line) -> list[str]:
        cell = _cell(line)
        published = next(iter(cell.published.values()), None)
        ours = [f"{line.mean(metric):.4f}" if done(line.records) else "failed" for metric in (UNION, FIRST)]
        stops = "/".join(str(record.stop) for record in done(line.records))
        return [cell.model, cell.dataset, cell.variant, "" if published is None else f"{published:.2f}", *ours, stops]

    def page_tables(self, lines: Sequence[Line]) -> list[Table]:
        found = by_cell(lines)
        models = list(dict.fromkeys(_cell(line).model for line in lines))
        datasets = list(dict.fromkeys(_cell(line).dataset for line in lines))
        rows = [(d, d, UNION) for d in datasets] + [(f"{d}, D1 alone", d, FIRST) for d in datasets if d in self.twice]
        return [
            Table(
                view.title,
                ["", *models],
                [[name, *(view.text(found, model, d, metric) for model in models)] for name, d, metric in rows],
            )
            for view in self.views
        ]

    def screen_tables(self, lines: Sequence[Line]) -> list[Table]:
        return self.page_tables(lines)

    def distinct(self, lines: Sequence[Line]) -> list[tuple[str, Line]]:
        """A model has the same settings on every dataset."""
        return list({_cell(line).model: line for line in reversed(lines)}.items())[::-1]

    def notes(self, lines: Sequence[Line]) -> list[str]:
        return self.remarks(by_cell(lines))


UNION, FIRST = "union_accuracy", "first_task_accuracy"


def by_cell(lines: Sequence[Line]) -> dict[Key, Line]:
    return {(c.model, c.dataset, c.variant): line for line, c in ((line, _cell(line)) for line in lines)}


def _cell(line: Line) -> Cell:
    assert isinstance(line.entry, Cell)
    return line.entry


def beside_published(variant: str) -> Callable[[Lines, str, str, str], str]:
    """Published / ours, of one variant."""

    def text(lines: Lines, model: str, dataset: str, metric: str) -> str:
        line = lines.get((model, dataset, variant))
        if line is None:
            return ""
        published = line.entry.published.get(metric)
        return f"{'–' if published is None else f'{published:.2f}'} / {shown(line, metric)}"

    return text


def ours(variant: str) -> Callable[[Lines, str, str, str], str]:
    def text(lines: Lines, model: str, dataset: str, metric: str) -> str:
        line = lines.get((model, dataset, variant))
        return "" if line is None else shown(line, metric)

    return text


def shown(line: Line, metric: str) -> str:
    return f"{line.mean(metric):.2f}" if done(line.records) else "failed"
