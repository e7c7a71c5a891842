"""The store: facts about nodes and runs, kept through any crash. It never computes.

    store.db          SQLite: what was measured at every node, every run that was asked for and how it ended; every row
                      with a digest, see `sealed`
    checkpoints/      the state of nodes that may still be grown from
    partial/          where the learner stands inside the lesson that it is learning: two files in turn
    twins/            what plain training came to, for all learners that begin it alike, see `parts/twins.py`; and nodes
                      for streams that begin alike, see `cousins`
    locks/            one flock a node: a node is grown once, however many processes want it; a dead process holds none

A checkpoint of a finished run is a cache, because a node can always be grown again to the same bits; the store keeps
the newest ones up to `KEEP_BYTES`.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from engram import checkpoint, files, formats
from engram.core import Row, State
from engram.database import Database
from engram.errors import BadSetting, DamagedFile, EngramError, StoreTrouble, of_kind
from engram.record import row_to_json
from engram.sealed import SealedTable

KEEP_BYTES = 64_000_000
TWIN_BYTES = 4_000_000_000  # `independent` on five tasks with networks of 26 MB has 0.4 GB of them


class Store:
    """A folder. Any number of processes may use it at once. Whatever takes something out of it is called `delete_…`."""

    def __init__(self, folder: str | os.PathLike[str]):
        if not isinstance(folder, (str, os.PathLike)):
            raise BadSetting(f"store={folder!r} is not a folder; give its path")
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise StoreTrouble(f"the store {self.folder} cannot be made ({why}); choose another --store") from error
        self._database = Database(self.folder / "store.db")
        try:
            formats.prepare(self._database)
        except BaseException:
            self.close()
            raise
        shapes = (formats.NODES, formats.RUNS, formats.EXPERIMENTS)
        self._nodes, self._runs, self._experiments = (SealedTable(self._database, shape) for shape in shapes)

    # Nodes.

    def row(self, key: str) -> Row | None:
        """What was measured at a node, if it has been grown."""
        found = self._nodes.get(key)
        return found["row"] if found else None

    def known(self, key: str) -> Row | EngramError | None:
        """What was measured at a node, or why it can never be grown; None where it has not been grown."""
        found = self._nodes.get(key) or {"row": None, "error": None}
        return of_kind(found["kind"], found["error"]) if found["error"] is not None else found["row"]

    def failure(self, key: str) -> EngramError | None:
        """Why a node can never be grown: the same bits would fail the same way."""
        known = self.known(key)
        return known if isinstance(known, EngramError) else None

    def commit(self, key: str, spec: Any, row: Row, state: State, parent: str | None = None) -> None:
        """A node is grown: its checkpoint first, then the fact. `spec` is what made it of its parent, or of nothing."""
        files.write(self._checkpoint(key), *checkpoint.parts(state, key))
        with self._database.transaction():
            known = self._nodes.get(key) or {"row": None, "grown": 0}
            kept = row_to_json(known["row"] or row)
            self._nodes.put(key=key, parent=parent, spec=spec, row=kept, grown=known["grown"] + 1)
        self.delete_partial(key)

    def fail(self, key: str, spec: Any, error: EngramError, parent: str | None = None) -> None:
        """A node cannot be grown. What was measured there before, if anything, stays."""
        with self._database.transaction():
            if self.row(key) is None:
                self._nodes.put(key=key, parent=parent, spec=spec, **words(error), grown=1)
        self.delete_partial(key)

    def times_grown(self, key: str) -> int:
        found = self._nodes.get(key)
        return found["grown"] if found and found["row"] else 0

    def state(self, key: str) -> State | None:
        """A node's state, or None where it was deleted or is damaged: then the node is grown again."""
        return self._load(self._checkpoint(key), key)

    def has_state(self, key: str) -> bool:
        """Whether there is a checkpoint, be it damaged."""
        return self._checkpoint(key).exists()

    # Inside a lesson.

    def save_partial(self, key: str, state: State) -> None:
        """Remember a position; of the two files the older one is replaced, so that a good one is always there."""
        number = 1 + max((n for n, _ in self._partials(key)), default=0)
        target = self._partial(key, number % 2)
        files.write(target, *checkpoint.parts(State(state.tensors, {**state.plain, "number": number}), key))

    def partial(self, key: str) -> State | None:
        """The latest position that is undamaged."""
        return max(self._partials(key), default=(0, None), key=lambda numbered: numbered[0])[1]

    def delete_partial(self, key: str) -> None:
        for slot in (0, 1):
            path = self._partial(key, slot)
            path.unlink(missing_ok=True)
            files.temporary(path).unlink(missing_ok=True)

    def _partials(self, key: str) -> list[tuple[int, State]]:
        states = [self._load(self._partial(key, slot), key) for slot in (0, 1)]
        return [(state.plain["number"], state) for state in states if state is not None]

    # What several learners train alike.

    def twin(self, key: str) -> State | None:
        """What training came to that began like this; None where nobody knows, or it is damaged."""
        return self._load(self._twin(key), key, "it is trained again")

    def keep_twin(self, key: str, state: State) -> None:
        """It came to this. Whoever is first writes it."""
        with self.lock(f"twin-{key}"):
            if not self._twin(key).exists():
                files.write(self._twin(key), *checkpoint.parts(state, key))

    def delete_twins(self, keep_bytes: int = 0) -> int:
        """Delete the oldest of them until the others take no more. Bytes freed."""
        freed = 0
        for path in sorted((self.folder / "twins").glob("*"), key=_time, reverse=True):
            keep_bytes -= _size(path)
            if keep_bytes < 0:
                freed += _size(path)
                path.unlink(missing_ok=True)
        return freed

    # Runs.

    def add_run(self, key: str, spec: Mapping[str, Any]) -> None:
        """Note that a run was asked for; one that is done stays done, any other is pending again."""
        with self._database.transaction():
            known = self._runs.get(key)
            if known is None or known["status"] != "done":
                number = known["number"] if known else self.next_number("runs")
                self._runs.put(number=number, key=key, spec=spec, status="pending")
            elif not all(map(self._nodes.has, (known["result"] or {}).get("grown", ()))):
                warnings.warn(
                    f"a part of run {key[:10]} is missing in {self._database.path}, which was damaged; "
                    "it is trained again",
                    stacklevel=2,
                )

    def finish_run(self, key: str, status: str, result: Any = None, error: EngramError | None = None) -> None:
        """How a run ended; one that is done stays done, whatever happens to another process that wanted it too."""
        with self._database.transaction():
            known = self._runs.get(key)
            if known is not None and (known["status"] != "done" or status == "done"):
                self._runs.put(**{**known, "status": status, "result": result, **words(error)})

    def runs(self, prefix: str = "") -> list[dict[str, Any]]:
        """Every run in the order in which they were asked for; those whose entries are damaged are left out with a
        warning."""
        return [run for run in self._runs.all() if run["key"].startswith(prefix)]

    def delete_runs(self, keys: list[str]) -> None:
        for key in keys:
            self._runs.delete(key)

    def damaged_runs(self) -> int:
        """How many runs cannot be read."""
        return len(self._runs.damaged())

    def delete_damaged_runs(self) -> None:
        self._runs.delete_damaged()

    # Experiments.

    def add_experiment(self, key: str, text: str, by: str, rows: list[dict[str, Any]]) -> None:
        """Keep what was asked for, and which runs answer it; asked again it is kept as it is now."""
        with self._database.transaction():
            known = self._experiments.get(key)
            number = known["number"] if known else self.next_number("experiments")
            self._experiments.put(number=number, key=key, text=text, by=by, rows=rows)

    def experiments(self, prefix: str = "") -> list[dict[str, Any]]:
        """Every experiment in the order in which they were asked for."""
        return [each for each in self._experiments.all() if each["key"].startswith(prefix)]

    # What `parcel` takes elsewhere and brings here.

    @property
    def tables(self) -> dict[str, SealedTable]:
        """By their names: nodes, runs, experiments."""
        return {table.shape.name: table for table in (self._nodes, self._runs, self._experiments)}

    def all_or_nothing(self) -> contextlib.AbstractContextManager[None]:
        """What is written inside is there as a whole, or not at all."""
        return self._database.transaction()

    def next_number(self, table: str) -> int:
        """Of a run or an experiment that is new."""
        return int(self._read(f"SELECT COALESCE(MAX(rowid), 0) + 1 FROM {table}")[0][0])

    # Housekeeping.

    def delete_checkpoints(self, finished: set[str], wanted: list[str], keep_bytes: int = KEEP_BYTES) -> int:
        """Of the nodes of finished runs, keep the checkpoints of `wanted` ones, the first ones as far as `keep_bytes`
        go; delete the others. Bytes freed."""
        sizes = {path.stem: _size(path) for path in (self.folder / "checkpoints").glob("*.engram")}
        freed, first = 0, dict.fromkeys(key for key in wanted if key in sizes)
        for key in [*first, *(finished & sizes.keys() - first.keys())]:
            if key in first and sizes[key] <= keep_bytes:
                keep_bytes -= sizes[key]
            else:
                self._checkpoint(key).unlink(missing_ok=True)
                freed += sizes[key]
        left_over = {path.name.removeprefix(".writing-").split(".")[0] for path in (self.folder / "partial").glob("*")}
        for key in left_over & finished.union(wanted):  # by a process that was killed just after its commit
            self.delete_partial(key)
        return freed

    def delete_all_but(self, nodes: set[str], checkpoints: set[str]) -> int:
        """Delete every node but these, every checkpoint but these and every position inside a lesson. Bytes freed.
        Only for a store in which every run is done."""
        for (key,) in self._read("SELECT key FROM nodes"):
            if key not in nodes:
                self._nodes.delete(key)
        keep = {self._checkpoint(key) for key in checkpoints}
        gone = [p for name in ("checkpoints", "partial") for p in (self.folder / name).glob("*") if p not in keep]
        freed = sum(map(_size, gone))
        for path in gone:
            path.unlink(missing_ok=True)
        return freed

    def checkpoint_bytes(self) -> int:
        return sum(_size(path) for path in (self.folder / "checkpoints").glob("*"))

    def size_bytes(self) -> int:
        return sum(_size(path) for path in self.folder.rglob("*") if path.is_file())

    @contextlib.contextmanager
    def lock(self, key: str, while_waiting: Callable[[], object] = lambda: None) -> Iterator[None]:
        """Hold the right to grow a node. It is given back by the kernel if this process dies. `while_waiting` is called
        now and then while another process has it, and may raise."""
        with files.locked(self.folder / "locks" / key, while_waiting):
            yield

    # SQLite and files.

    def _checkpoint(self, key: str) -> Path:
        return self.folder / "checkpoints" / f"{key}.engram"

    def _partial(self, key: str, slot: int) -> Path:
        return self.folder / "partial" / f"{key}.{slot}.engram"

    def _twin(self, key: str) -> Path:
        return self.folder / "twins" / f"{key}.engram"

    def _load(self, path: Path, key: str, cure: str = "going on from the last good one") -> State | None:
        try:
            return checkpoint.read(path, key)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreTrouble(f"{path} cannot be read ({error.strerror or error}); check the folder") from error
        except DamagedFile as error:
            warnings.warn(f"{error}; {cure}", stacklevel=2)
            path.unlink(missing_ok=True)
            return None

    def _read(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        return self._database.read(query, *values)

    def close(self) -> None:
        self._database.close()


def existing(folder: str | os.PathLike[str]) -> Store:
    """The store that is there already: whoever only looks makes none."""
    if not os.path.exists(os.path.join(folder, "store.db")):
        raise BadSetting(
            f"there is no store in '{os.fspath(folder)}'; name one with --store, or make one with 'engram run'"
        )
    return Store(folder)


@contextlib.contextmanager
def given(store: Store | str | os.PathLike[str], make: bool = False) -> Iterator[Store]:
    """A store, or the one in a folder, which is closed afterwards; one that is not there is refused, or made."""
    place = store if isinstance(store, Store) else Store(store) if make else existing(store)
    try:
        yield place
    finally:
        if place is not store:
            place.close()


def _size(path: Path) -> int:
    """Bytes of a file, 0 where another process has removed it."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _time(path: Path) -> float:
    """When a file was written, 0 where another process has removed it."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def words(error: EngramError | None) -> dict[str, str | None]:
    """An error as it is written down."""
    return {"error": None, "kind": None} if error is None else {"error": str(error), "kind": type(error).__name__}
