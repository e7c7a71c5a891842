import pytest

from engram.errors import BadSetting
from engram.streams import stream

from .toys import toy


@pytest.mark.parametrize("classes, sizes", [(10, [5, 1, 1, 1, 1, 1]), (5, [2, 1, 1, 1]), (2, [1, 1])])
def test_half_then_one_at_a_time(classes, sizes):
    made = stream("incremental", dataset=toy(classes=classes))
    assert [len(task.classes) for task in made] == sizes
    assert sorted(made.outline.classes) == list(range(classes))


def test_order_is_seeded_unless_given():
    orders = {stream("incremental", seed, dataset=toy()).outline.classes for seed in range(3)}
    assert len(orders) == 3
    assert stream("incremental", dataset=toy(), order="given").outline.classes == tuple(range(10))


def test_base_of_nine_and_the_missing_one():
    made = stream("incremental", dataset=toy(), base=9, order="given")
    assert [task.classes for task in made] == [tuple(range(9)), (9,)]


@pytest.mark.parametrize("classes, base", [(10, 10), (10, 99), (1, 0)])
def test_nothing_left_to_add(classes, base):
    with pytest.raises(BadSetting, match="leaves no class to add"):
        stream("incremental", dataset=toy(classes=classes), base=base)
