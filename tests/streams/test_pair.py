import pytest
import torch

from engram.errors import BadSetting
from engram.streams import stream

from .toys import everything, toy

# Pfülb & Gepperth (2019), table of two-task splits: the classes of the first task.
FIRST_TASKS = "01234 02468 34689 02567 01345 03489 05678 02368 012345678 123456789 023456789".split()


@pytest.mark.parametrize("first", FIRST_TASKS)
def test_published_splits_partition_the_ten_classes(first):
    made = stream("pair", dataset=toy(), first="-".join(first))
    assert made[0].classes == tuple(map(int, first))
    assert sorted(made[0].classes + made[1].classes) == list(range(10))
    assert made.outline.classes == made[0].classes + made[1].classes


def test_halves_by_default_and_both_sets_given():
    assert [task.classes for task in stream("pair", dataset=toy(classes=5))] == [(0, 1, 2), (3, 4)]
    some = stream("pair", dataset=toy(), first=(7, 3), second=(1,))
    assert [task.classes for task in some] == [(7, 3), (1,)]
    assert stream("pair", dataset=toy(classes=3), second=1)[0].classes == (0, 2)


def test_two_permutations_of_all_classes():
    made = stream("pair", dataset=toy(), permuted=True)
    assert len(made) == 2
    assert made[0].classes == made[1].classes == tuple(range(10))
    assert not torch.equal(made[0].test.transform.permutation, made[1].test.transform.permutation)
    assert not torch.equal(everything(made[0].test), everything(made[1].test))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"first": "0-1-2", "second": "1-2-3"}, "share the classes 1-2;"),
        ({"first": "0-12"}, "does not have: 12; its classes are 0 to 9"),
        ({"first": "0-0"}, "names a class twice"),
        ({"first": range(10)}, "second has no classes"),
        ({"second": range(10)}, "first has no classes"),
        ({"first": (-1,)}, "first=-1"),
        ({"first": "0-1", "permuted": True}, "no effect with permuted"),
    ],
)
def test_impossible_options(options, message):
    with pytest.raises(BadSetting, match=message):
        stream("pair", dataset=toy(), **options)


def test_one_class_is_no_pair():
    with pytest.raises(BadSetting, match="1 classes"):
        stream("pair", dataset=toy(classes=1))
