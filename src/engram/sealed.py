"""Tables whose rows prove themselves: each holds a digest over all its values, which is checked when it is read.

A row that is not what was written is never used. Nothing repairs it either: it is as if it were not there, a warning
says so, and who writes a row with its key takes its place.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from engram.database import Database

Values = dict[str, Any]

_NOT_AS_WRITTEN = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)


@dataclass(frozen=True)
class Shape:
    """What a table is: its columns, of which some hold JSON; `understand`, which makes of a row's values what its
    readers want, or raises; what one row is called, and what to do about a damaged one."""

    name: str
    columns: tuple[str, ...]
    json: frozenset[str]
    understand: Callable[[Values], Values]
    thing: str
    cure: str

    def loaded(self, raw: Sequence[Any]) -> Values | None:
        """A row as its readers want it, None where it cannot be understood."""
        pairs = zip(self.columns, raw, strict=True)
        try:
            values = {name: json.loads(v) if name in self.json and v is not None else v for name, v in pairs}
            return self.understand(values)
        except _NOT_AS_WRITTEN:
            return None

    def dumped(self, values: Values) -> list[Any]:
        """A row as it is in the file."""
        pairs = [(name, values.get(name)) for name in self.columns]
        return [json.dumps(value) if name in self.json and value is not None else value for name, value in pairs]


def opened(shape: Shape, raw: Sequence[Any], sha256: str) -> Values | None:
    """A row that comes from another file; None where it is not what was written there."""
    plain = all(value is None or isinstance(value, (str, int, float)) for value in raw)
    return shape.loaded(raw) if plain and sha256 == seal(shape.name, raw) else None


class SealedTable:
    """The rows of one table, by key."""

    def __init__(self, database: Database, shape: Shape):
        self.database, self.shape = database, shape

    def create(self) -> None:
        """An empty table. Its columns have no types: a wrong one is the damage of a row, not of the file."""
        rest = ", ".join(name for name in self.shape.columns if name != "key")
        self.database.write(f"DROP TABLE IF EXISTS {self.shape.name}")
        self.database.write(f"CREATE TABLE {self.shape.name} (key PRIMARY KEY, {rest}, sha256)")

    def get(self, key: str) -> Values | None:
        """A row, or None where there is none or it is damaged."""
        return next(iter(self._sound("WHERE key = ?", key)), None)

    def has(self, key: str) -> bool:
        """Whether there is a row, be it damaged."""
        return bool(self.database.read(f"SELECT 1 FROM {self.shape.name} WHERE key = ?", key))

    def all(self) -> list[Values]:
        """Every row that is not damaged, in the order of the first column."""
        return self._sound(f"ORDER BY {self.shape.columns[0]}")

    def put(self, **values: Any) -> None:
        """Write a row, in the place of one with the same key."""
        raw = self.shape.dumped(values)
        self.insert(raw, seal(self.shape.name, raw))

    def insert(self, raw: Sequence[Any], sha256: str | None) -> None:
        """Write a row as it is in the file."""
        names = ", ".join((*self.shape.columns, "sha256"))
        places = ", ".join("?" * (len(raw) + 1))
        self.database.write(f"INSERT OR REPLACE INTO {self.shape.name} ({names}) VALUES ({places})", *raw, sha256)

    def packed(self, key: str) -> tuple[str, list[Any], str] | None:
        """The table's name, a row as it is in the file and its digest; None where there is none or it is damaged."""
        values, names = self.get(key), ", ".join(self.shape.columns)
        if values is None:
            return None
        *raw, sha256 = self.database.read(f"SELECT {names}, sha256 FROM {self.shape.name} WHERE key = ?", key)[0]
        return self.shape.name, raw, sha256

    def delete(self, key: str) -> None:
        self.database.write(f"DELETE FROM {self.shape.name} WHERE key = ?", key)

    def damaged(self) -> list[int]:
        """The places of the rows that are damaged."""
        return [place for place, _, row in self._read() if row is None]

    def delete_damaged(self) -> None:
        for place in self.damaged():
            self.database.write(f"DELETE FROM {self.shape.name} WHERE rowid = ?", place)

    def _sound(self, which: str, *values: object) -> list[Values]:
        found = self._read(which, *values)
        for _, key, row in found:
            if row is None:
                warnings.warn(
                    f"the entry of {self.shape.thing} {_name(key)} in {self.database.path} is damaged "
                    f"and was not used; {self.shape.cure}",
                    stacklevel=1,  # wherever it is asked for: said once
                )
        return [row for *_, row in found if row is not None]

    def _read(self, which: str = "", *values: object) -> list[tuple[int, Any, Values | None]]:
        """Place, key and values of rows; of a damaged one no values."""
        names = ", ".join(self.shape.columns)
        found = self.database.read(f"SELECT rowid, key, sha256, {names} FROM {self.shape.name} {which}", *values)
        return [
            (place, key, self.shape.loaded(raw) if sha256 == seal(self.shape.name, raw) else None)
            for place, key, sha256, *raw in found
        ]


def seal(table: str, raw: Sequence[Any]) -> str:
    """The digest of a row's values as they are in the file."""
    return hashlib.sha256(json.dumps([table, *raw], default=repr).encode()).hexdigest()


def _name(key: object) -> str:
    """The beginning of a key, which may be damaged itself."""
    return ascii(str(key)[:10]).strip("'\"")
