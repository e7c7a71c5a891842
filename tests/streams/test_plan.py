from dataclasses import replace

import pytest
import torch

from engram.errors import BadData
from engram.streams import plan, stream

from .toys import rows, toy

ALL = [
    ("split", {"order": "seeded", "tasks": 3}),
    ("permuted", {"tasks": 3}),
    ("incremental", {}),
    ("pair", {}),
    ("pair", {"permuted": True}),
]


@pytest.mark.parametrize("kind, options", ALL)
def test_train_and_validation_are_disjoint_and_complete(kind, options):
    data = toy()
    for task in stream(kind, dataset=data, **options):
        train, validation = rows(task.train), rows(task.validation)
        assert not set(train) & set(validation)
        assert sorted(train + validation) == [r for r, c in enumerate(data.y_train.tolist()) if c in task.classes]
        assert torch.unique(task.validation.y).tolist() == sorted(task.classes)


def test_splits_are_views_on_the_dataset():
    data = toy()
    task = stream("split", dataset=data)[0]
    assert task.train.x is task.validation.x is data.x_train
    assert task.test.x is data.x_test


def test_nothing_is_built_before_it_is_asked_for(monkeypatch):
    built = []
    build = plan.build_task
    monkeypatch.setattr(plan, "build_task", lambda *args: built.append(args[-2]) or build(*args))
    made = stream("permuted", dataset=toy(), tasks=10_000)
    assert built == []
    assert made[7].index == 7
    assert made[7] is made[7]
    assert built == [7]


def test_class_without_test_samples_is_fine_beside_others_but_not_alone():
    data = toy()
    kept = data.y_test != 0
    data = replace(data, x_test=data.x_test[kept], y_test=data.y_test[kept])
    with pytest.warns(UserWarning, match="toy has no test samples of class class 0, so no accuracy counts it"):
        assert 0 in stream("split", dataset=data)[0].classes
    with (
        pytest.warns(UserWarning, match="toy has no test samples of class class 0"),
        pytest.raises(BadData, match=r"task 1 of split-toy@1 \(toy 0\) has no test samples"),
    ):
        stream("split", dataset=data, tasks=10)


def test_task_without_training_samples():
    data = toy()
    kept = data.y_train < 8
    data = replace(data, x_train=data.x_train[kept], y_train=data.y_train[kept])
    with pytest.raises(BadData, match="task 5 .* has no training samples"):
        stream("split", dataset=data)


@pytest.mark.parametrize(
    "dataset, classes, expected",
    [
        ("digits", (0, 1), "digits 0-1"),
        ("digits", (3, 4, 5, 6), "digits 3-6"),
        ("digits", (7,), "digits 7"),
        ("digits", (7, 3), "digits 7,3"),
        ("cub200-lite0", (57, *range(3, 40)), "cub200-lite0 57 +37"),
        ("a-name-that-is-far-too-long-for-a-table", (5,), "a-name-that-is-far-too-lon… 5"),
        ("a-name-that-is-far-too-long-for-a-table", (5, 2), "a-name-that-is-far-too-… 5 +1"),
    ],
)
def test_titles_are_short(dataset, classes, expected):
    made = plan.title(dataset, classes)
    assert len(made) < 30
    assert made == expected
