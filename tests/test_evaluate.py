"""Accuracies by hand, for a learner whose scores are given."""

from __future__ import annotations

import pytest
import torch

from engram.core import Curve, Learner, Split, Task
from engram.errors import Diverged
from engram.evaluate import curves_of, evaluate, look, read_moment, share


class Table(Learner):
    """The sample is the row of scores; columns are classes 0, 1, 2, 3."""

    def __init__(self, needs_task=False):
        self.needs_task = needs_task

    def columns(self, task=None):
        return [0, 1, 2, 3] if task is None else [2 * task, 2 * task + 1]

    def predict(self, x, task=None):
        return x if task is None else x[:, 2 * task : 2 * task + 2]


def make_task(index, rows, labels, held=0):
    x, y = torch.tensor(rows), torch.tensor(labels)
    validation = Split(x[:held], y[:held])
    return Task(f"t{index}", index, (2 * index, 2 * index + 1), Split(x, y), validation, Split(x, y))


FIRST = make_task(0, [[9.0, 1, 0, 0], [1, 2, 8, 0], [5, 1, 0, 6]], [0, 1, 1], held=1)
SECOND = make_task(1, [[0.0, 0, 3, 1], [7, 0, 1, 2]], [2, 3], held=2)


def test_single_head_is_over_all_classes_and_multi_head_over_the_task_s():
    result = evaluate(Table(), [FIRST, SECOND])
    assert result.shares == {"single": (1 / 3, 1 / 2), "multi": (2 / 3, 1.0)}
    assert result.union == {"single": 2 / 5, "multi": 4 / 5}
    assert result.per_class["single"] == {"0": 1.0, "1": 0.0, "2": 1.0, "3": 0.0}
    assert result.per_class["multi"] == {"0": 1.0, "1": 0.5, "2": 1.0, "3": 1.0}


def test_a_learner_that_is_told_the_task_has_no_single_head():
    result = evaluate(Table(needs_task=True), [FIRST, SECOND])
    assert result.shares == {"multi": (2 / 3, 1.0)}
    assert result.union == {"multi": 4 / 5}
    assert result.per_class == {"multi": {"0": 1.0, "1": 0.5, "2": 1.0, "3": 1.0}}
    assert result.validation == {"multi": (1.0, 1.0)}


def test_validation_is_measured_where_every_task_has_some():
    assert evaluate(Table(), [FIRST, SECOND]).validation == {"single": (1.0, 0.5), "multi": (1.0, 1.0)}
    assert evaluate(Table(), [FIRST, make_task(1, [[0.0, 0, 1, 0]], [2])]).validation == {}


def test_batches_do_not_matter(monkeypatch):
    whole = evaluate(Table(), [FIRST, SECOND])
    monkeypatch.setattr("engram.evaluate.BATCH", 1)
    assert evaluate(Table(), [FIRST, SECOND]) == whole


def test_a_curve_point_has_both_readings_where_there_are_two():
    found = look(Table(), [FIRST, SECOND], held_out=True)
    assert found == {"single": ((1 / 3, 1 / 2), 2 / 5, 1 / 2), "multi": ((2 / 3, 1.0), 4 / 5, 1.0)}
    assert look(Table(needs_task=True), [FIRST]) == {"multi": ((2 / 3,), 2 / 3, None)}


def test_a_point_that_an_older_position_has_is_of_the_one_reading_it_had():
    old, new = [[0.5, 0.25], 0.3, None], {"single": [[0.5], 0.5, 1.0], "multi": [[1.0], 1.0, 1.0]}
    assert read_moment(old, needs_task=False) == {"single": ((0.5, 0.25), 0.3, None)}
    assert read_moment(old, needs_task=True) == {"multi": ((0.5, 0.25), 0.3, None)}
    assert curves_of([(0, read_moment(old, False)), (1, read_moment(new, False))], wide=False) == {
        "single": Curve((0, 1), (0.25, 0.5))
    }


def asked(learner, *given, **more):
    """How many samples, and of which task, the learner was asked for in each call."""
    calls, predict = [], learner.predict
    learner.predict = lambda x, task=None: calls.append((len(x), task)) or predict(x, task)
    evaluate(learner, *given, **more)
    return calls


def test_small_test_sets_share_a_batch_unless_the_task_must_be_told(monkeypatch):
    tasks = [make_task(k % 2, [[9.0, 1, 0, 0]], [2 * (k % 2)]) for k in range(300)]
    assert asked(Table(), tasks) == [(250, None), (50, None)]
    assert asked(Table(needs_task=True), tasks) == [(1, k % 2) for k in range(300)]
    monkeypatch.setattr("engram.evaluate.BATCH", 3)
    assert asked(Table(), [FIRST, SECOND, FIRST, SECOND], [SECOND]) == [(3, None), (2, None)] * 2 + [(2, None)]


def test_a_large_test_set_is_cut_as_if_it_were_alone(monkeypatch):
    monkeypatch.setattr("engram.evaluate.BATCH", 2)
    assert asked(Table(), [FIRST, FIRST], []) == [(2, None), (1, None), (2, None), (1, None)]


def test_nothing_is_measured_of_no_tasks():
    found = evaluate(Table(), [], [SECOND])
    assert (found.shares, found.union) == ({"single": (), "multi": ()}, {})
    assert found.validation == {"single": (0.5,), "multi": (1.0,)}


def test_a_share_is_a_count_divided_by_a_count():
    assert share(torch.tensor([True] * 1 + [False] * 2)) == 1 / 3


def test_scores_that_are_not_numbers_are_an_error_that_names_the_task():
    task = make_task(1, [[0.0, 0, 1, 0], [0, 0, float("nan"), 0]], [2, 3])
    with pytest.raises(Diverged, match=r"task 2 \(t1\) are not finite"):
        evaluate(Table(), [FIRST, task])


def test_classes_with_large_numbers_need_no_more_memory():
    learner, y = Table(), torch.tensor([2**62, 5])
    learner.columns = lambda task=None: [2**62, 5, 6, 7]
    split = Split(torch.tensor([[1.0, 0, 0, 0], [1, 0, 0, 0]]), y)
    task = Task("t", 0, (5, 2**62), split, split, split)
    assert evaluate(learner, [task]).per_class["single"] == {"5": 0.0, str(2**62): 1.0}
