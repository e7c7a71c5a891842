"""`iterations`: as many steps as asked for, whatever the size of a task. Lessons here have 6 batches of 16."""

from __future__ import annotations

import pytest
import torch

from engram.core import Split
from engram.learners import learner_settings, learners
from engram.randomness import generator

WITH_STEPS = [name for name in learners() if "iterations" in learner_settings(name)]


def _asked(learner, lesson, monkeypatch):
    """The positions of every batch that the learner asks for, in order, and the steps that it yields."""
    asked, batch = [], Split.batch

    def recorded(self, index):
        asked.append(index.tolist())
        return batch(self, index)

    with monkeypatch.context() as patch:
        patch.setattr(Split, "batch", recorded)
        steps = list(learner.learn(lesson))
    return asked, steps


def _batches(epoch):
    return [part.tolist() for part in torch.randperm(90, generator=generator(0, "order", 0, epoch)).split(16)]


@pytest.mark.parametrize("iterations", [1, 4, 6, 7, 12, 15])
def test_it_takes_so_many_batches_of_one_epoch_after_another(iterations, make, digits_lessons, monkeypatch):
    asked, steps = _asked(make("finetune", iterations=iterations), digits_lessons[0], monkeypatch)
    assert asked == [*_batches(0), *_batches(1), *_batches(2)][:iterations]
    assert steps == [(done, iterations) for done in range(iterations + 1)]


def test_0_is_as_many_as_the_epochs_have(make, digits_lessons):
    assert [next(make("finetune", epochs=e, iterations=0).learn(digits_lessons[0])).total for e in (1, 3)] == [6, 18]


def test_iterations_come_before_epochs(make, digits_lessons):
    assert next(make("finetune", epochs=50, iterations=2).learn(digits_lessons[0])).total == 2


@pytest.mark.parametrize("name", WITH_STEPS)
def test_as_many_steps_as_two_epochs_give_the_same_bits(name, make, teach, snapshot, same_state, digits_lessons):
    epochs, steps = (teach(make(name, **how), digits_lessons[:1]) for how in ({"epochs": 2}, {"iterations": 12}))
    assert same_state(snapshot(epochs), snapshot(steps))


@pytest.mark.parametrize("iterations", [4, 8])
def test_fewer_steps_are_the_beginning_of_more(iterations, make, teach, digits_lessons):
    short = teach(make("finetune", iterations=iterations), digits_lessons[:1])
    long = make("finetune", epochs=2)
    steps = long.learn(digits_lessons[0])
    while next(steps).done < iterations:
        pass
    assert torch.equal(short.parameters(), long.parameters())


@pytest.mark.parametrize("stop", [0, 3, 7])
def test_it_goes_on_where_it_was_left(stop, make, teach, snapshot, same_state, digits_lessons):
    through = teach(make("ewc", iterations=8), digits_lessons[:2])
    killed = teach(make("ewc", iterations=8), digits_lessons[:1])
    for step in killed.learn(digits_lessons[1]):
        if step.done == stop:
            break
    heir = make("ewc", iterations=8)
    heir.load(snapshot(killed))
    assert same_state(snapshot(teach(heir, digits_lessons[1:2])), snapshot(through))


def test_a_falling_rate_falls_over_these_steps(make, digits_lessons):
    learner, rates = make("finetune", iterations=4, schedule="linear", rate=0.1), []
    for step in learner.learn(digits_lessons[0]):
        if step.done:
            rates.append(learner.optimiser.rate)
    assert rates == pytest.approx([0.1, 0.075, 0.05, 0.025])


def _order(epoch, task=0):
    return torch.randperm(90, generator=generator(0, "order", task, epoch))


@pytest.mark.parametrize("iterations, memory", [(2, 20), (3, 48), (6, 20), (8, 20), (12, 20)])
def test_gem_keeps_what_it_saw_last(iterations, memory, make, teach, digits_lessons):
    """Also where the task ended within an epoch."""
    learner = teach(make("gem", iterations=iterations, memory=memory), digits_lessons[:2])
    epoch, place = divmod(iterations - 1, 6)
    for task, kept in learner.memories().items():
        seen = _order(epoch, task)[: (place + 1) * 16]
        x, y = digits_lessons[task].train.batch(seen[-memory:])
        assert torch.equal(kept.batch(slice(None))[0], x)
        assert torch.equal(kept.y, y)


def test_gem_keeps_no_example_that_it_did_not_see(make, teach, digits_lessons):
    learner = teach(make("gem", iterations=2, memory=1000), digits_lessons[:1])
    assert learner.memories()[0].y.tolist() == digits_lessons[0].train.y[_order(0)[:32]].tolist()


def test_gem_keeps_as_many_as_it_may_just_after_an_epoch(make, teach, digits_lessons):
    learner = teach(make("gem", iterations=7, memory=40), digits_lessons[:1])
    assert len(learner.memories()[0]) == 40
