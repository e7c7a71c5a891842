"""Comparisons with their differences, as flat rows and as LaTeX: the best row in bold, the others against it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from engram.exports.latex import escaped, number, p_value, tabular
from engram.exports.means import COLUMNS, column_of, in_unit, known, numbers_of, shown_numbers
from engram.reports.cells import cells
from engram.reports.comparison import ComparedRow, Comparison
from engram.statistics import Difference


def compared_rows(comparisons: Sequence[Comparison], metrics: Sequence[str] = ()) -> list[dict[str, Any]]:
    """One for each row of each stream: means and deviations, and the best row minus it."""
    columns = [column_of(name) for name in metrics or COLUMNS]
    rows = []
    for comparison in comparisons:
        differences = _by_other(comparison)
        for row in comparison.rows:
            about = {"stream": comparison.stream, "row": row.label, "kind": comparison.kind(row)}
            flat: dict[str, Any] = {**about, "n": len(row.records) - row.unfinished, "not_done": row.unfinished}
            flat["chosen_by_test_data"] = row.marked
            for column, found in zip(columns, numbers_of(row.records, columns), strict=True):
                flat |= {f"{column.metric}_mean": known(found.mean), f"{column.metric}_std": known(found.std)}
            rows.append({**flat, **_difference(comparison.by, differences.get(row.label))})
    return rows


def _by_other(comparison: Comparison) -> dict[str, Difference]:
    return {each.second: each for each in comparison.differences}


def _difference(by: str, found: Difference | None) -> Mapping[str, Any]:
    names = ("mean", "low", "high", "p", "corrected")
    values = [None if found is None else known(getattr(found, name)) for name in names]
    titles = [f"{by}_of_best_minus_this", "low", "high", "p", "p_corrected"]
    return {**dict(zip(titles, values, strict=True)), "verdict": None if found is None else found.verdict}


def compared_latex(comparisons: Sequence[Comparison], metrics: Sequence[str]) -> str:
    """A table a stream."""
    return "\n".join(_table(comparison, metrics) for comparison in comparisons)


def _table(comparison: Comparison, metrics: Sequence[str]) -> str:
    """The metric that rows are compared by is the first column, so that differences can be followed."""
    metrics = list(dict.fromkeys([comparison.by, *metrics]))
    numbers = [shown_numbers(row.records, [column_of(name) for name in metrics]) for row in comparison.rows]
    columns = [in_unit(column_of(name), some) for name, some in zip(metrics, zip(*numbers), strict=True)]
    header = ["method", *(column.title for column in columns), "best minus it", "p"]
    if len(columns) > 1:
        header[-2] = f"best minus it ({columns[0].title})"
    rows = []
    for row, found in zip(comparison.rows, numbers, strict=True):
        texts = [cells(column, each)[1] for column, each in zip(columns, found, strict=True)]
        rows.append([_label(comparison, row), *map(number, texts), *_against(_by_other(comparison).get(row.label))])
    about = [comparison.stream, f"compared by {comparison.by}, seed by seed; interval of 95 %, p corrected (Holm)"]
    warnings = dict.fromkeys(f"* {r.protocol}: {r.warning}" for r in comparison.records if r.warning)
    return tabular(list(map(escaped, header)), rows, 1, " · ".join(about), [*comparison.notes, *warnings])


def _label(comparison: Comparison, row: ComparedRow) -> str:
    label = escaped(row.label + ("*" if row.marked and not row.label.endswith("*") else ""))
    kind = comparison.kind(row)
    return f"\\textbf{{{label}}}" if kind == "best" else label + (" (floor)" if kind == "floor" else "")


def _against(found: Difference | None) -> list[str]:
    if found is None:
        return ["", ""]
    if math.isnan(found.corrected):
        return [number(f"{found.mean:+.3f}") if math.isfinite(found.mean) else "", escaped(found.verdict)]
    return [f"${found.mean:+.3f}$ $[{found.low:+.3f}, {found.high:+.3f}]$", p_value(found.corrected)]
