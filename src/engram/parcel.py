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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from engram import files, formats
from engram.errors import BadSetting, DamagedFile, StoreTrouble
from engram.sealed import SealedTable, Values, opened
from engram.store import Store, existing, given

TITLE = "runs of engram"
SHAPES = {shape.name: shape for shape in (formats.NODES, formats.RUNS, formats.EXPERIMENTS)}
NODES, RUNS, EXPERIMENTS = SHAPES
KEY = re.compile("[0-9a-f]{40,64}")
LINE_BYTES = 1 << 26  # the longest line that is read
_SPOILT = (OSError, EOFError, zlib.error, ValueError, TypeError, RecursionError)

Packed = tuple[str, list[Any], str]  # a table, the values of a row as they are in the file, their digest


class Parcelled(NamedTuple):
    """A row on its way: its table, its values, and as it is in the file with its digest."""

    table: str
    values: Values
    raw: tuple[list[Any], str]


class TakenIn(NamedTuple):
    """What came into a store, and how many runs it had already."""

    runs: int
    known: int
    nodes: int
    experiments: int


def export_runs(
    store: Store | str | os.PathLike[str], file: str | os.PathLike[str], keys: Collection[str] | None = None
) -> int:
    """Write the runs with these keys that are done, or all that are, into a file. How many there were."""
    with given(store) as place:
        done = done_runs(place, keys)
        lines = [json.dumps({"title": TITLE, "format": formats.VERSION})]
        lines += (json.dumps(row, separators=(",", ":")) for row in _packed(place, done))
    files.write(Path(file), gzip.compress(("\n".join(lines) + "\n").encode(), mtime=0))
    return len(done)


def done_runs(store: Store, keys: Collection[str] | None = None) -> list[str]:
    """The keys of the runs that can go elsewhere: of these, or of all. There must be one."""
    done = [run["key"] for run in store.runs() if run["status"] == "done" and (keys is None or run["key"] in keys)]
    if not done:
        raise BadSetting(f"none of these runs in {store.folder} is done; 'engram runs' shows how they stand")
    return done


def import_runs(store: Store | str | os.PathLike[str], source: str | os.PathLike[str]) -> TakenIn:
    """Take in what is in such a file, or in another store. Runs that are done here already stay as they are."""
    rows = read_runs(source)
    with given(store, make=True) as place:
        return take_in(place, rows)


def read_runs(source: str | os.PathLike[str]) -> list[Parcelled]:
    """All rows of such a file, or of a store, checked."""
    if not os.path.exists(source):
        raise BadSetting(f"there is no '{source}' to import; 'engram export --runs FILE' makes such a file")
    rows = _of_store(source) if os.path.isdir(source) else _read(Path(source))
    try:
        checked = [_checked(*row) for row in rows]
        _require_whole(checked)
    except DamagedFile as error:
        raise BadSetting(f"'{source}' is damaged ({error}); nothing of it was taken in, get it again") from error
    return checked


def take_in(store: Store, rows: Iterable[Parcelled]) -> TakenIn:
    """Add rows, all of them or none; what was measured or is done here stays as it is."""
    added, known = dict.fromkeys(SHAPES, 0), 0
    with store.all_or_nothing():
        for row in rows:
            if _is_news(store.tables[row.table], row.values):
                _add(store, row)
                added[row.table] += 1
            else:
                known += row.table == RUNS
    return TakenIn(added[RUNS], known, added[NODES], added[EXPERIMENTS])


def _packed(store: Store, keys: Collection[str]) -> Iterator[Packed]:
    """Of runs that are done everything that is known but checkpoints: first the nodes, then the runs, then the
    experiments that have no other runs."""
    runs = [run for run in store.runs() if run["key"] in keys]
    for run in runs:
        if not all(store.known(node) for node in _parts(run)):
            raise StoreTrouble(
                f"a part of run {run['key'][:10]} is missing in {store.folder} or damaged; give the command of the run "
                "there again, it trains that part again to the same bits"
            )
    nodes = dict.fromkeys(node for run in runs for node in _parts(run))
    experiments = [each["key"] for each in store.experiments() if _runs_of(each) <= {*keys}]
    for table, wanted in ((NODES, nodes), (RUNS, keys), (EXPERIMENTS, experiments)):
        yield from filter(None, map(store.tables[table].packed, wanted))


def _parts(run: Mapping[str, Any]) -> list[str]:
    """The nodes of a run that is done."""
    result = run["result"] or {}
    return [*result.get("path", ()), *result.get("grown", ())]


def _runs_of(experiment: Mapping[str, Any]) -> set[str]:
    return {run for row in experiment["rows"] for run in row["runs"]}


def _checked(table: object, raw: Any, sha256: object) -> Parcelled:
    """A row of a file, if a store wrote it."""
    shape = SHAPES.get(table) if isinstance(table, str) else None
    if shape and isinstance(raw, list) and isinstance(sha256, str):
        values = opened(shape, raw, sha256)
        if values is not None and KEY.fullmatch(values["key"] or ""):
            return Parcelled(shape.name, values, (raw, sha256))
    raise DamagedFile("a row in it is not what was written")


def _require_whole(rows: Sequence[Parcelled]) -> None:
    """Every run is done and has all its nodes with it, of which those of its path did not fail."""
    measured = {row.values["key"]: row.values["row"] is not None for row in rows if row.table == NODES}
    for run in (row.values for row in rows if row.table == RUNS):
        parts = _parts(run)
        whole = measured.keys() >= {*parts} and all(measured[node] for node in (run["result"] or {}).get("path", ()))
        if run["status"] != "done" or not parts or not whole:
            raise DamagedFile(f"a part of run {run['key'][:10]} is missing in it")


def _is_news(table: SealedTable, values: Values) -> bool:
    """Whether a row says more than what is known here. A node that was grown elsewhere does where it failed here, on
    another processor say: runs that are done with it show what was measured at it."""
    known = table.get(values["key"])
    if known is None:
        return True
    if table.shape.name == NODES:
        return known["row"] is None and (known["error"] is None or values["row"] is not None)
    return bool(known.get("status", "done") != "done")


def _add(store: Store, row: Parcelled) -> None:
    table = store.tables[row.table]
    if row.table == NODES:
        table.insert(*row.raw)
        return
    known = table.get(row.values["key"])
    table.put(**{**row.values, "number": known["number"] if known else store.next_number(row.table)})


def _of_store(folder: str | os.PathLike[str]) -> Iterator[Packed]:
    with closing(existing(folder)) as store:
        yield from _packed(store, [run["key"] for run in store.runs() if run["status"] == "done"])


def _read(path: Path) -> Iterator[Sequence[Any]]:
    """The rows of a file. That it is whole is known when it has been read to its end."""
    if not path.is_file():
        raise BadSetting(f"'{path}' is neither a file nor a store; 'engram export --runs FILE' makes such a file")
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
    if not isinstance(found, int) or found != formats.VERSION:
        raise BadSetting(
            f"'{path}' is of format {found!r}, and this Engram reads {formats.VERSION}; use the Engram that made it, "
            "or a newer"
        )
