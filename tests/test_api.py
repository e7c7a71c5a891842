"""`engram.run`: one call, one record; the same call, the same bits."""

from __future__ import annotations

import numpy as np
import pytest

import engram
from engram.errors import BadSetting, Diverged, EngramError, UnknownName

SMALL = {"widths": "12-10", "batch": 96}


def test_a_run_returns_its_record_and_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    record = engram.run("split-digits", "finetune", seed=1, **SMALL)
    assert [len(row) for row in record.accuracy] == [1, 2, 3, 4, 5]
    assert (record.status, record.seed, record.protocol, record.head) == ("done", 1, "sequential", "single")
    assert list(tmp_path.iterdir()) == []


def test_the_same_call_gives_the_same_bits_and_another_seed_others():
    first, again, other = (engram.run("split-digits", "si", seed=seed, **SMALL) for seed in (0, 0, 1))
    assert first.parameters_sha256 == again.parameters_sha256 != other.parameters_sha256
    assert first.accuracy == again.accuracy


def test_a_store_keeps_the_run(tmp_path):
    first = engram.run("split-digits", "ridge", store=tmp_path, features=20)
    again = engram.run("split-digits", "ridge", store=tmp_path, features=20)
    assert first == again
    store = engram.Store(tmp_path)
    assert [run["status"] for run in store.runs()] == ["done"]
    assert store.times_grown(store.runs()[0]["result"]["path"][-1]) == 1
    store.close()


def test_own_arrays_are_learned():
    draw = np.random.default_rng(0)
    centres = draw.normal(size=(4, 6)) * 4

    def part(classes, count):
        y = np.repeat(classes, count)
        return centres[y] + draw.normal(size=(len(y), 6)), y

    tasks = [(*part([0, 1], 30), *part([0, 1], 10)), (*part([2, 3], 30), *part([2, 3], 10))]
    record = engram.run(engram.from_arrays(tasks), "ridge", features=50)
    assert record.accuracy[-1] == [1.0, 1.0]


def test_a_run_that_fails_raises_its_reason():
    with pytest.raises(Diverged, match=r"the loss became (nan|inf) at task 1 \(digits 0-1\), step 2"):
        engram.run("split-digits", "finetune", rate=1e30, **SMALL)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failure_comes_back_as_the_kind_that_it_was(tmp_path, jobs):
    """At once, from the store, and from a worker."""
    asked = {"network": "resnet18-reduced", "width": 2, "batch": 1, "tasks": 2, "store": tmp_path, "jobs": jobs}
    for _ in range(2):
        with pytest.raises(BadSetting, match="cannot normalise a batch of one sample"):
            engram.run("split-digits", "finetune", **asked)


def test_a_setting_that_a_learner_does_not_have_is_refused():
    with pytest.raises(UnknownName, match="there is no setting of learner 'ridge', .* called 'rate'"):
        engram.run("split-digits", "ridge", rate=0.5, features=20)


@pytest.mark.parametrize("asked", [{"seeds": []}, {"seed": 1, "seeds": [2]}])
def test_seeds_that_say_nothing_or_two_things_are_refused(asked):
    with pytest.raises(BadSetting, match="give"):
        engram.run("split-digits", "ridge", tasks=1, **asked)


def test_several_seeds_give_several_records_with_or_without_workers(tmp_path):
    alone = engram.run("split-digits", "finetune", seeds=range(2), **SMALL)
    pooled = engram.run("split-digits", "finetune", seeds=[0, 1], jobs=2, store=tmp_path, **SMALL)
    assert [record.seed for record in alone] == [0, 1]
    assert [r.parameters_sha256 for r in alone] == [r.parameters_sha256 for r in pooled]


def test_an_unknown_setting_is_named():
    with pytest.raises(EngramError, match="straength"):
        engram.run("split-digits", "ewc", straength=3)


def test_every_public_name_is_there_or_says_so():
    for name in set(engram.__all__) - {"check_learner"}:
        assert getattr(engram, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = engram.nothing
