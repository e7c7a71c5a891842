"""What a store knows of runs that nobody asks it to train."""

from __future__ import annotations

import pytest

from engram.execute import execute
from engram.execute.walk import known_record
from engram.request import prepare
from engram.runs import record_of
from engram.store import Store

SGD = {"widths": "8", "optimizer": "sgd"}
TOO_HIGH = 1e30  # a rate at which training ends in numbers that are none


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


def run(seed=0, **settings):
    protocol = "task-level" if any(isinstance(value, list) for value in settings.values()) else "sequential"
    return prepare("split-digits", "finetune", seed=seed, tasks=2, protocol=protocol, settings={**SGD, **settings})


def trained(wanted, store):
    execute([wanted], store)
    (entry,) = store.runs()
    return record_of(entry, store)


def test_a_run_is_known_when_nothing_is_left_to_train(store):
    assert known_record(run(), store) is None
    there = trained(run(), store)
    assert known_record(run(), store) == there
    assert known_record(run(seed=1), store) is None


@pytest.mark.parametrize("rates, status", [([1e-3, TOO_HIGH], "done"), ([TOO_HIGH], "failed")])
def test_points_of_a_grid_that_failed_are_known_too(store, rates, status):
    there = trained(run(rate=rates), store)
    assert there.status == status
    assert known_record(run(rate=rates), store) == there


def test_to_look_is_to_write_nothing(store):
    execute([run()], store)
    store.delete_runs([run().key])
    assert known_record(run(), store).status == "done"
    assert store.runs() == []
