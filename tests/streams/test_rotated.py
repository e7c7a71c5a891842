"""Images that are turned a little further with every task."""

import pytest
import torch

from engram.errors import BadData
from engram.streams import rebuild, stream

from .toys import everything, rows, toy

IMAGES = {"dataset": toy(shape=(2, 5, 5)), "validation": 0.1}


@pytest.mark.parametrize("shape", [(2, 5, 5), (1, 6, 6)])
def test_quarter_turns_are_those_of_torch(shape):
    data = toy(shape=shape)
    for turns, task in enumerate(stream("rotated", dataset=data, tasks=6, degrees=90)):
        for split, x in ((task.train, data.x_train), (task.validation, data.x_train), (task.test, data.x_test)):
            assert torch.equal(everything(split), torch.rot90(x[rows(split)], turns, (2, 3)))


def test_an_eighth_of_a_turn_by_hand():
    """The middle stays, corners go to where edges were, and what comes in from outside repeats the border."""
    data = toy(shape=(1, 3, 3))
    a, b, c, d, e, f, g, h, i = data.x_test.flatten(1)[0].tolist()
    assert everything(stream("rotated", dataset=data, degrees=45)[1].test)[0, 0].tolist() == [
        [b, c, f],
        [a, e, i],
        [d, g, h],
    ]


def test_the_first_task_stays_as_it_is_and_a_task_is_the_same_whatever_their_number():
    short, long = (stream("rotated", tasks=n, **IMAGES) for n in (3, 7))
    assert short[0].train.transform.permutation is None
    assert torch.equal(everything(short[2].train), everything(long[2].train))
    assert [task.name for task in short] == ["turned by 0°", "turned by 18°", "turned by 36°"]


def test_the_seed_turns_nothing():
    first, second = (stream("rotated", seed=seed, validation=0, dataset=toy(shape=(1, 4, 4)))[3] for seed in (0, 1))
    assert torch.equal(everything(first.train), everything(second.train))


def test_all_classes_in_ten_tasks_by_default():
    made = stream("rotated", **IMAGES)
    assert len(made) == 10
    assert made.outline.classes == made[9].classes == tuple(range(10))
    assert made.outline.shape == made[0].train.shape == (2, 5, 5)


def test_it_is_made_again_from_its_spec():
    made = stream("rotated-digits", tasks=3, degrees=30)
    assert made.name == "rotated-digits@1"
    assert rebuild(made.spec).digest() == made.digest()


def test_what_is_no_image_is_refused():
    with pytest.raises(BadData, match=r"'rotated' turns images, and samples of toy have the shape \(2, 3\); choose"):
        stream("rotated", dataset=toy())
