"""Figures 2, S2 and S3 of Kemker et al. 2018: accuracy session by session, mean over seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engram.metrics import spread
from engram.papers.cross_table import by_cell
from engram.papers.kemker2018_tables import as_cell, features
from engram.papers.paper import Answer
from engram.record import Record
from engram.reports.content import Curves
from engram.reports.summary import done

Read = Callable[[Record], Sequence[float]]
BASE, ALL = "on the first session", "on everything seen"
READS: dict[str, Read] = {BASE: lambda record: record.alphas.base, ALL: lambda record: record.alphas.all}


def curves(answers: Sequence[Answer], wanted: Sequence[str] = (BASE, ALL)) -> Curves:
    """A row of panels for each data. The dashed line is the offline model: of everything seen where there is one, else
    of the first session."""
    panels: dict[tuple[str, str], dict[str, list[float]]] = {}
    dashed: dict[tuple[str, str], list[float]] = {}
    for (model, _, _), answer in by_cell(answers).items():
        records = done(answer.records)
        for name in wanted if records else ():
            place = features(as_cell(answer)), name
            panels.setdefault(place, {})[model] = _mean([READS[name](record) for record in records])
            dashed.setdefault(place, _mean([_offline(record, name) for record in records]))
    return Curves(panels, dashed)


def _mean(lines: Sequence[Sequence[float]]) -> list[float]:
    return [spread(values)["mean"] for values in zip(*lines, strict=True)]


def _offline(record: Record, name: str) -> Sequence[float]:
    found = record.offline()
    if found is None:
        return ()
    alone, seen = found
    if seen is None:
        return [alone[0]] * len(record.rows)
    return seen.base if name == BASE else seen.all
