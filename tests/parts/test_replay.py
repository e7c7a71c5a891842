"""What a ring and a reservoir keep (fixture I30 of the method specification), and what is drawn from them."""

from __future__ import annotations

import pytest
import torch

from engram.parts.replay import NOBODY, Replay

ROWS = (4, 2)  # of the output layer, for the two classes of a task


def replay(buffer="ring", memory=3, counts=(10, 10), task=0):
    made = Replay({"memory": memory, "buffer": buffer}, (1,))
    made.make_room(counts)
    made.attend(task, ROWS, counts)
    return made


def feed(made, values, rows, batch=4, seed=0):
    draw = torch.Generator().manual_seed(seed)
    x, rows = torch.tensor(values, dtype=torch.float32)[:, None], torch.tensor(rows)
    for some, theirs in zip(x.split(batch), rows.split(batch)):
        made.keep(some, theirs, draw)


def kept(made, row):
    return sorted(made.x[(made.row == row) & (made.task != NOBODY)].squeeze(1).tolist())


@pytest.mark.parametrize("batch", [1, 3, 4, 20])
def test_a_ring_keeps_the_last_of_each_class(batch):
    made = replay()
    feed(made, range(20), [4, 2, 2, 4, 4] * 4, batch)
    assert kept(made, 4) == [15, 18, 19]
    assert kept(made, 2) == [12, 16, 17]
    assert len(made.row) == 6


def test_a_ring_has_no_more_places_than_there_are_samples_and_may_be_half_empty():
    made = replay(memory=15, counts=(2, 5))
    feed(made, range(3), [4, 4, 4])
    assert len(made.row) == 7
    assert (made.task == NOBODY).sum() == 5
    assert kept(made, 4) == [1, 2]


def test_another_task_leaves_the_ring_of_the_first_alone():
    made = replay()
    feed(made, range(12), [4, 2] * 6)
    made.make_room((10, 10))
    made.attend(1, (5, 6), (10, 10))
    feed(made, range(100, 112), [5, 6] * 6)
    assert [kept(made, row) for row in (4, 2, 5, 6)] == [[6, 8, 10], [7, 9, 11], [106, 108, 110], [107, 109, 111]]


def test_a_reservoir_keeps_every_sample_with_the_same_probability():
    """χ² of 40 samples in 6 places over 600 repetitions; 39 degrees of freedom: above 73 once in a thousand times."""
    counts = torch.zeros(40)
    for seed in range(600):
        made = replay("reservoir", counts=(20, 20))
        feed(made, range(40), [4, 2] * 20, seed=seed)
        counts[made.x.squeeze(1).long()] += 1
    expected = 600 * 6 / 40
    assert counts.sum() == 600 * 6
    assert ((counts - expected).square() / expected).sum() / (1 - 6 / 40) < 73


def test_a_reservoir_fills_its_places_first_and_counts_samples_once():
    made = replay("reservoir", memory=5, counts=(6, 6))
    feed(made, range(8), [4, 2] * 4)
    assert (made.task != NOBODY).sum() == 8
    assert sorted(made.x[:8].squeeze(1).tolist()) == list(range(8))
    feed(made, range(24), [4, 2] * 12)
    assert made.seen == 32
    made.finish(12)
    assert made.seen == 12
    assert len(made.row) == 10


def test_a_reservoir_counts_only_what_came():
    """A task may end before all of its samples were seen: those of the next one have the same chances nevertheless."""
    kept = torch.zeros(2)
    for seed in range(200):
        made = replay("reservoir", memory=5, counts=(500, 500))
        feed(made, range(50), [4, 2] * 25, seed=seed)
        made.finish(1000)
        assert made.seen == made.different == 50
        made.attend(1, ROWS, (500, 500))
        feed(made, range(50, 150), [4, 2] * 50, seed=1000 + seed)
        kept += torch.bincount(made.task.long(), minlength=2)
    assert kept.sum() == 2000
    assert kept[0] / 2000 == pytest.approx(50 / 150, abs=0.03)  # three standard errors


def test_samples_of_other_tasks_are_drawn_and_no_more_than_there_are():
    made = replay()
    draw = torch.Generator().manual_seed(0)
    feed(made, range(8), [4, 2] * 4)
    assert made.draw(5, draw) is None
    made.make_room((10, 10))
    made.attend(1, (5, 6), (10, 10))
    feed(made, [100, 101], [5, 6])
    x, rows, tasks = made.draw(100, draw)
    assert len(x) == len(rows) == 6
    assert (x < 8).all()
    assert set(rows.tolist()) <= {2, 4}
    assert set(tasks.tolist()) == {0}
    assert len(made.draw(4, draw)[0]) == 4


@pytest.mark.parametrize("buffer", ["ring", "reservoir"])
def test_nothing_is_kept_without_places(buffer):
    made = replay(buffer, memory=0)
    feed(made, range(4), [4, 2, 4, 2])
    assert made.tensors() == {}
