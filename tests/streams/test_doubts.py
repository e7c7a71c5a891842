"""Test samples that are training samples too: dropped where the catalogue knows them, said where it does not."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch

import engram
from engram import datasets
from engram.errors import BadData, BadSetting
from engram.streams import kinds, rebuild, stream

from .toys import rows, toy

SHARED = (3, 17, 40)
NAMED = [kind.name for kind in kinds().values() if not kind.many]
IMAGE = (1, 2, 3)  # what every kind can take


def shared_toy(**more):
    """Ten classes of five test samples, three of which are training samples."""
    data = toy(**more)
    x_test = data.x_test.clone()
    x_test[list(SHARED)] = data.x_train[list(SHARED)]
    return replace(data, x_test=x_test, in_both=SHARED)


def all_rows(made):
    return sorted(row for task in made for row in rows(task.test))


@pytest.mark.parametrize("kind", NAMED)
def test_shared_samples_are_in_no_test_set_of_version_2(kind):
    made = stream(kind, dataset=shared_toy(shape=IMAGE), seed=1)
    assert made.name == f"{kind}-toy@2"
    assert made.spec["version"] == 2
    assert not set(all_rows(made)) & set(SHARED)
    assert set(all_rows(made)) == set(range(50)) - set(SHARED)
    for task in made:
        assert task.test.y.tolist() == shared_toy().y_test[task.test.rows].tolist()


@pytest.mark.filterwarnings("ignore:.* test samples of toy are training samples too")
@pytest.mark.parametrize("kind", NAMED)
def test_version_1_is_what_it_was(kind):
    before = stream(kind, dataset=replace(shared_toy(shape=IMAGE), in_both=()), seed=1)
    old = stream(f"{kind}@1", dataset=shared_toy(shape=IMAGE), seed=1)
    assert old.spec == before.spec
    assert old.digest() == before.digest()
    assert before.name == f"{kind}-toy@1"


def test_training_and_validation_are_the_same_in_both_versions():
    old, new = (stream(f"split@{version}", dataset=shared_toy()) for version in (1, 2))
    for before, now in zip(old, new, strict=True):
        assert rows(before.train) == rows(now.train)
        assert rows(before.validation) == rows(now.validation)


def test_one_such_dataset_among_several_is_enough():
    made = stream("concat", dataset=[toy("other"), shared_toy()])
    assert made.name == "concat-other+toy@2"
    assert [len(task.test) for task in made] == [50, 47]


def test_a_version_that_there_is_not():
    with pytest.raises(BadSetting, match="'split@3' has no version 3; known versions: 1, 2"):
        stream("split@3", dataset=shared_toy())
    with pytest.raises(BadSetting, match="'split@2' has no version 2; known versions: 1"):
        stream("split@2", dataset=toy())


def test_a_class_without_test_samples_left():
    data = shared_toy()
    lost = replace(data, in_both=tuple((data.y_test == 4).nonzero().squeeze(1).tolist()))
    made = stream("split", dataset=lost, tasks=2)
    assert [len(task.test) for task in made] == [20, 25]


def own_file(tmp_path, data):
    arrays = {n: getattr(data, n).numpy() for n in ("x_train", "y_train", "x_test", "y_test")}
    np.savez(tmp_path / "mine.npz", **arrays)
    return str(tmp_path / "mine.npz")


def test_shared_samples_of_ones_own_data_are_said_and_kept(tmp_path):
    path = own_file(tmp_path, shared_toy())
    with pytest.warns(
        UserWarning, match=r"3 of the 50 test samples of .*mine.npz are training samples too .* row 3 of"
    ):
        made = stream("split", dataset=path)
    assert made.name == "split-mine@1"
    assert all_rows(made) == list(range(50))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rebuild(json.loads(json.dumps(made.spec))).digest() == made.digest()  # said once, not by every worker
        stream("split", dataset=own_file(tmp_path, toy()))


def test_large_features_of_ones_own_data_are_said(tmp_path):
    data = toy()
    large = replace(data, x_train=data.x_train * torch.tensor(1e30), x_test=data.x_test.float())
    with pytest.warns(UserWarning, match=r"mine.npz: x_train holds numbers as large as 2.*e\+32"):
        stream("split", dataset=own_file(tmp_path, large))


def test_a_class_without_test_samples_is_said_and_counts_in_no_accuracy(tmp_path):
    data = toy()
    rest = data.y_test != 4
    untested = replace(data, x_test=data.x_test[rest], y_test=data.y_test[rest])
    with pytest.warns(
        UserWarning, match=r"mine.npz has no test samples of class 4, so no accuracy counts it; give some"
    ):
        made = stream("split", dataset=own_file(tmp_path, untested), tasks=2)
    record = engram.run(made, "ridge", features=5)
    assert list(record.per_class[-1]) == ["0", "1", "2", "3", "5", "6", "7", "8", "9"]
    assert record.metrics()["mean_class_accuracy"] == pytest.approx(sum(record.per_class[-1].values()) / 9)


def test_a_class_of_arrays_without_test_samples_is_said():
    task = (torch.rand(30, 4), torch.arange(30) % 3, torch.rand(6, 4), torch.arange(6) % 2)
    with pytest.warns(UserWarning, match="task 2 has no test samples of class 2, so no accuracy counts it"):
        engram.from_arrays([(*task[:2], *task[:2]), task])


@pytest.mark.filterwarnings("ignore:.* has no test samples of class 4")
def test_a_session_of_such_a_class_alone_is_refused(tmp_path):
    data = toy()
    rest = data.y_test != 4
    path = own_file(tmp_path, replace(data, x_test=data.x_test[rest], y_test=data.y_test[rest]))
    with pytest.raises(BadData, match="has no test samples; leave its classes out or put them into a task with others"):
        stream("incremental", dataset=path, order="given", base=2)


@pytest.mark.parametrize("name, left", [("dtd37", 1480 - 8), ("audioset100", 5688 - 8)])
def test_the_datasets_that_have_them(name, left):
    if not datasets.describe(name)["available"]:
        pytest.skip(f"{name} is not on this machine")
    new, old = stream(f"split-{name}"), stream(f"split-{name}@1")
    assert new.name == f"split-{name}@2"
    assert sum(len(task.test) for task in new) == left
    assert sum(len(task.test) for task in old) == left + 8
