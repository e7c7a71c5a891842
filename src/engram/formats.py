"""What the store's tables hold, and how those of an older format become the present ones.

A node has its own growth and its parent's key, so that a path takes as much room as it has lessons. A node after one
lesson has no parent here and says all about its learner and its stream; so does every node that came from a store of
format 1, with its whole path. An experiment is the text of its file, the keys of its runs row by row, and the metric
that rows are compared by; its own key is the digest of what it asks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engram.database import Database
from engram.errors import StoreTrouble
from engram.record import row_from_json
from engram.sealed import SealedTable, Shape, Values, seal

VERSION = 3

_STATUSES = ("pending", "done", "failed")
_SPEC = ("stream", "learner", "network", "grid", "protocol", "head", "seed", "validation", "curve", "references")
_RESULT = ("path", "chosen", "joint", "isolated", "grown")


def _node(values: Values) -> Values:
    if not isinstance(values["grown"], int):
        raise TypeError("how often a node was grown is a number")
    return {**values, "row": None if values["row"] is None else row_from_json(values["row"])}


def _run(values: Values) -> Values:
    if values["status"] not in _STATUSES:
        raise ValueError(f"there is no status {values['status']!r}")
    kinds: dict[str, Any] = {"number": int, "key": str, "spec": dict, "result": (dict, type(None))}
    if not all(isinstance(values[name], kind) for name, kind in kinds.items()):
        raise TypeError(f"a run has {kinds}")
    return values


def _experiment(values: Values) -> Values:
    kinds: dict[str, Any] = {"number": int, "key": str, "text": str, "by": str, "rows": list}
    if not all(isinstance(values[name], kind) for name, kind in kinds.items()):
        raise TypeError(f"an experiment has {kinds}")
    for row in values["rows"]:
        if not (isinstance(row["label"], str) and isinstance(row["floor"], bool) and all(map(str, row["runs"]))):
            raise TypeError("a row has a label, may be a floor, and has the keys of its runs")
    return values


NODES = Shape(
    name="nodes",
    columns=("key", "parent", "spec", "row", "error", "kind", "grown"),
    json=frozenset({"spec", "row"}),
    understand=_node,
    thing="node",
    cure="whatever needs the node grows it again",
)
RUNS = Shape(
    name="runs",
    columns=("number", "key", "spec", "status", "error", "kind", "result"),
    json=frozenset({"spec", "result"}),
    understand=_run,
    thing="run",
    cure="the command of that run brings it back, 'engram clean --failed' forgets it",
)
EXPERIMENTS = Shape(
    name="experiments",
    columns=("number", "key", "text", "by", "rows"),
    json=frozenset({"rows"}),
    understand=_experiment,
    thing="experiment",
    cure="the command of that experiment brings it back, and trains nothing again",
)


def prepare(database: Database) -> None:
    """Make the tables of a new file, bring those of formats 1 and 2 up to date, refuse a newer format."""
    if _version(database) < VERSION:
        with database.transaction():
            _make(database, _version(database))  # asked again: another process may have done it meanwhile


def _version(database: Database) -> int:
    version = int(database.read("PRAGMA user_version")[0][0])
    if not 0 <= version <= VERSION:
        raise StoreTrouble(
            f"{database.path} was written by a newer Engram (format {version}); upgrade Engram to read it"
        )
    return version


def _make(database: Database, version: int) -> None:
    if version == VERSION:
        return
    if version == 0 and database.read("SELECT name FROM sqlite_master"):
        raise database.damaged("there are tables in it, but no format")
    SealedTable(database, EXPERIMENTS).create()
    for shape in (NODES, RUNS) if version < 2 else ():
        rows = _rows_of_format_1(database, shape) if version else []
        table = SealedTable(database, shape)
        table.create()
        for raw in rows:
            table.insert(raw, seal(shape.name, raw) if _is_whole(shape, raw) else None)
    database.write(f"PRAGMA user_version = {VERSION}")


def _rows_of_format_1(database: Database, shape: Shape) -> list[tuple[Any, ...]]:
    columns = ["NULL" if name in ("parent", "kind") else name for name in shape.columns]
    return database.read(f"SELECT {', '.join(columns)} FROM {shape.name} ORDER BY rowid")


def _is_whole(shape: Shape, raw: Sequence[Any]) -> bool:
    """Rows of format 1 have no digest. They get one over what is there, if it has all that a reader will look for."""
    values = shape.loaded(raw)
    if values is None or shape is NODES:
        return values is not None
    spec, result = values["spec"], values["result"]
    if values["status"] == "done" and not (result and all(isinstance(result.get(name), list) for name in _RESULT)):
        return False
    return all(name in spec for name in _SPEC) and isinstance(spec["stream"], dict) and "name" in spec["stream"]
