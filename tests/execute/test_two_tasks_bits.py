"""Two-task runs that are stopped, shortened or grown by others come out with the same bits."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
import torch
from two_task_runs import ONE, done, first_nodes, nodes, second_nodes, two_tasks

from engram import tree
from engram.errors import BadSetting, Stopped
from engram.execute import Silence, execute
from engram.learners import create
from engram.store import Store
from engram.tree import grow


def facts(store):
    """All that was measured, but for the time that it took."""
    rows = {node.key: store.row(node.key) for node in nodes(store)}
    return {key: replace(row, cost=replace(row.cost, seconds=0.0)) for key, row in rows.items()}


def result(run, store):
    return store.runs(run.key)[0]["result"]


class Impatient(Silence):
    """Stops in the middle of the lesson of the second task: past two measurements, before the third."""

    def __init__(self, steps):
        self.left = steps

    def check(self):
        self.left -= 1
        if self.left < 0:
            raise Stopped


@pytest.mark.parametrize("kind", [{}, {"strict": True}])
def test_a_run_that_was_stopped_inside_a_lesson_goes_on_with_its_curves(kind, store, tmp_path):
    run = two_tasks("realistic", **{**ONE, **kind})
    whole = Store(tmp_path / "whole")
    done(run, whole)
    with pytest.raises(Stopped):
        execute([run], store, progress=Impatient(41 + 15))
    (partial,) = (store.folder / "partial").iterdir()
    saved = store.partial(partial.name.split(".")[0]).plain
    assert [step for step, _ in saved["curve"]] == [0, 10]
    assert saved["learner"]["step"] == 15
    done(run, store)
    assert facts(store) == facts(whole)
    assert result(run, store) == result(run, whole)
    whole.close()


def test_moments_that_were_measured_before_the_stop_are_not_measured_again(store, tmp_path, monkeypatch):
    run = two_tasks("realistic", **ONE)
    node = run.root.child([0], run.grid[0], every=10)

    def leave(_, step):
        if step.done == 20:
            raise Stopped

    with pytest.raises(Stopped):
        grow(node, store, watch=leave)
    looked, look = [], tree.look

    def listening(learner, *given, **more):
        looked.append(learner.step)
        return look(learner, *given, **more)

    monkeypatch.setattr(tree, "look", listening)
    row = grow(node, store)
    assert looked == [30, 40]
    assert row == store.row(node.key)
    other = Store(tmp_path / "whole")
    assert row.curves == grow(node, other).curves
    other.close()


@pytest.mark.parametrize("total, steps", [(20, (0, 10, 20)), (25, (0, 10, 20, 25)), (7, (0, 7)), (1, (0, 1))])
def test_measured_every_few_steps_and_at_the_end(total, steps, store):
    run = two_tasks("realistic", **{**ONE, "iterations": total})
    row = grow(run.root.child([0], run.grid[0], every=10).child([1], run.grid[0], every=10), store)
    curve = row.curves["single"]
    assert curve.steps == steps
    assert {len(values) for values in (curve.accuracy, curve.tasks, curve.union)} == {len(steps)}
    assert len(curve.validation) == len(steps)
    assert curve.tasks[-1] == row.single
    assert curve.union[-1] == row.union["single"]
    assert row.curves["multi"].tasks[-1] == row.multi


def test_measuring_changes_no_bits(store):
    run = two_tasks("realistic", **ONE)
    rows = [grow(run.root.child([0], run.grid[0], every=every), store) for every in (0, 3, 10)]
    assert len({row.parameters_sha256 for row in rows}) == 1
    assert [not row.curves for row in rows] == [True, False, False]


def velocities(reset, store):
    """The velocity at the end of the first task, and what is left of it when the second begins."""
    run = two_tasks("realistic", **{**ONE, "optimizer_reset": reset})
    execute([run], store)
    (first,) = first_nodes(store)
    learner = create("finetune", run.stream.outline, 0, run.networks[0], {**run.grid[0], "rate": 0.01})
    learner.load(store.state(first.key))
    before = learner.optimiser.vectors["velocity"].clone()
    next(learner.learn(run.taught[1].lesson()))
    return before, learner.optimiser.vectors["velocity"][: len(before)]


def test_momentum_goes_on_from_the_first_task_into_the_second(store):
    before, at_start = velocities("none", store)
    assert before.any()
    assert torch.equal(before, at_start)


def test_or_does_not_if_the_optimiser_is_reset(store):
    assert not velocities("full", store)[1].any()


def test_the_reset_changes_what_the_second_task_learns(store):
    rows = []
    for reset in ("none", "full"):
        run = two_tasks("realistic", **{**ONE, "optimizer_reset": reset})
        first = run.root.child([0], run.grid[0], every=10)
        rows.append([grow(node, store) for node in (first, first.child([1], run.grid[0], every=10))])
    assert rows[0][0].parameters_sha256 == rows[1][0].parameters_sha256
    assert rows[0][1].parameters_sha256 != rows[1][1].parameters_sha256


def parameters_after(run, steps):
    """The parameters of a learner that is left after so many steps of the first task."""
    learner = create(run.learner, run.stream.outline, 0, run.networks[0], run.grid[0])
    lesson = learner.learn(run.taught[0].lesson())
    while next(lesson).done < steps:
        pass
    return hashlib.sha256(learner.parameters().numpy().tobytes()).hexdigest()


def best_start(store, **settings):
    """A run from the best weights of a first task whose accuracy falls at the end, with its two first nodes."""
    run = two_tasks("realistic", **{**ONE, "start": "best", **settings})
    execute([run], store)
    full, short = sorted(first_nodes(store), key=lambda node: -node.path[0].settings["iterations"])
    return run, full, short


def test_the_best_weights_are_those_of_a_shorter_lesson(store):
    run, full, short = best_start(store)
    curves = [store.row(node.key).curves["single"] for node in (full, short)]
    steps = short.path[0].settings["iterations"]
    moment = curves[0].steps.index(steps)
    assert curves[0].accuracy[moment] == max(curves[0].accuracy[1:]) > curves[0].accuracy[-1]
    for name in ("steps", "accuracy", "tasks", "union", "validation"):
        assert getattr(curves[1], name) == getattr(curves[0], name)[: moment + 1]
    assert store.row(short.key).parameters_sha256 == parameters_after(run, steps)
    assert {node.parent.key for node in second_nodes(store)} == {short.key}
    assert result(run, store)["path"][0] == short.key


def test_where_the_last_weights_are_the_best_nothing_is_added(store):
    settings = {**ONE, "iterations": 10}
    last, best = (two_tasks("realistic", **{**settings, "start": start}) for start in ("last", "best"))
    execute([last], store)
    before = len(nodes(store))
    execute([best], store)
    assert len(nodes(store)) == before == 2
    assert result(last, store)["path"] == result(best, store)["path"]


def test_the_best_weights_under_a_falling_rate_are_refused():
    with pytest.raises(BadSetting, match="start=best goes on from the middle of the first task"):
        two_tasks("realistic", start="best", schedule="linear")


def test_a_pool_of_two_gives_what_this_process_gives(store, tmp_path):
    small = {"widths": "12", "second_rate": [0.01, 0.001]}
    runs = [two_tasks("realistic", strict=True, **small), two_tasks("prescient", start="best", **small)]
    execute(runs, store)
    pooled = Store(tmp_path / "pooled")
    execute(runs, pooled, jobs=2)
    assert facts(pooled) == facts(store)
    for run in runs:
        assert result(run, pooled) == result(run, store)
    assert {pooled.times_grown(node.key) for node in nodes(pooled)} == {1}
    pooled.close()
