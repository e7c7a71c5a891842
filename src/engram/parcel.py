"""Runs on their way from one store to another: what a store knows of runs that are done, in one file.

    gzip of lines of JSON: a first one that says what it is, then a row a line as the store has it, with its digest

What was trained on several machines comes together so, and a table can be looked at without training. Checkpoints stay
behind: a node that has to be gone on from is grown again. Everything is checked before anything is written.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from engram import files
from engram.errors import BadSetting, DamagedFile
from engram.formats import VERSION
from engram.sealed import SealedTable, Values
from engram.store import Store, existing

TITLE = "runs of engram"
NODES, RUNS, EXPERIMENTS = "nodes", "runs", "experiments"
KEY = re.compile("[0-9a-f]{40,64}")
LINE_BYTES = 1 << 26  # the longest line that is read
_SPOILT = (OSError, EOFError, zlib.error, ValueError, TypeError, RecursionError)

Packed = tuple[str, list[Any], str]  # a table, the values of a row as they are in the file, their digest


class TakenIn(NamedTuple):
    """What came into a store, and how many runs it had already."""

    runs: int
    known: int
    nodes: int
    experiments: int


def export_runs(store: Store, file: str | os.PathLike[str], keys: Collection[str] | None = None) -> int:
    """Write the runs with these keys that are done, or all that are, into a file. How many there were."""
    done = [run["key"] for run in store.runs() if run["status"] == "done" and (keys is None or run["key"] in keys)]
    if not done:
        raise BadSetting(f"none of these runs in {store.folder} is done; 'engram runs' shows how they stand")
    lines = [json.dumps({"title": TITLE, "format": VERSION})]
    lines += (json.dumps(row, separators=(",", ":")) for row in _packed(store, done))
    files.write(Path(file), gzip.compress(("\n".join(lines) + "\n").encode(), mtime=0))
    return len(done)


def import_runs(store: Store, source: str | os.PathLike[str]) -> TakenIn:
    """Take in what is in such a file, or in another store. Runs that are done here already stay as they are."""
    require_source(source)
    rows = _of_store(source) if os.path.isdir(source) else _read(Path(source))
    try:
        return _take_in(store, rows)
    except DamagedFile as error:
        raise BadSetting(f"'{source}' is damaged ({error}); nothing of it was taken in, get it again") from error


def _packed(store: Store, keys: Collection[str]) -> Iterator[Packed]:
    """Of runs that are done everything that is known but checkpoints: first the nodes, then the runs, then the
    experiments that have no other runs."""
    results = [run["result"] for run in store.runs() if run["key"] in keys]
    nodes = dict.fromkeys(node for result in results for node in (*result["path"], *result["grown"]))
    experiments = [each["key"] for each in store.experiments() if _runs_of(each) <= {*keys}]
    for table, wanted in ((NODES, nodes), (RUNS, keys), (EXPERIMENTS, experiments)):
        yield from filter(None, map(store.tables[table].packed, wanted))


def _runs_of(experiment: Mapping[str, Any]) -> set[str]:
    return {run for row in experiment["rows"] for run in row["runs"]}


def _take_in(store: Store, rows: Iterable[Packed]) -> TakenIn:
    """Add rows, all of them or none; what is known here stays as it is."""
    added, known = dict.fromkeys(store.tables, 0), 0
    with store.all_or_nothing():
        for name, raw, sha256 in rows:
            table = store.tables.get(name)
            values = table.unpacked(raw, sha256) if table else None
            if table is None or values is None or not KEY.fullmatch(values["key"] or ""):
                raise DamagedFile("a row in it is not what was written")
            if _is_news(table, values):
                _add(store, table, values, (raw, sha256))
                added[name] += 1
            else:
                known += name == RUNS
    return TakenIn(added[RUNS], known, added[NODES], added[EXPERIMENTS])


def _is_news(table: SealedTable, values: Values) -> bool:
    """Whether a row says more than what is known here."""
    known = table.get(values["key"])
    if known is None:
        return True
    return bool(known["row"] is None if table.shape.name == NODES else known.get("status", "done") != "done")


def _add(store: Store, table: SealedTable, values: Values, raw: tuple[list[Any], str]) -> None:
    name = table.shape.name
    if name == NODES:
        table.insert(*raw)
        return
    if name == RUNS and not _is_whole(store, values):
        raise DamagedFile(f"a part of run {values['key'][:10]} is missing in it")
    known = table.get(values["key"])
    table.put(**{**values, "number": known["number"] if known else store.next_number(name)})


def _is_whole(store: Store, run: Values) -> bool:
    result = run["result"] or {}
    parts = [*result.get("path", ()), *result.get("grown", ())]
    return run["status"] == "done" and bool(parts) and all(map(store.tables[NODES].has, parts))


def require_source(source: str | os.PathLike[str]) -> None:
    """Something to take in."""
    if not os.path.exists(source):
        raise BadSetting(f"there is no '{source}' to import; 'engram export --runs FILE' makes such a file")


def _of_store(folder: str | os.PathLike[str]) -> Iterator[Packed]:
    with closing(existing(folder)) as store:
        yield from _packed(store, [run["key"] for run in store.runs() if run["status"] == "done"])


def _read(path: Path) -> Iterator[Packed]:
    """The rows of a file. That it is whole is known when it has been read to its end."""
    files.require_regular(path)
    try:
        with gzip.open(path, "rb") as file:
            header = json.loads(file.readline(LINE_BYTES))
            if not isinstance(header, dict) or header.get("title") != TITLE:
                raise ValueError("another title")
            _check_format(path, header.get("format"))
            while line := file.readline(LINE_BYTES):
                table, raw, sha256 = json.loads(line)
                yield table, raw, sha256
    except _SPOILT as error:
        why = getattr(error, "strerror", None) or error
        raise BadSetting(
            f"'{path}' is damaged, or none that 'engram export --runs' made ({why}); nothing of it was taken in"
        ) from error


def _check_format(path: Path, found: object) -> None:
    if not isinstance(found, int) or found != VERSION:
        raise BadSetting(
            f"'{path}' is of format {found!r}, and this Engram reads {VERSION}; use the Engram that made it, or a newer"
        )
