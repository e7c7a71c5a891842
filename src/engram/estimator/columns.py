"""A DataFrame (pandas or polars) as columns of numbers and of categories; anything else is refused by its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engram.errors import BadInput
from engram.estimator.fixed_point import NumpyArray

NUMBER, CATEGORY = "numbers", "text"
MOST_CATEGORIES = 1000
FEW = 20  # categories are never too many for their rows


@dataclass(frozen=True)
class TableColumn:
    """Numbers in float64, with NaN where one is missing; or text, which is empty where it is missing."""

    name: str
    kind: str
    values: NumpyArray


def is_frame(x: Any) -> bool:
    return hasattr(x, "columns") and hasattr(x, "dtypes")


def by_name(x: Mapping[str, Any], names: Sequence[str]) -> list[TableColumn]:
    """Columns that are given by name, in the order of the names; there may be no others."""
    require_names(names, list(x))
    arrays = [np.asarray(x[name]) for name in names]
    if len({len(values) for values in arrays}) > 1:
        raise BadInput("columns have different numbers of values; give each one for every row")
    _require_rows(len(arrays[0]) if arrays else 0)
    return [_column(name, values) for name, values in zip(names, arrays)]


def read(frame: Any) -> list[TableColumn]:
    """The columns of a frame, in its order."""
    names = [str(name) for name in frame.columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BadInput(f"two columns are called '{twice}'; rename one")
    _require_rows(len(frame))
    series = (frame.iloc[:, k] if hasattr(frame, "iloc") else frame.to_series(k) for k in range(len(names)))
    return [_column(name, np.asarray(one)) for name, one in zip(names, series)]


def _require_rows(count: int) -> None:
    if not count:
        raise BadInput("there are 0 rows (n_samples = 0) in the table; at least 1 is needed")


def _column(name: str, values: NumpyArray) -> TableColumn:
    kind = values.dtype.kind
    if kind in "biuf":
        return _numbers(name, values.astype(float))
    if kind in "Mm":
        raise _dates(name)
    if kind == "U":
        values = values.astype(object)
    if kind not in "UO":
        raise BadInput(f"column '{name}' holds {values.dtype}; turn it into numbers or text, or leave it out")
    return _of_objects(name, values)


def _of_objects(name: str, values: NumpyArray) -> TableColumn:
    missing = np.array([is_missing(value) for value in values], dtype=bool)
    there = values[~missing]
    if all(isinstance(value, str) for value in there) and len(there):
        return TableColumn(name, CATEGORY, np.where(missing, "", values))
    if all(isinstance(value, (int, float, np.number, np.bool_)) for value in there):
        return _numbers(name, np.where(missing, np.nan, values).astype(float))
    types = {type(value).__name__: value for value in there}
    if any(word in kind.lower() for kind in types for word in ("date", "time")):
        raise _dates(name)
    shown = " and ".join(f"{kind} (like {value!r})" for kind, value in types.items())
    raise BadInput(f"column '{name}' holds {shown}; make it all numbers or all text, or leave it out")


def _numbers(name: str, values: NumpyArray) -> TableColumn:
    with np.errstate(over="ignore"):
        infinite = np.isinf(values.astype(np.float32))
    if infinite.any():
        row = int(infinite.argmax())
        raise BadInput(
            f"column '{name}' has inf or too large a number ({values[row]:g}) in row {row}; leave such rows out"
        )
    return TableColumn(name, NUMBER, values)


def _dates(name: str) -> BadInput:
    return BadInput(
        f"column '{name}' holds dates; make numbers of them (a year, a month, days since …) or leave it out (--without)"
    )


def is_missing(value: Any) -> bool:
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def categories(column: TableColumn) -> list[str]:
    """The different texts of a column; too many are no categories."""
    found = sorted(set(column.values.tolist()))
    if len(found) > MOST_CATEGORIES or len(found) > max(FEW, len(column.values) // 2):
        raise BadInput(
            f"column '{column.name}' has {len(found)} texts in {len(column.values)} rows (like {found[-1]!r}): "
            "too many for categories; leave it out (--without) or make numbers of it"
        )
    return found


def require_kind(column: TableColumn, kind: str) -> None:
    """A column stays what it was in the first session; where nothing is there, it is."""
    if column.kind == kind or not len(column.values):
        return
    if kind == CATEGORY and np.isnan(column.values).all():
        return
    like = column.values[-1] if column.kind == CATEGORY else f"{column.values[-1]:g}"
    raise BadInput(f"column '{column.name}' was {kind} and now holds {column.kind} (like {like!r}); give it as it was")


def require_names(names: Sequence[str], given: Sequence[str]) -> None:
    """Refuse a table that lacks columns of the first session or has others, in one sentence."""
    missing, more = [n for n in names if n not in given], [n for n in given if n not in names]
    if missing or more:
        what = [f"lacks {_quoted(missing)}"] * bool(missing) + [f"has {_quoted(more)} as well"] * bool(more)
        raise BadInput(
            f"the table {' and '.join(what)}; it must have the columns of the first session: {_quoted(names)}"
        )


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
