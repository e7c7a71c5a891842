"""Bad data: finite results, or our own error that names task and value. Never a bare traceback, never a nan."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from quick import quick

import engram
from engram.errors import BadData, EngramError
from engram.execute import execute
from engram.learners import learners
from engram.learners.rcl import RCL
from engram.parts.modular import Modular
from engram.request import prepare
from engram.store import Store

X, Y = np.arange(24, dtype=np.float32).reshape(8, 3) / 24, np.array([0, 1] * 4)
GOOD = (X, Y, X, Y)
SMALL = {"widths": "4", "batch": 4}
REFUSE_ONE_CLASS = ("geppnet", "geppnet+stm", "pathnet")  # in the first task


def changed(place, value):
    task = list(GOOD)
    task[place] = value
    return tuple(task)


def poked(value, dtype=np.float32):
    x = X.astype(dtype).copy()
    x[2, 1] = value
    return x


def numbers_of(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [number for part in value for number in numbers_of(part)]
    return [value] if isinstance(value, (int, float)) else []


def run_or_sentence(tasks, learner, **settings):
    """The record of a run on these arrays, or what Engram says on purpose. Any other exception is a bug."""
    try:
        return engram.run(engram.from_arrays(tasks), learner, **settings)
    except EngramError as error:
        return str(error)


def assert_finite(record):
    found = numbers_of(json.loads(json.dumps(record.to_json())))
    assert found
    assert all(math.isfinite(number) for number in found)


@pytest.mark.parametrize(
    "task, words",
    [
        (changed(0, poked(np.nan)), ("task 2", "x_train", "nan")),
        (changed(0, poked(np.inf)), ("task 2", "x_train", "inf")),
        (changed(2, poked(-np.inf)), ("task 2", "x_test", "inf")),
        (changed(0, poked(1e300, np.float64)), ("task 2", "x_train")),
        (changed(0, X[:0]), ("task 2", "x_train", "(0, 3)")),
        (changed(2, X[:0]), ("task 2", "x_test", "(0, 3)")),
        (changed(0, X[:5]), ("task 2", "5 samples", "8 labels")),
        (changed(0, X[:, :2]), ("task 2", "x_train", "(2,)")),
        (changed(0, X.astype(str)), ("task 2", "x_train")),
        (changed(0, X.astype(complex)), ("task 2", "x_train")),
        (changed(0, None), ("task 2", "x_train")),
        (changed(1, Y + 0.5), ("task 2", "y_train")),
        (changed(1, Y.reshape(-1, 2)), ("task 2", "y_train", "(4, 2)")),
        (changed(1, Y.astype(str)), ("task 2", "y_train", "text")),
        (changed(3, Y + 5), ("task 2", "y_test", "5")),
        (changed(1, Y + 1j), ("task 2", "y_train")),
        ((X, Y), ("task 2",)),
        (7, ("task 2",)),
    ],
)  # fmt: skip
def test_bad_arrays_are_refused_with_task_and_value(task, words):
    with pytest.raises(EngramError) as caught:
        engram.run(engram.from_arrays([GOOD, task]), "finetune", **SMALL)
    for word in words:
        assert word in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("tasks", [[], {}, "tasks", 3, None])
def test_no_tasks_are_refused(tasks):
    with pytest.raises(EngramError, match="task"):
        engram.from_arrays(tasks)


@pytest.mark.parametrize("learner", learners())
@pytest.mark.parametrize(
    "tasks",
    [
        [(X[:1], Y[:1], X[:1], Y[:1])],
        [(X[:1], Y[:1], X[:1], Y[:1]), (X[1:2], Y[1:2], X[1:2], Y[1:2])],
        [(X, Y * 0, X, Y * 0), (X, Y * 0 + 1, X, Y * 0 + 1)],
        [GOOD, GOOD],
        [(X * 0, Y, X * 0, Y), GOOD],
        [(X[::-1], Y[::-1], X.T.copy().T, Y), GOOD],
        [(X.astype(np.float16), Y, X, Y), (X.astype(np.int32), Y, X, Y)],
        [(X, Y - 1, X, Y - 1), (X, Y * 10**12, X, Y * 10**12)],
        [(X, (Y + 1).astype(str), X, (Y + 1).astype(str)), (X, Y.astype(str), X, Y.astype(str))],
    ],
    ids=["one sample", "one sample each", "one class", "seen again", "constant", "not contiguous", "number formats"]
    + ["any numbers as labels", "text as labels"],
)
def test_odd_but_possible_data_gives_finite_results(tasks, learner):
    stream = engram.from_arrays(tasks)
    if issubclass(learners()[learner], (Modular, RCL)) and len(tasks) > 1 and len(tasks[1][1]) == 1:
        with pytest.raises(BadData, match=r"task 2 .* has no validation data .*; give a class of it at least two"):
            engram.run(stream, learner, widths="4", **quick(learner))
        return
    if len(stream[0].classes) > 1 or learner not in REFUSE_ONE_CLASS:
        assert_finite(engram.run(stream, learner, widths="4", curve=(0, 1), **quick(learner)))
        return
    with pytest.raises(BadData, match=r"task 1 .* (has 1 class|has 1 of at least 2 (classes|training samples))"):
        prepare(stream, learner)


@pytest.mark.parametrize("learner", ["geppnet", "geppnet+stm"])
def test_a_later_task_of_one_sample_is_refused_before_anything_is_trained(learner):
    stream = engram.from_arrays([GOOD, (X[:1], Y[:1], X[:1], Y[:1])])
    with pytest.raises(BadData, match=rf"task 2 .* 1 of at least 2 .* that learner '{re.escape(learner)}' needs"):
        prepare(stream, learner)


@pytest.mark.filterwarnings("ignore:.*holds numbers as large as")
@pytest.mark.parametrize("learner", ["finetune", "ewc", "si", "joint", "new-head"])
@pytest.mark.parametrize("scale, rate", [(1e38, 1e-3), (1.0, 1e6), (1.0, 1e30), (1e20, 1e10)])
def test_a_diverging_run_is_finite_or_names_its_task(learner, scale, rate):
    tasks = [(X * scale, Y, X * scale, Y)] * 2
    tasks = [tuple(part.astype(np.float32) if part.dtype.kind == "f" else part for part in task) for task in tasks]
    found = run_or_sentence(tasks, learner, rate=rate, epochs=3, optimizer="sgd", **SMALL)
    if isinstance(found, str):
        assert "task 1" in found or "task 2" in found
    else:
        assert_finite(found)


def test_a_diverging_run_is_stored_as_failed_and_others_go_on(tmp_path):
    runs = [prepare("split-digits", "finetune", settings={**SMALL, "rate": rate}) for rate in (1e30, 1e-3)]
    store = Store(tmp_path)
    execute(runs, store)
    failed, fine = store.runs()
    assert failed["status"] == "failed"
    assert "task 1 (digits 0-1)" in failed["error"]
    assert "1e+30" in failed["error"]
    assert fine["status"] == "done"
    store.close()


NUMBER = st.floats(-5, 5, width=32)
BAD_NUMBER = st.sampled_from([float("nan"), float("inf"), -float("inf"), 3e38, -3e38])


@st.composite
def any_task(draw):
    """A good task, with at most a few of the things that can be wrong with one."""
    trains, tests = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    y_train = draw(st.lists(st.integers(0, 3), min_size=trains, max_size=trains))
    y_test = draw(st.lists(st.sampled_from(y_train), min_size=tests, max_size=tests))
    x_train, x_test = (
        np.array(draw(st.lists(NUMBER, min_size=2 * n, max_size=2 * n)), np.float32).reshape(n, 2)
        for n in (trains, tests)
    )
    task = {"x_train": x_train, "y_train": np.array(y_train), "x_test": x_test, "y_test": np.array(y_test)}
    for wrong in (
        draw(st.lists(st.sampled_from(["value", "label", "count", "width", "empty"]), max_size=2))
        if draw(st.booleans())
        else ()
    ):
        spoil(draw, task, wrong)
    return task


def spoil(draw, task, wrong):
    part = draw(st.sampled_from(["train", "test"]))
    x, y = f"x_{part}", f"y_{part}"
    if wrong == "value" and task[x].size:
        task[x].flat[draw(st.integers(0, task[x].size - 1))] = draw(BAD_NUMBER)
    elif wrong == "label" and len(task[y]):
        task[y][draw(st.integers(0, len(task[y]) - 1))] = draw(st.sampled_from([-1, 40, 4]))
    elif wrong == "count":
        task[y] = task[y][1:]
    elif wrong == "width":
        task[x] = np.concatenate([task[x], task[x][:, :1]], axis=1)
    elif wrong == "empty":
        task[x], task[y] = task[x][:0], task[y][:0]


@pytest.mark.filterwarnings("ignore:.*holds numbers as large as", "ignore:.*has no test samples of class")
def test_whatever_comes_the_answer_is_finite_or_our_own_error():
    ended = {"finite": 0, "refused": 0}

    @settings(max_examples=150, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(any_task(), max_size=3), st.sampled_from(sorted(learners())))
    def answers(tasks, learner):
        found = run_or_sentence(tasks, learner, widths="3", batch=3, **quick(learner))
        ended["refused" if isinstance(found, str) else "finite"] += 1
        if not isinstance(found, str):
            assert_finite(found)

    answers()
    assert min(ended.values()) >= 30, ended  # neither answer is the only one that was ever given
