"""Many processes on one store: nothing is lost, nothing is done twice, the dead hold nobody up."""

from __future__ import annotations

import os
import random
import signal
import time

import pytest
import torch
from forking import Ticks, ending, facts, fork, run_child, watched

from engram.core import Cost, Row, State
from engram.execute import Silence, execute
from engram.execute.walk import Walk
from engram.request import prepare
from engram.store import Store

ROW = Row((1.0,), (1.0,), {"multi": {"0": 1.0}}, {}, {}, Cost({"total": 1}, 1, 0.0), "aa")
STATE = State({"w": torch.zeros(10)}, {})


def small_run(learner="finetune", **more):
    return prepare("split-digits", learner, settings={"widths": "12-10", "batch": 96}, **more)


def test_sixteen_writers_lose_nothing(tmp_path):
    def write(number):
        store = Store(tmp_path)
        for k in range(50):
            store.add_run(f"{number}-{k}", {"number": number})
            if k % 10 == 0:
                store.commit(f"node-{number}-{k}", {}, ROW, STATE)

    children = [fork(lambda number=number: write(number)) for number in range(16)]
    assert [ending(child) for child in children] == [0] * 16
    store = Store(tmp_path)
    assert sorted(run["key"] for run in store.runs()) == sorted(f"{n}-{k}" for n in range(16) for k in range(50))
    assert [run["number"] for run in store.runs()] == list(range(1, 801))
    assert all(store.times_grown(f"node-{n}-{k}") == 1 for n in range(16) for k in range(0, 50, 10))
    assert store._read("PRAGMA integrity_check") == [("ok",)]
    store.close()


def test_a_new_store_may_be_opened_by_all_at_once(tmp_path):
    children = [fork(lambda: Store(tmp_path / "new").add_run(str(os.getpid()), {})) for _ in range(8)]
    assert [ending(child) for child in children] == [0] * 8
    store = Store(tmp_path / "new")
    assert len(store.runs()) == 8
    store.close()


def test_the_same_run_asked_for_by_four_is_done_once(tmp_path):
    run = small_run("si")
    children = [fork(lambda: watched(run, tmp_path / "shared", Ticks())) for _ in range(4)]
    assert [ending(child) for child in children] == [0] * 4
    watched(run, tmp_path / "alone", Ticks())
    assert facts(run, tmp_path / "shared") == facts(run, tmp_path / "alone")
    store = Store(tmp_path / "shared")
    assert [store.times_grown(key) for key in store.runs()[0]["result"]["path"]] == [1] * 5
    assert not list((tmp_path / "shared" / "locks").iterdir())
    store.close()


def test_one_of_several_that_is_killed_does_not_hold_up_the_others(tmp_path):
    run = small_run("ewc")
    doomed = fork(lambda: watched(run, tmp_path / "shared", Ticks(("learn", 9))))
    others = [fork(lambda: watched(run, tmp_path / "shared", Ticks())) for _ in range(2)]
    assert ending(doomed) in (-signal.SIGKILL, 0)
    assert [ending(child) for child in others] == [0, 0]
    watched(run, tmp_path / "alone", Ticks())
    assert facts(run, tmp_path / "shared") == facts(run, tmp_path / "alone")


def hold(store, key, at_most_seconds):
    """Lock a node, say so with a file, and let it go when that is gone."""
    with store.lock(key):
        (held := store.folder / "held").touch()
        stop = time.monotonic() + at_most_seconds
        while held.exists() and time.monotonic() < stop:
            time.sleep(0.01)


class Released(Silence):
    """Notes what is grown; after so many nodes the one that is held is let go."""

    def __init__(self, held, after):
        self.held, self.after, self.keys = held, after, []

    def grown(self, key):
        self.keys.append(key)
        if len(self.keys) == self.after:
            self.held.unlink()


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_another_process_is_growing_holds_up_nothing_else(jobs, tmp_path):
    runs = [small_run(seed=seed, tasks=2) for seed in (0, 1)]
    first = Walk(runs[0]).waiting_for[0].key
    other = fork(lambda: hold(Store(tmp_path), first, at_most_seconds=20))
    held = tmp_path / "held"
    while not held.exists():
        time.sleep(0.01)
    store, progress = Store(tmp_path), Released(held, after=2)
    execute(runs, store, jobs, progress)
    one, two = (entry["result"]["path"] for entry in store.runs())
    assert progress.keys == two + one
    assert ending(other) == 0
    store.close()


def test_two_writers_of_different_runs_share_what_they_share(tmp_path):
    runs = [
        small_run("ewc", seed=0),
        prepare("split-digits", "ewc", settings={"widths": "12-10", "batch": 96, "strength": 7}),
    ]
    children = [fork(lambda run=run: watched(run, tmp_path / "shared", Ticks())) for run in runs]
    assert [ending(child) for child in children] == [0, 0]
    for number, run in enumerate(runs):
        watched(run, tmp_path / str(number), Ticks())
        assert facts(run, tmp_path / "shared") == facts(run, tmp_path / str(number))


def test_a_commit_that_was_acknowledged_survives_the_kill(tmp_path):
    """20 kills in a loop of commits, some time after the first: every key that was told to the pipe is in the store."""
    chance, told, killed = random.Random(3), set(), 0
    for life in range(20):
        reader, writer = os.pipe()

        def commit(life=life, writer=writer):
            store, k = Store(tmp_path), 0
            while True:
                store.commit(f"{life}-{k}", {}, ROW, STATE)
                os.write(writer, f"{life}-{k}\n".encode())
                k += 1

        child = fork(commit)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            told.add(pipe.readline().strip())
            time.sleep(chance.uniform(0, 0.1))
            os.kill(child, signal.SIGKILL)
            killed += ending(child) == -signal.SIGKILL
            told |= set(pipe.read().split())
    store = Store(tmp_path)
    assert killed == 20
    assert {key.split("-")[0] for key in told} == {str(life) for life in range(20)}
    assert all(store.row(key) == ROW and store.state(key) is not None for key in told)
    assert store._read("PRAGMA integrity_check") == [("ok",)]
    store.close()


def test_a_process_that_reads_while_others_prune_sees_no_error(tmp_path):
    def work(seed):
        store = Store(tmp_path)
        execute([small_run(seed=seed)], store)
        store.size_bytes()

    children = [fork(lambda seed=seed: work(seed)) for seed in (0, 0, 1, 2)]
    assert [ending(child) for child in children] == [0] * 4
    assert run_child(lambda: work(0)) == 0
