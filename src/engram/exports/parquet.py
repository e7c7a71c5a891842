"""Columns as a Parquet file, which keeps the kind of every column."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from engram.extras import need


def parquet_bytes(columns: Mapping[str, Sequence[Any]]) -> bytes:
    pyarrow, parquet = need("pyarrow", "dataframes"), need("pyarrow.parquet", "dataframes")
    file = io.BytesIO()
    parquet.write_table(pyarrow.table({name: list(values) for name, values in columns.items()}), file)
    return file.getvalue()
