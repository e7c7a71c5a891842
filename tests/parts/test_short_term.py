"""The last few, in order."""

from __future__ import annotations

import pytest
import torch

from engram.parts.short_term import ShortTermMemory


def samples(*values):
    return torch.tensor([[float(value)] for value in values]), torch.tensor(values)


@pytest.mark.parametrize(
    "pushed, held",
    [([], []), ([(1, 2)], [1, 2]), ([(1, 2), (3,), (4, 5)], [3, 4, 5]), ([(1,), (2, 3, 4, 5, 6)], [4, 5, 6])],
)
def test_the_oldest_make_room(pushed, held):
    memory = ShortTermMemory(3, 1)
    for values in pushed:
        memory.push(*samples(*values))
    assert memory.y[: memory.held].tolist() == held
    assert memory.x[: memory.held, 0].tolist() == held
    assert memory.x.shape == (3, 1)


def test_it_can_be_emptied_and_nothing_is_left():
    memory = ShortTermMemory(3, 1)
    memory.push(*samples(7, 8))
    memory.empty()
    assert (memory.held, memory.x.abs().sum().item(), memory.y.sum().item()) == (0, 0, 0)


def test_the_nearest_of_what_is_held():
    memory = ShortTermMemory(5, 1)
    memory.push(*samples(3, 8))
    squares, labels = memory.nearest(torch.tensor([[0.0], [6.0]]))
    assert squares.tolist() == [9.0, 4.0]
    assert labels.tolist() == [3, 8]
