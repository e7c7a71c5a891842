"""What is going to be trained, counted before it is; and the same numbers afterwards."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
import torch
from quick import quick

from engram import estimate as estimating
from engram.api import register
from engram.errors import BadSetting, Diverged
from engram.estimate import Asked, Pace, estimate
from engram.execute import execute
from engram.learners import learner_settings, learners
from engram.learners.finetune import Finetune
from engram.plan import plan
from engram.request import prepare
from engram.store import Store
from engram.streams import from_arrays

SMALL = {"widths": "12-10", "batch": 96}


def small(learner="finetune", seed=0, **more):
    settings = {**SMALL, **more.pop("settings", {})}
    return prepare("split-digits", learner, seed=seed, settings=settings, **more)


def two_tasks(protocol, **more):
    """2 topologies × 2 first rates; by default 3 second rates."""
    settings = {"widths": ["12-12", "8-8"], "rate": [0.01, 0.001], "iterations": 30, "every": 10, **more}
    return prepare("d5-5a", "finetune", dataset="digits", protocol=protocol, settings=settings)


def counts(found):
    return found.nodes, found.distinct, found.known, found.to_train


def nodes_in(store):
    return len(store._read("SELECT key FROM nodes"))


def test_one_path_is_a_node_a_task():
    found = plan([small()])
    assert counts(found) == (5, 5, 0, 5)
    assert (found.runs, found.shared, found.jobs, found.kinds) == (1, 0, 1, 2)
    assert 0 < found.seconds < math.inf


def test_a_strength_sweep_shares_the_first_task():
    assert counts(plan([small("ewc", settings={"strength": value}) for value in (1, 10, 100)])) == (15, 13, 0, 13)


def test_the_same_run_given_twice_is_trained_once():
    assert counts(plan([small(), small()])) == (10, 5, 0, 5)


@pytest.mark.parametrize("protocol", ["task-level", "stream-level"])
def test_a_grid_is_a_node_for_every_setting_and_task(protocol, store):
    runs = [small(protocol=protocol, tasks=2, settings={"rate": [0.01, 0.001, 0.0001]})]
    assert counts(plan(runs)) == (6, 6, 0, 6)
    execute(runs, store)
    assert nodes_in(store) == 6


def test_offline_models_are_planned_and_shared(store, brief_offline):
    runs = [small(learner, tasks=2, offline="seen") for learner in ("finetune", "ewc")]
    # Each asks for its path, four candidates on the first task and one model of both tasks.
    assert counts(plan(runs)) == (14, 4 + 5, 0, 4 + 5)
    execute(runs, store)
    assert nodes_in(store) == 9


def test_nodes_that_one_run_asks_for_twice_are_told_once(store):
    runs = [small("ewc", protocol="stream-level", tasks=2, settings={"strength": [1, 10, 100]})]
    assert counts(plan(runs)) == (6, 4, 0, 4)
    execute(runs, store)
    assert nodes_in(store) == 4


def test_prescient_is_every_network_and_rate():
    assert counts(plan([two_tasks("prescient")])) == (16, 16, 0, 16)


@pytest.mark.parametrize("protocol", ["realistic", "prescient"])
@pytest.mark.parametrize("start", ["last", "best"])
@pytest.mark.parametrize("more", [{}, {"iterations": 0, "epochs": 2}])
def test_two_tasks_ask_for_as_many_nodes_as_they_say(protocol, start, more):
    run = two_tasks(protocol, start=start, **more)
    assert plan([run]).nodes == run.size()


def test_realistic_beside_prescient_asks_for_nothing_new(store):
    runs = [two_tasks("realistic"), two_tasks("prescient"), two_tasks("realistic", strict=True)]
    assert counts(plan(runs)) == (7 + 16 + 7, 16, 0, 16)
    execute([runs[1]], store)
    assert counts(plan(runs, store)) == (30, 16, 16, 0)


def test_references_are_shared_with_the_path_and_with_each_other(store):
    runs = [small(learner, tasks=2, references=True, offline="no") for learner in ("finetune", "ewc")]
    found = plan(runs)
    # Each run asks for two nodes of its path, two joint models and the last task alone. The references of both are
    # fine-tuning, and the joint model of one task is the first node of fine-tuning.
    assert counts(found) == (10, 6, 0, 6)
    execute(runs, store)
    assert nodes_in(store) == 6


def test_what_was_trained_is_known_and_takes_no_time(store):
    execute([small()], store)
    found = plan([small()], store, jobs=2)
    assert counts(found) == (5, 5, 5, 0)
    assert (found.seconds, found.wall_seconds, found.kinds) == (0, 0, 0)
    longer = plan([small(), small(seed=1)], store)
    assert counts(longer) == (10, 10, 5, 5)


def test_a_lesson_takes_as_long_as_it_did_with_other_seeds(store):
    """Early stopping ends this one after a few of 10,000 epochs."""
    stopping = {"stop": "patience", "patience": 1, "epochs": 10_000, "rate": 0.1}
    first, second, another = (
        small(seed=seed, tasks=2, settings=stopping | more) for seed, more in ((0, {}), (1, {}), (1, {"patience": 2}))
    )
    execute([first], store)
    guessed, timed = plan([second]), plan([second], store)
    assert (guessed.timed, timed.timed) == (0, 2)
    took = sum(store.row(key).cost.seconds for key in store.runs()[0]["result"]["path"])
    assert took <= timed.seconds < guessed.seconds / 10
    assert plan([another], store).timed == 0
    assert plan([first], store).timed == 0


def test_what_failed_is_known_and_ends_its_run(store):
    run = small(settings={"rate": 1e30})
    execute([run], store)
    assert counts(plan([run], store)) == (1, 1, 1, 0)


def test_the_truth_is_told_where_it_is_known(store):
    """Of two rates the second is far better on the first task; what comes after it is what will be trained."""
    run = two_tasks("realistic", rate=[1e-9, 0.01], widths="12-12", iterations=60)
    execute([run], store)
    path = store.runs()[0]["result"]["path"]
    for key in path[1:]:
        store._database.write("DELETE FROM nodes WHERE key = ?", key)
    found = plan([run], store)
    assert counts(found) == (5, 5, 4, 1)


def test_planning_writes_nothing(store):
    execute([small()], store)
    files = {path: path.read_bytes() for path in store.folder.rglob("*") if path.is_file()}
    plan([small(), small(seed=1), two_tasks("prescient")], store)
    assert {path: path.read_bytes() for path in store.folder.rglob("*") if path.is_file()} == files


def test_planning_changes_no_bits(store, tmp_path):
    run = small("ewc", tasks=2)
    execute([run], store)
    again = Store(tmp_path / "again")
    planned = small("ewc", tasks=2)
    plan([planned])
    execute([planned], again)
    shas = [place.row(place.runs()[0]["result"]["path"][-1]).parameters_sha256 for place in (store, again)]
    again.close()
    assert shas[0] == shas[1]


def test_threads_are_as_before():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        plan([small(tasks=2)])
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_workers_share_the_work_but_not_a_path(monkeypatch):
    monkeypatch.setattr(estimating, "_pace", lambda asked: Pace(0.0, 1.0, 0.0, 0.0))
    alone, together = plan([small()], jobs=4), plan([small(seed=seed) for seed in range(6)], jobs=4)
    assert (alone.seconds, alone.wall_seconds) == (5, 5)
    assert (together.seconds, together.wall_seconds) == (30, 7.5)
    with pytest.raises(BadSetting, match="jobs=0 is out of range"):
        plan([small()], jobs=0)


def test_json_has_everything():
    found = plan([small(tasks=2)], jobs=2).to_json()
    assert found.keys() == {
        "runs", "nodes", "distinct", "shared", "known", "to_train", "seconds", "longest_seconds", "wall_seconds",
        "jobs", "kinds", "measured_kinds", "timed", "stopping",
    }  # fmt: skip


def asked(run, *tasks, **settings):
    node = run.root
    for task in tasks:
        node = node.child([task], {**run.grid[0], **settings})
    return Asked(node, run.taught)


def test_seeds_rates_and_lengths_are_of_one_kind_and_widths_are_not():
    kind = asked(small(), 0).kind()
    assert asked(small(seed=1), 1, rate=0.5, epochs=7).kind() == kind
    assert asked(small(), 0, 1).kind() != kind
    assert asked(small(), 0, batch=32).kind() != kind
    assert asked(small(settings={"widths": "9"}), 0).kind() != kind
    assert asked(small("si"), 0).kind() != kind
    assert asked(prepare("permuted-digits", "finetune", settings=SMALL), 0).kind() != kind


def test_time_grows_with_steps_and_with_what_is_scored():
    run = small()
    pace = Pace(step=1.0, around=0.5, sample=0.001, steps_per_sample=1 / 100)
    train, test = len(run.taught[0].train), len(run.taught[0].test)
    assert pace.seconds(asked(run, 0)) == pytest.approx(train / 100 + 0.5 + 0.001 * test)
    assert pace.seconds(asked(run, 0, epochs=3)) == pytest.approx(3 * train / 100 + 0.5 + 0.001 * test)
    assert pace.seconds(asked(run, 0, iterations=10, batch=50)) == pytest.approx(5 + 0.5 + 0.001 * test)


def test_curves_are_scored():
    run = two_tasks("prescient")
    first = run.root.child([0], run.grid[0], every=10)
    one, two = (len(task.test) for task in run.taught)
    held = [len(task.validation) for task in run.taught]
    assert Asked(first, run.taught).scored(30) == 4 * (one + held[0]) + one + held[0]
    second = first.child([1], run.grid[0], every=10)
    assert Asked(second, run.taught).scored(35) == 5 * (one + two + held[1]) + one + two + sum(held)
    curve = small()
    node = curve.root.child([0], curve.grid[0]).child([1], curve.grid[0], (0, 1, 2, 500))
    tests = [len(task.test) for task in curve.taught][:2]
    assert Asked(node, curve.taught).scored(5) == 3 * tests[1] + sum(tests)


def test_joint_training_is_timed_with_the_data_that_it_keeps():
    run = small("joint", settings={"batch": 16})
    first, last = (estimating._pace(asked(run, *tasks)).steps_per_sample for tasks in ([0], range(5)))
    assert last == pytest.approx(5 * first, rel=0.2)


@pytest.mark.parametrize("learner", sorted(learners()))
def test_every_learner_can_be_timed(learner):
    settings = {name: value for name, value in SMALL.items() if name == "widths" or name in learner_settings(learner)}
    run = prepare("split-digits", learner, settings=settings | quick(learner))
    found = plan([run])
    assert found.kinds == found.measured_kinds == 2
    assert 0 < found.seconds < 60


def test_arrays_in_memory_and_a_learner_of_ones_own():
    @register
    class Mine(Finetune):
        name = "mine"

    draw = np.random.default_rng(0)
    tasks = [(draw.normal(size=(40, 6)), np.arange(40) % 2, draw.normal(size=(8, 6)), np.arange(8) % 2)] * 2
    found = plan([prepare(from_arrays(tasks), "mine", settings=SMALL)])
    assert counts(found) == (2, 2, 0, 2)
    assert found.measured_kinds == 2


def test_what_cannot_be_measured_counts_as_its_family(monkeypatch):
    def pace(asked):
        if asked.node.network.settings["widths"] == (9,):
            raise Diverged("too fast")
        return Pace(0.0, 2.0 if asked.node.learner == "si" else 3.0, 0.0, 0.0)

    monkeypatch.setattr(estimating, "_pace", pace)
    known = [small(tasks=2), small("si", tasks=2)]
    narrow = {"widths": "9"}
    found = plan([*known, small(tasks=2, settings=narrow)])
    assert (found.kinds, found.measured_kinds, found.seconds) == (6, 4, 10 + 2 * 3)
    assert plan([*known, small("ewc", tasks=2, settings=narrow)]).seconds == 10 + 2 * 2.5


def test_a_rate_that_is_too_high_stops_no_plan():
    found = plan([small(tasks=2), small(tasks=2, settings={"rate": 1e30, "batch": 16})])
    assert (found.kinds, found.measured_kinds, found.to_train) == (4, 2, 4)
    assert 0 < found.seconds < math.inf


def test_nothing_could_be_measured():
    found = plan([small(settings={"rate": 1e30, "batch": 16})])
    assert found.to_train == 5
    assert math.isnan(found.seconds)
    assert math.isnan(found.wall_seconds)


def test_a_kind_for_which_there_is_no_time_is_guessed(monkeypatch):
    ticks = iter([0.0, 1.0, 1e9])
    monkeypatch.setattr(estimating.time, "monotonic", lambda: next(ticks, 1e9))
    monkeypatch.setattr(estimating, "_pace", lambda asked: Pace(0.0, 2.0, 0.0, 0.0))
    run = small(tasks=2)
    found = estimate([asked(run, 0), asked(run, 0, 1)])
    assert found == ([2.0, 2.0], 2, 1)


def test_the_estimate_is_of_the_right_size(store):
    """Compared by CPU time, which other processes disturb little; off by four would still be of use."""
    run = small(tasks=3, settings={"epochs": 60, "batch": 32, "widths": "64-64"})
    expected = plan([run]).seconds
    start = time.process_time()
    execute([run], store)
    took = time.process_time() - start
    assert took / 4 < expected < took * 4
