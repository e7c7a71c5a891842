"""What is done to rows before they are learned, decided in the first session and kept for good.

Arrays of numbers stay as they are. In tables a missing number becomes the median of the first session (a column that
missed some there gets another one that says where), and text becomes a column of 0 and 1 for each of its categories;
a category that the first session did not have is none of them. Networks and random features also need the mean and
deviation of the first session. Closed forms on the numbers themselves do not, and have nothing of the first session.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from engram.errors import BadInput
from engram.estimator.columns import CATEGORY, NUMBER, TableColumn, categories, require_kind
from engram.estimator.fixed_point import NumpyArray
from engram.estimator.moments import Moments
from engram.estimator.sums import Sums
from engram.readers.encoding import lossy

BYTE = 255.0
RawRows = NumpyArray | list[TableColumn]


@dataclass(frozen=True)
class Preparation:
    """`shape` of a row as it comes; `columns` of a table, each as plain JSON; `scale`, if any: mean and deviation."""

    shape: tuple[int, ...]
    columns: tuple[Mapping[str, Any], ...] = ()
    is_bytes: bool = False
    scale: tuple[NumpyArray, NumpyArray] | None = None

    @staticmethod
    def of(rows: RawRows) -> Preparation:
        """Decided by the first session."""
        if isinstance(rows, list):
            return Preparation((len(rows),), tuple(_decided(column) for column in rows))
        return Preparation(tuple(rows.shape[1:]), is_bytes=rows.dtype == np.uint8 and rows.ndim > 2)

    def scaled_by(self, rows: RawRows) -> Preparation:
        """With the scale of these rows. Images have theirs. Sums take float32: columns that vary in what it does not
        hold are brought to 0 first."""
        if len(self.shape) > 1:
            return self
        x = self._exact(rows)
        offset = np.where(lossy(x), x.min(axis=0), 0.0)
        sums = Sums(x.shape[1])
        sums.order(np.array([-1]))
        sums.add((x - offset).astype(np.float32), np.zeros(len(x), dtype=np.int64))
        moments = Moments.of(sums)
        return replace(self, scale=(moments.mean + offset, moments.deviation))

    def say_if_lossy(self, rows: RawRows) -> None:
        """A word about columns that are learned as they are and vary in what float32 does not hold."""
        found = np.flatnonzero(lossy(self._exact(rows))).tolist() if len(self.shape) == 1 else []
        if found:
            names = [f"'{column['name']}'" for column in self.columns if column["kind"] == NUMBER]
            first = names[found[0]] if names else found[0]
            more = f" (as do {len(found) - 1} more)" if found[1:] else ""
            warnings.warn(
                f"column {first} varies in digits that float32 does not hold{more}, so that little or nothing of it is "
                "learned; subtract an offset, such as its smallest value",
                stacklevel=7,
            )

    def __call__(self, rows: RawRows) -> NumpyArray:
        """Rows in float32, as they are learned."""
        x = self._exact(rows)
        if self.scale is not None:
            x = (x - self.scale[0]) / self.scale[1]
        x = x[:, None] if x.ndim == 3 else x  # grey images have one channel
        return np.ascontiguousarray(x, dtype=np.float32)

    def _exact(self, rows: RawRows) -> NumpyArray:
        """Rows of numbers before they are scaled and rounded."""
        return self._encoded(rows) if isinstance(rows, list) else self._numbers(rows)

    def _numbers(self, x: NumpyArray) -> NumpyArray:
        if any(column["kind"] == CATEGORY for column in self.columns):
            name = next(column["name"] for column in self.columns if column["kind"] == CATEGORY)
            raise BadInput(f"column '{name}' was text in the first session; give a table with its columns by name")
        require_finite(x)
        if self.is_bytes and x.dtype != np.uint8:
            raise BadInput(
                f"images were bytes (0 to 255) in the first session and are now {x.dtype}; give them as bytes"
            )
        if x.dtype == np.uint8 and x.ndim > 2 and not self.is_bytes:
            raise BadInput(
                "images were not bytes in the first session and are now (0 to 255); give numbers on the scale of "
                "that session, or begin a new model with bytes"
            )
        return x / BYTE if self.is_bytes else self._filled(x) if self.columns else x

    def _encoded(self, columns: Sequence[TableColumn]) -> NumpyArray:
        if not self.columns:
            require_numbers(columns)
            return np.stack([column.values for column in columns], axis=1)
        for column, before in zip(columns, self.columns):
            require_kind(column, before["kind"])
        numbers = [column.values for column, before in zip(columns, self.columns) if before["kind"] == NUMBER]
        texts = [_text(column) for column, before in zip(columns, self.columns) if before["kind"] == CATEGORY]
        parts = [self._filled(np.stack(numbers, axis=1))] if numbers else []
        return np.hstack(parts + ([self._encoder.transform(np.stack(texts, axis=1))] if texts else []))

    def _filled(self, numbers: NumpyArray) -> NumpyArray:
        return np.asarray(self._imputer.transform(numbers.astype(float)))

    @cached_property
    def _imputer(self) -> Any:
        """Fitted to rows that have the medians of the first session, and miss what it missed."""
        from sklearn.impute import SimpleImputer

        mine = [column for column in self.columns if column["kind"] == NUMBER]
        medians = np.array([[column["median"] for column in mine]])
        missed = np.where([[column["missed"] for column in mine]], np.nan, medians)
        return SimpleImputer(strategy="median", add_indicator=True).fit(np.vstack([medians, missed]))

    @cached_property
    def _encoder(self) -> Any:
        from sklearn.preprocessing import OneHotEncoder

        known = [np.array(column["categories"], dtype=object) for column in self.columns if column["kind"] == CATEGORY]
        encoder = OneHotEncoder(categories=known, handle_unknown="ignore", sparse_output=False)
        return encoder.fit(np.array([[each[0] for each in known]], dtype=object))

    def tensors(self) -> dict[str, NumpyArray]:
        return {} if self.scale is None else {"mean": self.scale[0], "deviation": self.scale[1]}

    def plain(self) -> dict[str, Any]:
        columns = [dict(column) for column in self.columns]
        return {"shape": list(self.shape), "columns": columns, "is_bytes": self.is_bytes}

    @staticmethod
    def load(tensors: Mapping[str, NumpyArray], plain: Mapping[str, Any]) -> Preparation:
        scale = (tensors["mean"], tensors["deviation"]) if tensors else None
        return Preparation(tuple(plain["shape"]), tuple(plain["columns"]), plain["is_bytes"], scale)


def _decided(column: TableColumn) -> dict[str, Any]:
    if column.kind == CATEGORY:
        return {"name": column.name, "kind": CATEGORY, "categories": categories(column)}
    missing = np.isnan(column.values)
    median = 0.0 if missing.all() else float(np.median(column.values[~missing]))
    return {"name": column.name, "kind": NUMBER, "median": median, "missed": bool(missing.any())}


def _text(column: TableColumn) -> NumpyArray:
    """Of a column of text in which nothing is there, all are missing."""
    return column.values if column.kind == CATEGORY else np.full(len(column.values), "", dtype=object)


def require_numbers(columns: Sequence[TableColumn]) -> None:
    """Where the first session was an array of numbers."""
    for column in columns:
        require_kind(column, NUMBER)
        if np.isnan(column.values).any():
            raise BadInput(
                f"column '{column.name}' has missing values (NaN) and the first session was an array, of which no "
                "medians are known; leave such rows out"
            )


def require_finite(x: NumpyArray) -> None:
    if x.dtype.kind != "f":
        return
    with np.errstate(over="ignore"):
        wrong = ~np.isfinite(x.astype(np.float32, copy=False))
    if wrong.any():
        place = np.argwhere(wrong)[0]
        raise BadInput(
            f"Input X contains NaN, inf or a number beyond float32 (row {place[0]}, column {place[1]}); leave such "
            "rows out, or give a table, in which missing values are filled"
        )
