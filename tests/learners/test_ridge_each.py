"""A ridge regression for every task: by hand, what is guessed, and that nothing learned is ever changed."""

from __future__ import annotations

import pytest
import torch

from engram.checks.case import saved
from engram.core import Lesson, Outline, Split
from engram.errors import NeedsTask
from engram.learners import create
from engram.learners.ridge_each import ELSEWHERE, Known


def _lesson(index, x, y):
    nothing = Split(torch.empty(0, len(x[0])), torch.empty(0, dtype=torch.long))
    train = Split(torch.tensor(x, dtype=torch.float32), torch.tensor(y))
    return Lesson(f"lesson {index}", index, tuple(sorted(set(y))), train, nothing)


def _right(learner, lesson, task=None):
    x, y = lesson.validation.batch(slice(None))
    return (torch.tensor(learner.columns(task))[learner.predict(x, task).argmax(1)] == y).double().mean().item()


def test_likelihood_by_hand():
    """Means 1 and 0, variances 3 and 1, to which a hundredth of their mean is added: 3.02 and 1.02."""
    known = Known(0, (0,), torch.empty(0), torch.tensor([[1.0, 0.0], [3.0, 1.0]]), None)
    expected = (4 / 3.02 + 4 / 1.02) + torch.tensor([3.02, 1.02]).log().sum()
    assert known.unlikelihood(torch.tensor([[3.0, 2.0]], dtype=torch.float64)).item() == pytest.approx(float(expected))


def test_two_tasks_by_hand(teach):
    """The first is about the first number, the second, around 10, about the other one and has it the other way."""
    first = _lesson(0, [[-1, 0], [1, 0], [-1, 1], [1, 1]], [0, 1, 0, 1])
    second = _lesson(1, [[10, -1], [10, 1], [11, -1], [11, 1]], [1, 2, 1, 2])
    outline = Outline((2,), (0, 1, 2))
    learner = teach(create("ridge-each", outline, 0, None, {"features": 0, "strength": 0.001}), [first, second])
    scores = learner.predict(torch.tensor([[-1.0, 0.5], [10.5, 1.0]]))
    assert learner.columns() == [0, 1, 2]
    assert scores.argmax(1).tolist() == [0, 2]
    assert scores[0, 2] == scores[1, 0] == ELSEWHERE
    assert learner.predict(torch.tensor([[10.5, -1.0]]), 0).shape == (1, 2)  # told the task it does not guess
    assert [each.statistics[0].tolist() for each in learner.known] == [[0, 0.5], [10.5, 0]]


@pytest.mark.parametrize("kind", ["plain", "waves", "components"])
def test_permuted_digits_are_told_apart_and_none_is_forgotten(kind, make, teach, permuted_lessons):
    learner = make("ridge-each", map=kind, features=100)
    before = []
    for lesson in permuted_lessons:
        teach(learner, [lesson])
        before.append(_right(learner, lesson, lesson.index))
    assert [_right(learner, lesson, lesson.index) for lesson in permuted_lessons] == before
    assert min(_right(learner, lesson) for lesson in permuted_lessons) > 0.7
    x = torch.cat([lesson.validation.batch(slice(None))[0] for lesson in permuted_lessons])
    guesses = learner.guess(x, learner.known).view(3, -1)
    assert (guesses == torch.arange(3)[:, None]).double().mean() > 0.95


def test_sums_are_gone_when_a_task_is_over(make, teach, permuted_lessons):
    learner = make("ridge-each")
    steps = learner.learn(permuted_lessons[0])
    next(steps)
    assert saved(learner).tensors["gram"].shape == (31, 31)
    for _ in steps:
        pass
    kept = saved(learner).tensors
    assert kept["gram"].numel() == kept["totals"].numel() == 0
    assert kept["solutions.0"].shape == (31, 10)


def test_a_task_that_was_not_learned_is_refused(make):
    with pytest.raises(NeedsTask, match="task 1 has not been learned"):
        make("ridge-each").predict(torch.zeros(1, 1, 8, 8), 0)
    assert make("ridge-each").predict(torch.zeros(2, 1, 8, 8)).shape == (2, 0)
