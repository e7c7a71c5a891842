"""An experiment that is shown as tables of its own making: views of the same cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from engram.papers.cross_table import Cell, by_cell
from engram.papers.paper import Answer, Experiment
from engram.reports.content import Drawing, Table


@dataclass(frozen=True)
class ShownTable(Experiment):
    """A table that is made of the answers by `shown`; of several, the first is the data, unless `whole` makes it."""

    shown: Callable[[Sequence[Answer]], Sequence[Table]] = lambda answers: ()
    whole: Callable[[Sequence[Answer]], Table] | None = None
    remarks: Callable[[Sequence[Answer]], Sequence[str]] = lambda answers: ()

    def tables(self, answers: Sequence[Answer]) -> tuple[Table, ...]:
        return tuple(self.shown(answers))

    def data(self, answers: Sequence[Answer]) -> Table:
        return self.tables(answers)[0] if self.whole is None else self.whole(answers)

    def settings(self, answers: Sequence[Answer]) -> dict[str, dict[str, Any]]:
        """A model once, unless experiments or data differ."""
        if not all(isinstance(answer.question, Cell) for answer in answers):
            return super().settings(answers)
        found = {key: answer.settings() for key, answer in by_cell(answers).items()}
        own = {model: [other for (m, _, _), other in found.items() if m == model] for model, _, _ in found}
        same = {model for model, several in own.items() if all(other == several[0] for other in several)}
        return {key[0] if key[0] in same else ", ".join(filter(None, key)): values for key, values in found.items()}

    def notes(self, answers: Sequence[Answer]) -> tuple[str, ...]:
        return tuple(self.remarks(answers))

    def picture(self, answers: Sequence[Answer]) -> Drawing | None:
        """Only one of its own, which needs no runs if the experiment has none."""
        if self.figure is None or (self.questions and super().picture(answers) is None):
            return None
        return self.figure(answers)
