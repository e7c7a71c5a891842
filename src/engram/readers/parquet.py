"""Tables from parquet files, by pyarrow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from engram import memory
from engram.errors import BadData, DataUnavailable
from engram.readers import cells
from engram.readers.sheet import DATE, IDLE, LABEL, NUMBER, TEXT, Field, Sheet, one_of, refuse_infinite

_INDEX = "__index_level_"  # what pandas calls its row numbers there
ColumnContent = TypeVar("ColumnContent")


def read(path: Path, where: str, kinds: Mapping[str, str]) -> Sheet:
    """A table of all columns; those in `kinds` have to be of that kind."""
    found = _opened(path, where)
    names = [name for name in found.column_names if not name.startswith(_INDEX)]
    _check(names, found.num_rows, where)
    columns = {
        name: _readable(found[name], f"{where}: column '{name}'", partial(_column, kind=kinds.get(name)))
        for name in names
    }
    return Sheet(where, columns)


def as_written(path: Path, where: str, names: Sequence[str]) -> dict[str, list[Any]]:
    """The values of some columns as they are; what is no number, truth or text, as text."""
    found = _opened(path, where)
    there = tuple(found.column_names)
    return {
        name: _readable(found[one_of(name, there, where)], f"{where}: column '{name}'", _as_written) for name in names
    }


def _opened(path: Path, where: str) -> Any:
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError:
        raise DataUnavailable(f"{where} needs pyarrow to be read: pip install 'engram[dataframes]'") from None
    try:
        file = pa.parquet.ParquetFile(path)
        _check_room(file.metadata, path, where)
        return file.read()
    except (pa.ArrowException, OSError) as error:
        why = str(error).splitlines()[0]
        raise BadData(f"{where} is not a whole parquet file ({why}); write it again") from error


def _readable(values: Any, where: str, reading: Callable[[Any, str], ColumnContent]) -> ColumnContent:
    """A column, or a sentence about what is in it."""
    import pyarrow as pa

    try:
        return reading(values, where)
    except (pa.ArrowException, UnicodeDecodeError, OverflowError) as error:
        why = str(error).splitlines()[0]
        raise BadData(f"{where} cannot be read ({why}); write it again, or leave the column out") from error


def _check_room(metadata: Any, path: Path, where: str) -> None:
    needed = 8 * metadata.num_rows * metadata.num_columns
    what = f"{where}, a file of {memory.shown(path.stat().st_size)},"
    memory.require(needed, what, "split it into several files", memory.machine_bytes() // 2)


def _check(names: list[str], rows: int, where: str) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BadData(f"{where} has two columns called '{twice}'; give each a name of its own")
    if not rows or not names:
        raise BadData(f"{where} has {rows} rows and {len(names)} columns; give at least one of each")


def _column(values: Any, where: str, kind: str | None) -> Field:
    import pyarrow as pa

    if kind == IDLE:
        return Field(TEXT, np.full(len(values), None, object))
    as_label, kind = kind == LABEL, None if kind == LABEL else kind
    found = _kind(values.type, where)
    texts = np.empty(len(values), object)
    if found == TEXT:  # which means what it means in CSV
        texts[:] = cells.texts(("" if text is None else text for text in values.to_pylist()), {}, as_label)
        if kind not in (None, TEXT) and all(text is None for text in texts):
            values = pa.chunked_array([pa.nulls(len(values))])
    if pa.types.is_null(values.type):
        found = kind or NUMBER
    if kind not in (None, found):
        raise BadData(f"{where} held values of kind {kind} before and now {found}; write it as it was")
    if found == TEXT:
        return Field(TEXT, texts)
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if found == DATE:
        return Field(DATE, values.cast(pa.timestamp("us"), safe=False).to_numpy().astype("datetime64[us]"))
    # Beyond 2^53 a whole number becomes its nearest neighbour: labels refuse it, other columns are measured anyway.
    numbers = values.cast(pa.float64(), safe=False).to_numpy().astype(np.float64)
    refuse_infinite(numbers, where, lambda row: f"row {row + 1}")
    return Field(NUMBER, numbers)


def _as_written(values: Any, where: str) -> list[Any]:
    import pyarrow as pa

    if pa.types.is_temporal(values.type):  # whose nanoseconds Python has no value for
        values = values.cast(pa.string())
    plain = (type(None), bool, int, float, str)
    return [value if isinstance(value, plain) else str(value) for value in values.to_pylist()]


def _kind(arrow: Any, where: str) -> str:
    from pyarrow import types

    if types.is_dictionary(arrow):
        return _kind(arrow.value_type, where)
    if types.is_boolean(arrow) or types.is_integer(arrow) or types.is_floating(arrow) or types.is_decimal(arrow):
        return NUMBER
    if types.is_string(arrow) or types.is_large_string(arrow):
        return TEXT
    if types.is_date(arrow) or types.is_timestamp(arrow):
        return DATE
    if types.is_null(arrow):
        return NUMBER
    raise BadData(f"{where} holds {arrow}; give numbers, text or dates, or leave the column out")
