"""Experience replay: one step by hand, what is kept, and what it is without a memory."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from engram.costs import itemise
from engram.errors import BadSetting
from engram.networks import Blueprint
from engram.randomness import generator


@pytest.mark.parametrize("heads", ["per-task", "growing"])
def test_without_a_memory_it_is_finetune_with_the_same_heads(heads, make, teach, digits_lessons):
    one, other = (teach(make(name, memory=0, heads=heads), digits_lessons[:3]) for name in ("er", "finetune"))
    assert torch.equal(one.parameters(), other.parameters())
    assert one.flops() == other.flops()


def test_the_first_task_is_finetune(make, teach, digits_lessons):
    one, other = (teach(make(name, heads="per-task"), digits_lessons[:1]) for name in ("er", "finetune"))
    assert torch.equal(one.parameters(), other.parameters())


def test_a_step_learns_from_both_each_through_its_own_head(make, teach, snapshot, digits_lessons):
    """The first step of the second lesson, written out: θ − rate · gradient of one mean over both."""
    learner = teach(make("er", memory=4), digits_lessons[:1])
    heir = make("er", memory=4, optimizer="sgd", rate=0.1)
    heir.load(snapshot(learner))
    steps = heir.learn(digits_lessons[1])
    next(steps)
    network, lesson = heir.network, digits_lessons[1]
    index = torch.randperm(90, generator=generator(0, "order", 1, 0))[:16]
    x, y = lesson.train.batch(index)
    old = torch.randint(8, (8,), generator=generator(0, "replay", 1, 0))
    scores = network.scores(network.features(torch.cat([x, heir.replay.x[old]])))
    losses = [
        F.cross_entropy(scores[:16, 2:], y - 2, reduction="sum"),
        F.cross_entropy(scores[16:, :2], heir.replay.row[old].long(), reduction="sum"),
    ]
    network.backward(sum(losses) / 24)
    expected = network.theta - 0.1 * network.grad
    next(steps)
    assert torch.allclose(heir.network.theta, expected, atol=1e-6)


def test_what_is_kept_is_what_the_steps_saw(make, teach, digits_lessons):
    """The augmented batches themselves; of each class the last ones."""
    learner = make("er", network=Blueprint.of("mlp", widths="8"), memory=3, augment="shift", epochs=2)
    seen = []
    keep = learner.replay.keep
    learner.replay.keep = lambda x, rows, draw: (seen.append((x.clone(), rows)), keep(x, rows, draw))
    teach(learner, digits_lessons[:1])
    x, rows = (torch.cat(part) for part in zip(*seen))
    for row in (0, 1):
        expected = x[rows == row][-3:]
        found = learner.replay.x[learner.replay.row == row]
        assert sorted(found.flatten(1).tolist()) == sorted(expected.flatten(1).tolist())
    clean = digits_lessons[0].train.batch(slice(None))[0].flatten(1)
    assert not all((image.flatten() == clean).all(1).any() for image in learner.replay.x)


@pytest.mark.parametrize("buffer", ["ring", "reservoir"])
@pytest.mark.parametrize("epochs", [1, 3])
def test_the_memory_grows_by_its_room_and_no_further(buffer, epochs, make, teach, digits_lessons):
    learner = make("er", memory=5, buffer=buffer, epochs=epochs)
    for task, lesson in enumerate(digits_lessons[:3], start=1):
        teach(learner, [lesson])
        assert len(learner.replay.row) == 10 * task
    if buffer == "ring":
        assert torch.bincount(learner.replay.row.long()).tolist() == [5] * 6
    assert learner.replay.seen == 270  # different samples


def test_bytes_are_those_of_the_paper(make, teach, digits_lessons):
    """trunk + T·head + 15·C·T·(x + 2) numbers of four bytes."""
    learner = teach(make("er"), digits_lessons[:3])
    trunk, head = 65 * 12 + 13 * 10, 2 * 11
    assert itemise(learner.state())["total"] == 4 * (trunk + 3 * head + 15 * 2 * 3 * (64 + 2))


def test_operations_of_replayed_samples_are_counted(make, teach, digits_lessons):
    learner = teach(make("er", memory=4), digits_lessons[:2])
    trunk, head = 2 * (64 * 12 + 12 * 10), 2 * 10 * 2
    assert learner.flops() == 3 * (90 * (trunk + head) + (90 + 6 * 8) * (trunk + 2 * head))


def test_a_class_that_comes_back_in_another_task_has_another_head(make, teach, digits_lessons):
    """As in CTrL, where the last task repeats the first."""
    again = replace(digits_lessons[0], index=2)
    learner = teach(make("er", epochs=3, rate=0.01), [*digits_lessons[:2], again])
    assert learner.network.rows == 6
    assert set(learner.replay.row[learner.replay.task == 2].tolist()) == {4, 5}
    x, y = again.validation.batch(slice(None))
    assert (learner.predict(x, 2).argmax(1) == y).double().mean() > 0.8


def test_it_forgets_less_than_finetune(make, teach, digits_lessons):
    def first_task(learner):
        x, y = digits_lessons[0].validation.batch(slice(None))
        return (learner.predict(x).argmax(1) == y).double().mean()

    settings = {"epochs": 10, "rate": 0.02, "heads": "growing"}
    er, finetune = (teach(make(name, **settings), digits_lessons) for name in ("er", "finetune"))
    assert first_task(er) > first_task(finetune) + 0.5


def test_a_negative_memory_is_refused(make):
    with pytest.raises(BadSetting, match="memory=-1 is out of range; it must be at least 0"):
        make("er", memory=-1)
