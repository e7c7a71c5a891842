"""The store keeps facts, positions and checkpoints, and tells what it cannot do."""

from __future__ import annotations

import os
import sqlite3

import pytest
import torch

from engram.core import Cost, Curve, Row, State
from engram.errors import BadData, StoreTrouble
from engram.formats import VERSION
from engram.store import Store

STATE = State({"w": torch.arange(4.0)}, {"step": 1})


def make_row(sha: str = "aa") -> Row:
    return Row(
        (0.5,),
        (0.75,),
        {"single": {"0": 0.5}},
        {"single": (0.1,)},
        {"single": Curve((0, 2), (0.1, 0.2))},
        Cost({"total": 3}, 7, 0.5),
        sha,
    )


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "a store ünïcode")
    yield store
    store.close()


def test_a_committed_node_is_there_for_another_reader(store):
    store.commit("n", {"s": 1}, make_row(), STATE)
    other = Store(store.folder)
    assert other.row("n") == make_row()
    assert torch.equal(other.state("n").tensors["w"], STATE.tensors["w"])
    assert other.times_grown("n") == 1
    other.close()


def test_what_is_not_there_is_none(store):
    assert store.row("n") is None
    assert store.failure("n") is None
    assert store.state("n") is None
    assert store.partial("n") is None
    assert store.times_grown("n") == 0


def test_growing_again_keeps_the_first_row_and_counts(store):
    store.commit("n", {}, make_row("aa"), STATE)
    store.commit("n", {}, make_row("bb"), STATE)
    assert store.row("n").parameters_sha256 == "aa"
    assert store.times_grown("n") == 2


def test_a_failure_is_remembered_and_takes_nothing_away(store):
    store.fail("bad", {}, BadData("it diverged"))
    assert repr(store.failure("bad")) == "BadData('it diverged')"
    store.commit("good", {}, make_row(), STATE)
    store.fail("good", {}, BadData("later trouble"))
    assert store.row("good") == make_row()
    assert store.failure("good") is None


def test_of_the_positions_the_latest_undamaged_one_is_used(store):
    for step in (1, 2, 3):
        store.save_partial("n", State(STATE.tensors, {"step": step}))
    assert store.partial("n").plain["step"] == 3
    newest = max((store.folder / "partial").iterdir(), key=lambda path: store._load(path, "n").plain["number"])
    newest.write_bytes(newest.read_bytes()[:-1])
    with pytest.warns(UserWarning, match="is damaged .* going on from the last good one"):
        assert store.partial("n").plain["step"] == 2
    store.save_partial("n", State(STATE.tensors, {"step": 4}))
    assert store.partial("n").plain["step"] == 4


def test_a_commit_drops_the_position(store):
    store.save_partial("n", STATE)
    store.commit("n", {}, make_row(), STATE)
    assert not list((store.folder / "partial").iterdir())


def test_runs_come_in_order_and_a_done_one_stays_done(store):
    for key in ("b", "a"):
        store.add_run(key, {"key": key})
    store.finish_run("b", "done", {"path": []})
    store.finish_run("b", "failed", error=BadData("another process had bad luck"))
    store.add_run("b", {})
    assert [(r["key"], r["status"], r["error"]) for r in store.runs()] == [("b", "done", None), ("a", "pending", None)]
    assert [r["key"] for r in store.runs("a")] == ["a"]


def test_a_failed_run_that_is_asked_for_again_is_pending(store):
    store.add_run("a", {})
    store.finish_run("a", "failed", error=BadData("why"))
    assert store.runs()[0]["error"] == "why"
    store.add_run("a", {})
    assert store.runs()[0]["status"] == "pending"


def test_prune_keeps_the_first_wanted_ones_that_fit(store):
    for key in ("a", "b", "c", "d"):
        store.commit(key, {}, make_row(), STATE)
    size = (store.folder / "checkpoints" / "a.engram").stat().st_size
    store.save_partial("d", STATE)
    freed = store.delete_checkpoints({"a", "b", "c", "d"}, ["c", "c", "a", "b"], keep_bytes=2 * size)
    assert freed == 2 * size
    assert sorted(p.stem for p in (store.folder / "checkpoints").iterdir()) == ["a", "c"]
    assert not list((store.folder / "partial").iterdir())
    assert all(store.row(key) for key in "abcd")


def test_a_lock_is_held_by_one_and_given_back(store):
    class Tired(Exception):
        pass

    def tire():
        raise Tired

    with store.lock("n"), pytest.raises(Tired), store.lock("n", while_waiting=tire):
        pytest.fail("two hold the lock")
    with store.lock("n"):
        assert os.listdir(store.folder / "locks") == ["n"]
    assert os.listdir(store.folder / "locks") == []


def test_a_newer_format_is_refused_and_untouched(store):
    with sqlite3.connect(store.folder / "store.db") as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()
    with pytest.raises(StoreTrouble, match=f"newer Engram \\(format {VERSION + 1}\\); upgrade"):
        Store(store.folder)


def test_a_file_in_the_way_is_named(tmp_path):
    (tmp_path / "store").write_text("")
    with pytest.raises(StoreTrouble, match="store cannot be made .*choose another --store"):
        Store(tmp_path / "store")


def test_a_database_that_is_none_is_named(tmp_path):
    (tmp_path / "store.db").write_bytes(b"not a database, but long enough to be looked at" * 30)
    with pytest.raises(StoreTrouble, match=r"store.db is damaged \(file is not a database\); put a copy"):
        Store(tmp_path)


def test_a_folder_where_a_checkpoint_should_be_is_named(store):
    (store.folder / "checkpoints" / "n.engram").mkdir(parents=True)
    with pytest.raises(StoreTrouble, match="n.engram cannot be read"):
        store.state("n")


@pytest.mark.parametrize("slots", [(0,), (0, 1)])
def test_pipes_in_the_place_of_positions_are_passed_over(slots, store):
    for step in (1, 2):
        store.save_partial("n", State(STATE.tensors, {"step": step}))
    for slot in slots:
        store._partial("n", slot).unlink()
        os.mkfifo(store._partial("n", slot))
    with pytest.warns(UserWarning, match="is not a regular file; it was not used; going on from the last good one"):
        found = store.partial("n")
    assert (found and found.plain["step"]) == (1 if slots == (0,) else None)
    store.save_partial("n", STATE)
    assert store.partial("n") is not None
