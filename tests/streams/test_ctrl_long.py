"""The long stream of CTrL: the published instance, and others by its law."""

import csv
import re
from collections import Counter
from importlib.resources import files

import pytest
import torch

from engram.errors import BadSetting
from engram.moves import AT_REST
from engram.streams import ctrl_long, stream
from engram.streams.source import Source

from .toys import rows, toy

MNIST_TESTS = (980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009)  # of each digit, in the official test set
PUBLISHED = list(csv.DictReader((files("engram.streams") / "data" / "ctrl_long.csv").read_text().splitlines()))


def actors(shape=(1, 6, 6), per_class=30):
    return [
        toy(f"toy-{role}", len(names), per_class, shape, seed=k)
        for k, (role, names) in enumerate(ctrl_long.NAMES.items())
    ]


def make(seed=0, **options):
    return stream("ctrl-long", seed=seed, dataset=actors(), **options)


def as_large_as_official():
    train = {"cifar100": 500, "cifar10": 5000, "mnist": 6000, "svhn": 6000, "fashion-mnist": 6000}
    sources = []
    for k, (role, names) in enumerate(ctrl_long.NAMES.items()):
        data = toy(role, len(names), train[role], (1, 1, 1), k, 100 if role == "cifar100" else 1500)
        sources.append(Source(data, role))
    return sources


def test_the_published_tasks():
    """A hundred of five distinct classes, with as many test samples as the classes have, at most 1000 of each."""
    assert len(PUBLISHED) == len(ctrl_long.published()) == 100
    for row, task in zip(PUBLISHED, ctrl_long.published(), strict=True):
        assert len(set(task.classes)) == 5
        assert [ctrl_long.NAMES[task.role][c] for c in task.classes] == row["classes"].split("|")
        most = {"mnist": MNIST_TESTS, "cifar100": [100] * 100}.get(task.role, [1000] * 10)
        assert sum(min(1000, most[c]) for c in task.classes) == int(row["n_test"])


def test_sizes_of_the_published_tasks():
    options = {name: option.default for name, option in ctrl_long.KIND.options.items()}
    parts = ctrl_long.plan(as_large_as_official(), 0, options).parts
    for index, (part, row) in enumerate(zip(parts, PUBLISHED, strict=True)):
        found = part.rows(0, index, 0.0)
        assert len(found.train) == int(row["n_train"])
        assert len(found.validation) == 5 * int(row["n_val"])
        assert len(found.test) == (500 if row["dataset"] == "cifar100" else 5000)


def test_of_the_published_tasks_as_many_are_small_as_the_paper_has():
    large = [task.large for task in ctrl_long.published()]
    assert [large[:33].count(False), large[33:66].count(False), large[66:].count(False)] == [18, 29, 34]


def test_other_instances_follow_the_same_law():
    tasks = [ctrl_long.task(instance, number) for instance in range(2, 32) for number in range(1, 101)]
    assert all(len(set(task.classes)) == 5 for task in tasks)
    shares = [count / len(tasks) for count in Counter(task.role for task in tasks).values()]
    assert len(shares) == 5
    assert all(0.17 < share < 0.23 for share in shares)
    large = torch.tensor([task.large for task in tasks]).view(30, 100).float()
    assert 0.45 < large[:, :33].mean() < 0.55
    assert 0.2 < large[:, 33:66].mean() < 0.3
    assert large[:, 66:].sum() == 0
    digits = Counter(c for task in tasks if task.role == "mnist" for c in task.classes)
    assert max(digits.values()) < 1.3 * min(digits.values())


def test_instances_differ_and_a_task_does_not_depend_on_how_many_follow():
    assert [ctrl_long.task(2, k) for k in range(1, 9)] != [ctrl_long.task(3, k) for k in range(1, 9)]
    short, long = make(tasks=2, instance=2), make(tasks=4, instance=2)
    assert short[1].classes == long[1].classes
    assert rows(short[1].train) == rows(long[1].train)


def test_the_seed_decides_the_samples_and_not_the_tasks():
    one, other = make(0, tasks=2), make(1, tasks=2)
    assert one.outline == other.outline
    assert rows(one[0].train) != rows(other[0].train)


def test_after_the_hundredth_task_small_ones_go_on():
    made = make(tasks=103)
    assert len(made) == 103
    assert [len(task.train) for task in (made[100], made[102])] == [25, 25]


def test_validation_samples_come_with_four_shifted_copies():
    task = make(tasks=1)[0]
    held = len(task.validation) // 5
    assert held == 15
    assert rows(task.validation) == rows(task.validation)[:held] * 5
    assert task.validation.y.tolist() == task.validation.y[:held].tolist() * 5
    assert task.validation.moves[:held].tolist() == [list(AT_REST)] * held
    assert len({tuple(move) for move in task.validation.moves[held:].tolist()}) > 30
    x, _ = task.validation.batch(slice(None))
    plain, _ = stream("ctrl-long", dataset=actors(), tasks=1, validation_copies=0)[0].validation.batch(slice(None))
    assert torch.allclose(x[:held], plain, atol=1e-5)
    assert not torch.allclose(x[held : 2 * held], plain, atol=0.1)
    assert not set(rows(task.train)) & set(rows(task.validation))


def test_numbers_of_classes_are_those_of_the_whole_stream():
    made = make(tasks=8)
    names = [made.class_names[c] for c in made[0].classes]
    assert names == [f"toy-mnist class {digit}" for digit in (6, 3, 7, 5, 0)]
    assert made[7].name == "toy-cifar100 79,47,92,42,44"
    assert all(c >= 40 for c in made[7].classes)


def test_too_few_classes():
    data = actors()
    data[-1] = toy("small", classes=60, shape=(1, 6, 6))
    with pytest.raises(BadSetting, match=re.escape("needs 100 classes in the place of cifar100, and small has 60")):
        stream("ctrl-long", dataset=data)
    assert len(stream("ctrl-long", dataset=data, tasks=3)) == 3  # none of which is of that dataset


@pytest.mark.parametrize("options", [{"tasks": 0}, {"instance": 0}, {"large": 0}, {"test_samples": 0}])
def test_impossible_options(options):
    with pytest.raises(BadSetting, match="out of range"):
        make(**options)
