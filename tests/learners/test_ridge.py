"""Ridge regression: one task after another is joint training, to the bit."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from engram.core import Lesson
from engram.errors import BadData
from engram.learners.ridge import STRENGTHS


def _by_class(learner):
    return learner.solution[:, torch.tensor(learner.columns()).argsort()]


def test_the_order_of_tasks_and_joint_training_give_the_same_bits(make, teach, digits_lessons):
    once = _by_class(teach(make("ridge"), [Lesson.union(digits_lessons[:4])]))
    for order in itertools.islice(itertools.permutations(digits_lessons[:4]), 0, 24, 5):
        assert torch.equal(_by_class(teach(make("ridge"), order)), once)


def test_shared_classes_add_up(make, teach, permuted_lessons):
    one, other = (teach(make("ridge"), lessons) for lessons in (permuted_lessons, permuted_lessons[::-1]))
    assert torch.equal(one.solution, other.solution)


def test_it_solves_the_normal_equations(make, teach, permuted_lessons):
    learner = teach(make("ridge", strength=2.5, features=20), permuted_lessons[:1])
    x, y = permuted_lessons[0].train.batch(slice(None))
    features = x.flatten(1).double().numpy() @ learner.weights.numpy() + learner.offsets.numpy()
    features = np.round(np.clip(features, 0, 32) * 1024) / 1024
    phi = np.hstack([features, np.ones((len(x), 1))])
    expected = np.linalg.solve(phi.T @ phi + 2.5 * np.eye(21), phi.T @ np.eye(10)[y])
    assert np.allclose(learner.solution.numpy(), expected, atol=1e-6)
    assert np.allclose(learner.predict(x).numpy(), phi @ expected, atol=1e-4)


def test_without_random_features_it_is_ridge_regression_on_the_samples(make, teach, permuted_lessons):
    learner = teach(make("ridge", strength=2.5, features=0), permuted_lessons[:1])
    x, y = permuted_lessons[0].train.batch(slice(None))
    phi = np.hstack([x.flatten(1).double().numpy(), np.ones((len(x), 1))])  # sixteenths are on the grid
    expected = np.linalg.solve(phi.T @ phi + 2.5 * np.eye(65), phi.T @ np.eye(10)[y])
    assert np.allclose(learner.solution.numpy(), expected, atol=1e-6)


def test_a_strength_of_0_is_chosen_in_the_first_task(make, teach, permuted_lessons):
    chosen = teach(make("ridge", strength=0), permuted_lessons[:1])
    assert chosen.value in STRENGTHS
    assert chosen.chosen is not None
    fixed = teach(make("ridge", strength=chosen.value), permuted_lessons)
    assert torch.equal(teach(chosen, permuted_lessons[1:]).solution, fixed.solution)


def test_it_recognises_digits(make, teach, digits_lessons):
    learner = teach(make("ridge", features=200), digits_lessons)
    right = total = 0
    for lesson in digits_lessons:
        x, y = lesson.validation.batch(slice(None))
        right += (torch.tensor(learner.columns())[learner.predict(x).argmax(1)] == y).sum().item()
        total += len(y)
    assert right / total > 0.75


def test_a_task_without_samples_is_refused(make, digits_lessons):
    lesson = digits_lessons[0]
    nothing = lesson.train.take(torch.empty(0, dtype=torch.long))
    with pytest.raises(BadData, match="has no training samples"):
        next(make("ridge").learn(Lesson("empty", 0, lesson.classes, nothing, lesson.validation)))


@pytest.mark.parametrize("kind", ["waves", "filters", "patches"])
def test_on_a_map_it_solves_the_normal_equations_of_all_tasks(kind, make, teach, digits_lessons):
    learner = teach(make("ridge", map=kind, filters=8), digits_lessons[:2])
    x, y = (torch.cat(parts) for parts in zip(*(lesson.train.batch(slice(None)) for lesson in digits_lessons[:2])))
    phi = np.hstack([np.round(learner.mapped(x).double().numpy() * 32) / 32, np.ones((len(x), 1))])
    expected = np.linalg.solve(phi.T @ phi + np.eye(31), phi.T @ np.eye(4)[y])
    assert np.allclose(learner.solution.numpy(), expected, atol=1e-3)


def test_a_map_of_patches_recognises_more_digits(make, teach, digits_lessons):
    right = {}
    for kind in ("plain", "patches"):
        learner = teach(make("ridge", map=kind, features=300), digits_lessons)
        x, y = (torch.cat(parts) for parts in zip(*(each.validation.batch(slice(None)) for each in digits_lessons)))
        right[kind] = (torch.tensor(learner.columns())[learner.predict(x).argmax(1)] == y).double().mean().item()
    assert right["patches"] > right["plain"] > 0.7


def test_on_filters_the_order_of_tasks_and_joint_training_give_the_same_bits(make, teach, digits_lessons):
    once = _by_class(teach(make("ridge", map="filters", filters=8), [Lesson.union(digits_lessons)]))
    for order in (digits_lessons, digits_lessons[::-1]):
        assert torch.equal(_by_class(teach(make("ridge", map="filters", filters=8), order)), once)


def test_before_a_map_has_seen_anything_nothing_is_said(make, digits_lessons):
    learner = make("ridge", map="patches")
    assert learner.predict(torch.zeros(3, 1, 8, 8)).shape == (3, 0)
