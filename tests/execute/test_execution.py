"""Runs that are executed together share what they share, fail alone and choose by validation data only."""

from __future__ import annotations

import numpy as np
import pytest

from engram import execute as execution
from engram.api import register
from engram.errors import Stopped
from engram.execute import Silence, clean_up, default_jobs, execute, tidy
from engram.learners.finetune import Finetune
from engram.request import prepare
from engram.runs import record_of
from engram.store import Store
from engram.streams import from_arrays

SMALL = {"widths": "12-10", "batch": 96}


def small(learner="finetune", seed=0, **more):
    settings = {**SMALL, **more.pop("settings", {})}
    return prepare("split-digits", learner, seed=seed, settings=settings, **more)


def rows(store):
    return [key for (key,) in store._read("SELECT key FROM nodes WHERE row IS NOT NULL")]


def measured(store, run):
    record = record_of(store.runs(run.key)[0], store)
    return record.parameters_sha256, record.accuracy, record.flops, record.per_class


def test_a_strength_sweep_shares_the_first_task(store):
    runs = [small("ewc", settings={"strength": value}) for value in (1, 10, 100)]
    execute(runs, store)
    assert len(rows(store)) == 1 + 3 * 4
    assert {store.times_grown(key) for key in rows(store)} == {1}


def test_the_same_run_given_twice_is_done_once(store):
    execute([small(), small()], store)
    assert len(store.runs()) == 1
    assert {store.times_grown(key) for key in rows(store)} == {1}


def test_a_pool_gives_the_same_bits_as_this_process(store, tmp_path):
    runs = [small(seed=1), small("si", seed=2)]
    execute(runs, store)
    pooled = Store(tmp_path / "pooled")
    execute(list(reversed(runs)), pooled, jobs=2)
    for run in runs:
        assert measured(pooled, run) == measured(store, run)
    checkpoints = [{p.name: p.read_bytes() for p in (s.folder / "checkpoints").iterdir()} for s in (store, pooled)]
    assert checkpoints[0] == checkpoints[1]
    assert len(checkpoints[0]) == 4  # first tasks and ends
    pooled.close()


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failed_run_is_shown_as_failed_and_the_others_go_on(jobs, store):
    execute([small(settings={"rate": 1e30}), small(seed=1)], store, jobs=jobs)
    failed, fine = store.runs()
    assert (failed["status"], fine["status"]) == ("failed", "done")
    assert "task 1 (digits 0-1)" in failed["error"]


def test_a_bug_in_one_learner_costs_its_run_only_and_is_shown(store):
    class Broken(Finetune):
        name = "broken"

        def after_step(self):
            raise ZeroDivisionError("a bug")

    register(Broken)
    with pytest.raises(ZeroDivisionError):
        execute([small("broken"), small()], store)
    assert [(run["status"], run["error"]) for run in store.runs()] == [
        ("failed", "ZeroDivisionError: a bug"),
        ("done", None),
    ]


def test_a_registered_learner_runs_although_workers_do_not_know_it(store, monkeypatch):
    class Mine(Finetune):
        name = "mine"

    register(Mine)
    monkeypatch.setattr(execution, "Processes", lambda *_: pytest.fail("a worker cannot know this learner"))
    with pytest.warns(UserWarning, match="the learner of mine on split-digits@1 are in this process only"):
        execute([small("mine")], store, jobs=2)
    assert store.runs()[0]["status"] == "done"


def test_somebody_who_stops_finds_the_run_pending_and_can_go_on(store, tmp_path):
    class Impatient(Silence):
        steps = 0

        def check(self):
            self.steps += 1
            if self.steps > 7:
                raise Stopped

    with pytest.raises(Stopped):
        execute([small()], store, progress=Impatient())
    assert store.runs()[0]["status"] == "pending"
    execute([small()], store)
    whole = Store(tmp_path / "whole")
    execute([small()], whole)
    assert measured(store, small()) == measured(whole, small())
    whole.close()


def selection(test_labels_seed, protocol):
    """A run that selects on two tasks of separable classes, with test labels permuted by a seed (None: right)."""
    draw = np.random.default_rng(0)
    centres = draw.normal(size=(4, 6)) * 2
    tasks = []
    for classes in ([0, 1], [2, 3]):
        arrays = []
        for count in (40, 20):
            y = np.repeat(classes, count)
            arrays += [centres[y] + draw.normal(size=(len(y), 6)), y]
        if test_labels_seed is not None:
            arrays[3] = np.random.default_rng(test_labels_seed).permutation(arrays[3])
        tasks.append(arrays)
    grid = {"rate": [1e-5, 1e-2, 0.1], "strength": [0, 1e3], "batch": 16, "widths": "12-10"}
    return prepare(from_arrays(tasks), "ewc", protocol=protocol, settings=grid)


@pytest.mark.parametrize("protocol", ["task-level", "stream-level"])
def test_permuted_test_labels_change_no_choice(protocol, tmp_path):
    chosen, accuracy = [], []
    for number, seed in enumerate((None, 1, 2)):
        store, run = Store(tmp_path / str(number)), selection(seed, protocol)
        execute([run], store)
        record = record_of(store.runs()[0], store)
        chosen.append([record.chosen, record.parameters_sha256])
        accuracy.append(record.accuracy)
        store.close()
    assert chosen[0] == chosen[1] == chosen[2]
    assert accuracy[0] != accuracy[1]
    assert chosen[0][0][0]["rate"] != 1e-5


def test_task_level_keeps_the_best_validation_accuracy_on_the_current_task(store):
    run = selection(None, "task-level")
    execute([run], store)
    result = store.runs()[0]["result"]
    parent = run.root
    for task, chosen in enumerate(result["chosen"]):
        children = [parent.child([task], settings) for settings in run.grid]
        values = [store.row(child.key).validation["single"][-1] for child in children]
        kept = children[values.index(max(values))]
        assert dict(kept.last.settings) == chosen
        assert kept.key == result["path"][task]
        parent = kept


def test_stream_level_keeps_the_best_mean_validation_accuracy_at_the_end(store):
    run = selection(None, "stream-level")
    execute([run], store)
    result = store.runs()[0]["result"]
    ends = [run.root.child([0], settings).child([1], settings) for settings in run.grid]
    means = [sum(store.row(end.key).validation["single"]) / 2 for end in ends]
    assert result["path"][-1] == ends[means.index(max(means))].key


def test_interior_checkpoints_go_when_a_run_is_done(store):
    execute([small()], store)
    path = store.runs()[0]["result"]["path"]
    assert [store.state(key) is not None for key in path] == [True, False, False, False, True]
    assert all(store.row(key) for key in path)


def test_twenty_finished_runs_take_little_room(store):
    execute([small("ewc", seed=seed) for seed in range(20)], store)
    assert store.size_bytes() < 20e6
    assert len(list((store.folder / "checkpoints").iterdir())) == 2 * 20


def test_a_later_sweep_of_the_strength_does_not_learn_the_first_task_again(store):
    for strength in (1, 10):
        execute([small("ewc", settings={"strength": strength})], store)
    first, second = (run["result"]["path"] for run in store.runs())
    assert first[0] == second[0]
    assert first[1] != second[1]
    assert store.times_grown(first[0]) == 1


def test_old_final_checkpoints_go_first_where_room_is_short(store, monkeypatch):
    runs = [small(seed=seed) for seed in range(4)]
    execute(runs, store)
    largest = max(p.stat().st_size for p in (store.folder / "checkpoints").iterdir())
    delete_checkpoints = Store.delete_checkpoints
    monkeypatch.setattr(
        Store, "delete_checkpoints", lambda self, *given: delete_checkpoints(self, *given, keep_bytes=2 * largest)
    )
    assert tidy(store) > 0
    assert len(list((store.folder / "checkpoints").iterdir())) == 2
    finals = [run["result"]["path"][-1] for run in store.runs()]
    assert [store.state(key) is not None for key in finals] == [False, False, True, True]


def test_a_run_whose_checkpoints_are_gone_is_still_done(store):
    execute([small()], store)
    before = measured(store, small())
    for path in (store.folder / "checkpoints").iterdir():
        path.unlink()
    execute([small()], store)
    assert measured(store, small()) == before


def test_clean_up_leaves_the_facts(store):
    execute([small(), small(settings={"rate": 1e30})], store)
    before = measured(store, small())
    clean_up(store, delete_failed=True)
    assert [run["status"] for run in store.runs()] == ["done"]
    assert measured(store, small()) == before


def test_there_is_at_least_one_job():
    assert default_jobs() >= 1
