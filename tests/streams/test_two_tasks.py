import json

import pytest
import torch

from engram.errors import BadSetting, UnknownName
from engram.streams import kinds, rebuild, stream, two_tasks

from .toys import everything, rows, toy

NAMES = [*(f"d5-5{letter}" for letter in "abcdefgh"), *(f"d9-1{letter}" for letter in "abc")]


def test_the_twelve_of_the_paper_and_no_others():
    assert list(two_tasks.KINDS) == [*NAMES, "dp10-10"]
    assert all(kinds()[name].version == 1 and kinds()[name].help for name in two_tasks.KINDS)


@pytest.mark.parametrize("name", NAMES)
def test_the_two_tasks_partition_the_ten_classes_and_the_test_set(name):
    made = stream(name, dataset=toy())
    first, second = made
    sizes = {"d5": (5, 5), "d9": (9, 1)}[name[:2]]
    assert (len(first.classes), len(second.classes)) == sizes
    assert sorted(first.classes + second.classes) == list(range(10))
    assert sorted(rows(first.test) + rows(second.test)) == list(range(50))
    assert set(first.train.y.tolist()) == set(first.classes)
    assert set(second.test.y.tolist()) == set(second.classes)


@pytest.mark.parametrize(
    "name, second",
    [("d5-5a", "56789"), ("d5-5b", "13579"), ("d5-5h", "14579"), ("d9-1a", "9"), ("d9-1b", "0"), ("d9-1c", "1")],
)
def test_published_classes(name, second):
    assert stream(name, dataset=toy())[1].classes == tuple(map(int, second))


def test_all_splits_differ():
    assert len({stream(name, dataset=toy())[0].classes for name in NAMES}) == len(NAMES)


def test_two_permutations_of_all_classes():
    made = stream("dp10-10", dataset=toy())
    first, second = made
    assert first.classes == second.classes == made.outline.classes == tuple(range(10))
    assert (
        sorted(first.test.transform.permutation.tolist())
        == sorted(second.test.transform.permutation.tolist())
        == list(range(6))
    )
    assert not torch.equal(first.test.transform.permutation, second.test.transform.permutation)
    assert torch.equal(first.train.transform.permutation, first.test.transform.permutation)
    assert not torch.equal(everything(first.test), everything(second.test))
    assert len(first.test) + len(second.test) == 100


def test_the_same_bytes_as_the_pair_that_it_is():
    pair = stream("pair", dataset=toy(), first="3-4-6-8-9", seed=4)
    assert stream("d5-5c", dataset=toy(), seed=4).digest() == pair.digest()
    permuted = stream("pair", dataset=toy(), permuted=True, seed=4)
    assert stream("dp10-10", dataset=toy(), seed=4).digest() == permuted.digest()


@pytest.mark.parametrize("name", ["d5-5d", "dp10-10"])
def test_short_name_spec_and_rebuilding(name):
    made = stream(f"{name}-digits", seed=2, centred=True)
    assert made.name == f"{name}-digits@1"
    assert made.spec == stream(name, dataset="digits", seed=2, centred=True).spec
    assert made.spec["options"] == {"centred": True}
    again = rebuild(json.loads(json.dumps(made.spec)))
    assert (again.spec, again.digest()) == (made.spec, made.digest())


@pytest.mark.parametrize("classes", [9, 11])
@pytest.mark.parametrize("name", ["d5-5a", "dp10-10"])
def test_a_dataset_without_ten_classes(name, classes):
    with pytest.raises(BadSetting, match=f"stream '{name}' needs a dataset of 10 classes, toy has {classes}; choose"):
        stream(name, dataset=toy(classes=classes))


def test_what_the_name_says_cannot_be_set():
    with pytest.raises(UnknownName, match="no setting of stream 'd5-5a' called 'first'"):
        stream("d5-5a-digits", first="0-1")
    with pytest.raises(BadSetting, match="no version 2; known versions: 1"):
        stream("d5-5a-digits@2")
    with pytest.raises(BadSetting, match="needs a dataset; name one, for example 'd5-5a-digits'"):
        stream("d5-5a")
