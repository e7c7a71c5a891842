"""A predictor that has not changed is not evaluated again, and what is carried over is what evaluating would give."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from quick import quick

from engram import evaluate, tree
from engram.core import Learner, Machine
from engram.errors import Stopped
from engram.execute import Silence, execute
from engram.parts.modular import Modular
from engram.parts.partly_private import PartlyPrivate
from engram.record import row_to_json
from engram.request import prepare
from engram.runs import record_of
from engram.store import Store
from engram.streams import from_arrays

SMALL = {"widths": "12", "batch": 96}
CASES = [
    ("independent", "split-digits"),
    ("independent", "permuted-digits"),
    ("new-head", "split-digits"),
    ("new-leg", "permuted-digits"),
    ("pathnet", "permuted-digits"),
    ("mntdp-d", "permuted-digits"),
]


@pytest.fixture
def evaluated(monkeypatch):
    """The tasks of every evaluation on test data."""
    seen = []

    def counted(learner, tasks, splits, hits=evaluate.hits):
        seen.extend(task.index for task, split in zip(tasks, splits, strict=True) if split is task.test)
        return hits(learner, tasks, splits)

    monkeypatch.setattr(evaluate, "hits", counted)
    return seen


def asked(learner="independent", stream="permuted-digits", tasks=4, evaluate="all", **settings):
    settings = {**SMALL, **quick(learner), **settings}
    return prepare(stream, learner, tasks=tasks, evaluate=evaluate, head="multi", settings=settings)


def rows(run, store):
    execute([run], store)
    return [replace(row, cost=replace(row.cost, seconds=0)) for row in record_of(store.runs(run.key)[0], store).rows]


def every_time(run, tmp_path, monkeypatch):
    """The same run by a learner that says nothing of what its lessons change."""
    with monkeypatch.context() as patch:
        for cls in (PartlyPrivate, Modular):
            patch.setattr(cls, "changed_by", Learner.changed_by)
        other = Store(tmp_path / "every time")
        found = rows(run, other)
        other.close()
    return found


def tiny(tasks):
    draw = np.random.default_rng(0)
    arrays = [[draw.normal(size=(count, 3)), np.arange(count) % 2] for count in (8, 6)]
    return from_arrays([[*arrays[0], *arrays[1]] for _ in range(tasks)])


def test_a_hundred_tasks_are_a_hundred_evaluations(store, evaluated):
    rows(prepare(tiny(100), "independent", settings={"widths": "4", "batch": 8}), store)
    assert evaluated == list(range(100))


@pytest.mark.parametrize("learner, stream", CASES)
@pytest.mark.parametrize("protocol", ["sequential", "task-level"])
def test_what_is_carried_is_what_evaluating_gives(protocol, learner, stream, store, tmp_path, monkeypatch):
    run = replace(asked(learner, stream), protocol=protocol, validation=0.1)
    expected = every_time(run, tmp_path, monkeypatch)
    assert rows(run, store) == expected
    assert [len(row.multi) for row in expected] == [1, 2, 3, 4]
    assert len(expected[-1].validation["multi"]) == 4


@pytest.mark.parametrize("learner", ["new-head", "new-leg"])
def test_a_shared_part_that_goes_on_training_changes_every_predictor(learner, store, evaluated):
    rows(asked(learner, trunk="finetune"), store)
    assert evaluated == [0, 0, 1, 0, 1, 2, 0, 1, 2, 3]


@pytest.mark.parametrize("thinned, tasks", [("last", [0, 1, 2, 3]), ("diagonal", [0, 1, 2, 0, 1, 2, 3])])
def test_what_is_not_measured_stays_unmeasured(thinned, tasks, store, evaluated, tmp_path, monkeypatch):
    found = rows(asked(evaluate=thinned), store)
    assert evaluated == tasks
    assert found == every_time(asked(evaluate=thinned), tmp_path, monkeypatch)


def test_after_a_stop_and_after_checkpoints_were_lost(store, tmp_path, monkeypatch):
    class Impatient(Silence):
        steps = 0

        def check(self):
            self.steps += 1
            if self.steps > 40:
                raise Stopped

    with pytest.raises(Stopped):
        execute([asked()], store, progress=Impatient())
    for path in (store.folder / "checkpoints").iterdir():
        path.unlink()
    assert rows(asked(), store) == every_time(asked(), tmp_path, monkeypatch)


def path_of(run, length):
    node = run.root
    for task in range(length):
        node = node.child([task], run.grid[0])
    return node


def without(*names):
    return lambda row: {name: value for name, value in row_to_json(row).items() if name not in names}


@pytest.mark.parametrize(
    "spoil",
    [
        without("machine"),
        without("machine", "places"),
        lambda row: row_to_json(replace(row, machine=Machine("Z80", "0.1", "abacus"))),
        lambda row: row_to_json(replace(row, per_class={})),
        lambda row: row_to_json(replace(row, places=(1,), multi=(0.25,))),
        lambda row: row_to_json(replace(row, multi=(0.25,))),
    ],
)
def test_a_row_that_is_older_or_of_another_machine_is_not_carried_on(spoil, store, evaluated):
    node = path_of(asked(), 3)
    whole = tree.grow(node, store)
    parent, (spec, above) = node.parent, node.parent.stored()
    damaged = spoil(replace(store.row(parent.key), union={}))
    store._database.write("DELETE FROM nodes WHERE key = ?", node.key)
    store._nodes.put(key=parent.key, parent=above, spec=spec, row=damaged, grown=1)
    evaluated.clear()
    again = tree.grow(node, store)
    assert replace(again, cost=whole.cost) == whole
    assert sorted(set(evaluated)) == [0, 1, 2]


def test_a_damaged_row_is_not_carried_on(store, evaluated):
    node = path_of(asked(), 3)
    whole = tree.grow(node, store)
    store._database.write("DELETE FROM nodes WHERE key = ?", node.key)
    store._database.write("UPDATE nodes SET sha256 = 'no' WHERE key = ?", node.parent.key)
    evaluated.clear()
    with pytest.warns(UserWarning, match="is damaged"):
        again = tree.grow(node, store)
    assert replace(again, cost=whole.cost) == whole
    assert evaluated == [0, 1, 2]


def test_a_task_that_comes_again_is_evaluated_with_all_others(store, evaluated):
    run = asked("pathnet")
    node = path_of(run, 2)
    tree.grow(node.child([0], run.grid[0]), store)
    assert evaluated == [0, 1, 0, 1]
