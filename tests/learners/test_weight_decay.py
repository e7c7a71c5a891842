"""Weight decay of learners: what it moves, what it leaves alone, and a grid of it."""

from __future__ import annotations

from itertools import product

import pytest
import torch

import engram
from engram.core import Lesson, Split
from engram.errors import BadSetting
from engram.networks import HEAD, Blueprint, Outputs
from engram.transform import Transform


def _head(learner):
    return learner.network.theta[learner.network.blocks[HEAD]].clone()


def test_heads_of_other_tasks_do_not_decay(make, teach, digits_lessons):
    learner = teach(make("finetune", heads="per-task", weight_decay=0.5), digits_lessons[:1])
    head = _head(learner)
    teach(learner, digits_lessons[1:2])
    assert torch.equal(_head(learner)[: len(head)], head)


def test_it_is_added_to_the_gradient(make, teach, digits_lessons):
    """One plain step: θ − rate·(g + decay·θ)."""
    step = {"iterations": 1, "optimizer": "sgd", "rate": 0.1}
    still = make("finetune", **{**step, "rate": 1e-30})
    plain, decayed = (make("finetune", weight_decay=decay, **step) for decay in (0.0, 0.5))
    start, moved, both = (teach(one, digits_lessons[:1]).network.theta for one in (still, plain, decayed))
    assert torch.allclose(both, moved - 0.1 * 0.5 * start, atol=1e-6)
    assert not torch.allclose(both, moved, atol=1e-3)


def test_the_grid_of_veniat_2021_is_chosen_from_task_by_task():
    grid = {"rate": [1e-2, 1e-3], "weight_decay": [0, 1e-4, 1e-5]}
    early = {"stop": "patience", "patience": 10, "look_early": True}
    record = engram.run(
        "split-digits", "new-head", protocol="task-level", tasks=2, epochs=2, widths="8", **grid, **early
    )
    assert [len(decision["scores"]) for decision in record.decisions] == [6, 6]
    assert all((one["rate"], one["weight_decay"]) in product(*grid.values()) for one in record.chosen)


def test_a_negative_one_is_refused(make):
    with pytest.raises(BadSetting, match="weight_decay=-1.0 is out of range; it must be at least 0"):
        make("finetune", weight_decay=-1)


def _with_classes(digits, index, *classes):
    """A lesson of these digits."""
    x, y = digits
    rows = torch.nonzero(torch.isin(y, torch.tensor(classes))).squeeze(1)
    train, validation = (Split(x, y[part], part, Transform(scale=1 / 16)) for part in (rows[:90], rows[90:120]))
    return Lesson(f"digits {classes}", index, classes, train, validation)


@pytest.mark.parametrize("reset", ["full", "none"])
@pytest.mark.parametrize("name", ["finetune", "ewc"])
def test_rows_between_those_of_a_lesson_do_not_decay(name, reset, make, teach, digits):
    learner = make(name, loss_over="task", weight_decay=0.5, optimizer_reset=reset)
    teach(learner, [_with_classes(digits, 0, 0, 1), _with_classes(digits, 1, 2, 3)])
    before = learner.network.head.clone()
    teach(learner, [_with_classes(digits, 2, 0, 3)])
    assert torch.equal(learner.network.head[1:3], before[1:3])
    assert not torch.isclose(learner.network.head[[0, 3]], before[[0, 3]]).all(1).any()


@pytest.mark.parametrize("name", ["finetune", "icarl"])
def test_rows_that_nothing_was_learned_of_do_not_decay(name, make, teach, digits):
    fresh = make(name, heads="masked", weight_decay=0.5)
    next(fresh.learn(_with_classes(digits, 0, 0, 5)))
    before = fresh.network.head.clone()
    learner = teach(make(name, heads="masked", weight_decay=0.5), [_with_classes(digits, 0, 0, 5)])
    others = [1, 2, 3, 4, 6, 7, 8, 9]
    assert torch.equal(learner.network.head[others], before[others])
    assert not torch.isclose(learner.network.head[[0, 5]], before[[0, 5]]).all(1).any()


@pytest.mark.parametrize("optimizer", ["adam", "nadam", "sgd"])
def test_a_lesson_learns_the_same_with_rows_of_others_between_its_own(optimizer, make, teach, digits):
    """From the same first values."""
    heads = []
    for classes in ((0, 1), (0, 5)):
        learner = make("finetune", heads="masked", weight_decay=0.1, loss_over="task", optimizer=optimizer)
        x, y = digits
        rows = torch.nonzero(y < 2).squeeze(1)[:90]
        labels = torch.tensor(classes)[y[rows]]
        samples = Split(x[rows], labels, torch.arange(90), Transform(scale=1 / 16))
        lesson = Lesson("two classes", 0, classes, samples, samples)
        steps = learner.learn(lesson)
        next(steps)
        learner.network.head.data[list(classes)] = 0.01
        for _ in steps:
            pass
        heads.append(learner.network.head[list(classes)].clone())
    assert torch.allclose(*heads, atol=1e-6)


def test_the_rows_of_outputs_in_as_few_slices_as_there_can_be():
    assert Outputs.of([2, 3, 4]).runs() == [slice(2, 5)]
    assert Outputs.of([4, 1, 2, 7]).runs() == [slice(1, 3), slice(4, 5), slice(7, 8)]


def test_what_is_trained_with_some_outputs():
    """Slices that touch are one, so that contiguous rows keep their bits."""
    network = Blueprint.of("mlp", widths="3").build((1, 2, 2), 0)
    network.append(torch.zeros(4 * network.row_size))
    trunk, row, end = network.trunk_size, network.row_size, len(network.theta)
    assert network.trained_with(Outputs(0, 4)) == [slice(0, end)]
    assert network.trained_with(Outputs.of([0, 1])) == [slice(0, trunk + 2 * row)]
    assert network.trained_with(Outputs.of([0, 2])) == [slice(0, trunk + row), slice(trunk + 2 * row, trunk + 3 * row)]
    assert network.trained_with(Outputs.of([1, 3])) == [
        slice(0, trunk),
        slice(trunk + row, trunk + 2 * row),
        slice(trunk + 3 * row, end),
    ]
    network.train_only([HEAD])
    assert network.trained_with(Outputs.of([1, 3]))[0] == slice(trunk + row, trunk + 2 * row)
