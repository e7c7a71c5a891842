"""Finetune with outputs that all tasks share, each in its own meaning."""

from __future__ import annotations

import pytest
import torch

from engram.errors import BadSetting, NeedsTask


def test_a_shared_head_has_a_row_for_each_place_in_a_tasks_list(make, teach, digits_lessons):
    learner = teach(make("finetune", heads="shared"), digits_lessons)
    assert learner.network.rows == 2
    assert [learner.columns(task) for task in range(5)] == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
    assert learner.predict(torch.zeros(3, 1, 8, 8), 4).shape == (3, 2)
    with pytest.raises(NeedsTask, match="its own meaning of the outputs"):
        learner.predict(torch.zeros(3, 1, 8, 8))


def test_where_tasks_have_the_same_classes_a_shared_head_is_a_growing_one(make, teach, permuted_lessons):
    shared, growing = (teach(make("finetune", heads=heads), permuted_lessons) for heads in ("shared", "growing"))
    assert torch.equal(shared.network.theta, growing.network.theta)


def test_the_outputs_are_learned_anew_in_every_task(make, teach, digits_lessons):
    """The second task moves the rows that the first one has, and is learned by them."""
    learner = teach(make("finetune", heads="shared", epochs=20, rate=0.01), digits_lessons[:1])
    before = learner.predict(torch.ones(1, 1, 8, 8), 0)
    teach(learner, digits_lessons[1:2])
    x, y = next(digits_lessons[1].validation.batches(100))
    found = torch.tensor(learner.columns(1))[learner.predict(x, 1).argmax(1)]
    assert (found == y).float().mean() > 0.8
    assert not torch.equal(before, learner.predict(torch.ones(1, 1, 8, 8), 0))


def test_exemplars_have_no_output_of_their_own_in_a_shared_head(make):
    with pytest.raises(BadSetting, match="use heads=growing"):
        make("finetune", heads="shared", exemplars=2)


def test_a_shared_head_goes_on_where_it_was_saved(make, teach, digits_lessons, snapshot):
    learner = teach(make("finetune", heads="shared"), digits_lessons[:1])
    copy = make("finetune", heads="shared")
    copy.load(snapshot(learner))
    assert torch.equal(*(teach(each, digits_lessons[1:2]).network.theta for each in (learner, copy)))
