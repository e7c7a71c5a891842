import pytest
import torch

from engram.errors import BadSetting
from engram.streams import stream

from .toys import rows, toy


def classes_of(made):
    return [task.classes for task in made]


def test_two_classes_a_task_in_their_order():
    made = stream("split", dataset=toy())
    assert classes_of(made) == [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9)]
    assert [task.name for task in made][:2] == ["toy 0-1", "toy 2-3"]
    assert made.class_names[3] == "class 3"


def test_a_task_holds_all_samples_of_its_classes_and_no_others():
    data = toy()
    for task in stream("split", dataset=data):
        expected = [row for row, label in enumerate(data.y_train.tolist()) if label in task.classes]
        assert sorted(rows(task.train) + rows(task.validation)) == expected
        assert rows(task.test) == [row for row, label in enumerate(data.y_test.tolist()) if label in task.classes]
        assert task.train.y.tolist() == data.y_train[rows(task.train)].tolist()
        assert task.test.y.tolist() == data.y_test[rows(task.test)].tolist()


def test_seeded_order_is_a_partition_that_follows_the_seed():
    orders = [stream("split", seed, dataset=toy(), order="seeded").outline.classes for seed in range(4)]
    assert all(sorted(order) == list(range(10)) for order in orders)
    assert len(set(orders)) == 4


def test_a_hundred_classes_ten_by_ten_as_veniat_et_al_2021_have_them():
    """In random order, with 450 training, 50 validation and 100 test samples of every class."""
    data = toy(classes=100, per_class=500, shape=(8,), tests=100)
    made = stream("split", dataset=data, tasks=10, order="seeded", validation=0.1)
    assert [len(task.classes) for task in made] == [10] * 10
    for task in made:
        counts = [torch.bincount(split.y)[list(task.classes)] for split in (task.train, task.validation, task.test)]
        assert [count.unique().tolist() for count in counts] == [[450], [50], [100]]


def test_uneven_tasks_differ_by_one_and_larger_ones_come_first():
    assert [len(c) for c in classes_of(stream("split", dataset=toy(), tasks=4))] == [3, 3, 2, 2]


def test_sizes():
    made = stream("split", dataset=toy(), sizes="7-1-2")
    assert classes_of(made) == [tuple(range(7)), (7,), (8, 9)]
    assert made.spec["tasks"] == 3


def test_sizes_that_say_the_same_give_the_same_spec():
    assert stream("split", dataset=toy(), sizes=(2,) * 5).spec == stream("split", dataset=toy()).spec


@pytest.mark.parametrize(
    "options, message",
    [
        ({"tasks": 11}, "tasks=11 is more than the 10 classes of toy"),
        ({"tasks": 0}, "tasks=0"),
        ({"sizes": "5-4"}, "sizes=5-4 takes 9 classes"),
        ({"sizes": (10, 0)}, "sizes=0"),
        ({"sizes": "5-5", "tasks": 3}, "tasks=3 contradicts"),
        ({"order": "random"}, "given, seeded"),
    ],
)
def test_impossible_options(options, message):
    with pytest.raises(BadSetting, match=message):
        stream("split", dataset=toy(), **options)
