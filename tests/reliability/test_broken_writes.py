"""A write that is killed or runs out of room, at every point: the old or the new content is there, whole."""

from __future__ import annotations

import errno
import gzip
import os
import resource
import signal
from pathlib import Path

import pytest
import torch
from forking import Ticks, facts, run_child, watched

from engram import checkpoint, files
from engram.core import Cost, Row, State
from engram.database import Database
from engram.errors import StoreTrouble
from engram.execute import execute
from engram.request import prepare
from engram.store import Store

ASSETS = Path(__file__).parents[1] / "assets"
OLD, NEW = (State({"w": torch.full((5000,), value)}, {"which": value}) for value in (1.0, 2.0))
ROW = Row((1.0,), (1.0,), {"multi": {"0": 1.0}}, {}, {}, Cost({"total": 1}, 1, 0.0), "aa")
SIZE = len(checkpoint.encode(NEW, "n"))


def small_run():
    return prepare("split-digits", "ewc", settings={"widths": "12-10", "batch": 96, "fisher_samples": 50})


@pytest.mark.parametrize("moment", range(1, 7))
def test_killed_at_each_system_call_of_a_write(moment, tmp_path):
    """fsync of the file, rename, fsync of the folder: before and after each."""
    path = tmp_path / "n.engram"
    files.write(path, checkpoint.encode(OLD, "n"))

    def write():
        ticks = Ticks(("write", moment))
        os.fsync, os.replace = ticks.around("write", os.fsync), ticks.around("write", os.replace)
        files.write(path, checkpoint.encode(NEW, "n"))

    assert run_child(write) == -signal.SIGKILL
    assert checkpoint.read(path, "n").plain["which"] == (1.0 if moment <= 3 else 2.0)
    files.write(path, checkpoint.encode(NEW, "n"))
    assert checkpoint.read(path, "n").plain["which"] == 2.0
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("limit", [0, 1, 84, 85, 86, 4096, SIZE // 2, SIZE - 1])
def test_killed_by_the_kernel_in_the_middle_of_a_write(limit, tmp_path):
    path = tmp_path / "n.engram"
    files.write(path, checkpoint.encode(OLD, "n"))

    def write():
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        files.write(path, checkpoint.encode(NEW, "n"))

    assert run_child(write) == -signal.SIGXFSZ
    assert checkpoint.read(path, "n").plain["which"] == 1.0


@pytest.mark.parametrize("moment", range(1, 16))
def test_a_position_killed_at_each_point_leaves_a_good_one(moment, tmp_path):
    """Two files in turn: whatever happens to the newer, one of the last two positions loads without a warning."""

    def save():
        ticks = Ticks(("write", moment))
        os.fsync, os.replace = ticks.around("write", os.fsync), ticks.around("write", os.replace)
        store = Store(tmp_path)
        for step in (1, 2, 3):
            store.save_partial("n", State(NEW.tensors, {"step": step}))

    assert run_child(save) == -signal.SIGKILL
    store, finished = Store(tmp_path), (moment + 2) // 6
    found = store.partial("n")
    assert (0 if found is None else found.plain["step"]) == finished
    store.close()


@pytest.mark.parametrize("number", range(1, 11))
def test_a_disk_that_fills_up_stops_with_a_sentence_and_room_lets_it_go_on(number, tmp_path, monkeypatch):
    run = small_run()
    watched(run, tmp_path / "whole", Ticks())
    calls = 0

    def full(descriptor):
        nonlocal calls
        calls += 1
        if calls >= number:
            raise OSError(errno.ENOSPC, "No space left on device")

    store = Store(tmp_path / "full")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreTrouble, match=r"disk is full: .+/full/.+\.engram needs \d+ bytes; free some space"):
            execute([run], store)
    assert store.runs()[0]["status"] == "pending"
    store.close()
    watched(run, tmp_path / "full", Ticks())
    assert facts(run, tmp_path / "full") == facts(run, tmp_path / "whole")


@pytest.mark.parametrize("limit", [30_000, 60_000])
def test_a_database_that_cannot_grow_keeps_what_it_has(limit, tmp_path):
    """A real limit of the kernel on the size of files, hit inside SQLite."""

    def fill():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        store, number = Store(tmp_path), 0
        try:
            while number < 1000:
                store.add_run(f"{number}", {"filler": "x" * 500})
                number += 1
        except StoreTrouble as error:
            message = str(error)
        assert str(tmp_path) in message
        assert len(store.runs()) == number > 5
        (tmp_path / "count").write_text(str(number))

    assert run_child(fill) == 0
    store, count = Store(tmp_path), int((tmp_path / "count").read_text())
    assert [run["key"] for run in store.runs()] == [str(number) for number in range(count)]
    assert store._read("PRAGMA integrity_check") == [("ok",)]
    store.add_run("more", {})
    assert len(store.runs()) == count + 1
    store.close()


def test_a_full_database_is_named_with_path_and_bytes(tmp_path):
    store = Store(tmp_path)
    store._database.write("PRAGMA max_page_count = 20")
    with pytest.raises(StoreTrouble, match=f"the disk is full: {tmp_path}/store.db needs 1000\\d\\d bytes"):
        store.add_run("n", {"filler": "x" * 100_000})
    assert store.runs() == []
    store.close()


@pytest.mark.parametrize("moment", [4, 5, 12, 20, 28, 34])
def test_a_migration_that_is_killed_has_not_begun(moment, tmp_path):
    path = tmp_path / "store.db"
    path.write_bytes(gzip.decompress((ASSETS / "store-format-1.db.gz").read_bytes()))

    def migrate():
        ticks = Ticks(("commit", moment))
        Database.write = ticks.around("commit", Database.write)
        Store(tmp_path)

    assert run_child(migrate) == -signal.SIGKILL
    database = Database(path)
    assert database.read("PRAGMA user_version") == [(1,)]
    database.close()
    store = Store(tmp_path)
    assert [run["status"] for run in store.runs()] == ["done", "done", "failed"]
    store.close()
