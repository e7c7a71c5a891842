"""Which checkpoints stay: a node can be grown again to the same bits, so its checkpoint is a cache."""

from __future__ import annotations

from collections.abc import Sequence, Set

from engram.execute.walk import Walk
from engram.store import KEEP_BYTES, TWIN_BYTES, Store


def settle(walk: Walk, walks: Sequence[Walk], store: Store) -> None:
    """Write down how a run ended, and make room if many checkpoints have come together while others go on."""
    walk.note(store)
    if store.checkpoint_bytes() > 4 * KEEP_BYTES:
        tidy(store, {key for other in walks if not other.over for key in other.asked})


def tidy(store: Store, needed: Set[str] = frozenset()) -> int:
    """Delete the checkpoints that finished runs no longer need: all but the newest final ones and, as far as there is
    room, those of first tasks, which a sweep of the penalty's strength shares. `needed` ones stay in any case. Bytes
    freed."""
    results = [entry["result"] for entry in reversed(store.runs()) if entry["status"] == "done" and entry["result"]]
    grown = {key for result in results for key in result["grown"]} - needed
    paths = [result["path"] for result in results if result["path"]]
    beginnings = [key for result in results for key in result.get("beginnings", ())]
    wanted = dict.fromkeys([path[-1] for path in paths] + [path[0] for path in paths] + beginnings)
    freed = store.delete_checkpoints(grown, [key for key in wanted if key not in needed])
    return freed + store.delete_twins(TWIN_BYTES)


def clean_up(store: Store, delete_failed: bool = False) -> dict[str, int]:
    """Delete what no run needs: see `tidy`; and positions and nodes of no run that is done or will go on."""
    if delete_failed:
        store.delete_runs([entry["key"] for entry in store.runs() if entry["status"] == "failed"])
        store.delete_damaged_runs()
    entries = store.runs()
    freed = tidy(store)
    if all(entry["status"] == "done" for entry in entries) and not store.damaged_runs():
        held = {key for entry in entries for key in entry["result"]["grown"]}
        freed += store.delete_all_but(held, {entry["result"]["path"][-1] for entry in entries})
        freed += store.delete_twins()
    return {"freed_bytes": freed, "store_bytes": store.size_bytes()}
