"""Streaming linear discriminant analysis: by hand, written out, and one task after another as all at once."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from engram.core import Lesson, Outline, Split
from engram.errors import BadData
from engram.learners import create
from engram.learners.slda import SHRINKAGES, Rule
from engram.transform import Transform


def _lesson(x, y, index=0, validation=None):
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
    held = (torch.empty(0, x.shape[1]), torch.empty(0, dtype=torch.long)) if validation is None else validation
    return Lesson(f"lesson {index}", index, tuple(y.unique().tolist()), Split(x, y), Split(*held))


def _slda(features, classes, **settings):
    return create("slda", Outline((features,), tuple(range(classes))), 0, None, settings)


def _said(learner, x):
    return torch.tensor(learner.columns())[learner.predict(x).argmax(1)]


SQUARE = _lesson([[1, 2], [1, -2], [-3, 2], [-3, -2]], [0, 0, 1, 1])  # means (1, 0) and (-3, 0), variances 0 and 4


def test_two_classes_by_hand(teach):
    """S = diag(0, 4), s = ½: Σ = diag(1, 3). Around the centre (-1, 0) the means are (±2, 0)."""
    near = teach(_slda(2, 2, shrinkage=0.5, decision="distance"), [SQUARE])
    assert near.solution.tolist() == [[2, -2], [0, 0], [0, -4]]  # ±2(x + 1) − 2
    towards = teach(_slda(2, 2, shrinkage=0.5, decision="angle"), [SQUARE])
    assert towards.solution.tolist() == [[1, -1], [0, 0], [1, -1]]


@pytest.mark.parametrize("decision", ["distance", "angle"])
def test_it_is_the_analysis_written_out(decision, teach, make, digits_lessons):
    learner = teach(make("slda", shrinkage=0.3, decision=decision), digits_lessons[:3])
    parts = [lesson.train.batch(slice(None)) for lesson in digits_lessons[:3]]
    x = np.concatenate([x.flatten(1).double().numpy() for x, _ in parts])
    x, y = np.round(x * 1024) / 1024, np.concatenate([y.numpy() for _, y in parts])
    means = np.stack([x[y == label].mean(0) for label in range(6)])
    around = x - means[y]
    covariance = around.T @ around / len(x)
    covariance = 0.7 * covariance + 0.3 * np.trace(covariance) / 64 * np.eye(64)
    white = np.linalg.inv(np.linalg.cholesky(covariance))  # Σ is the identity there
    samples, centres = (x - x.mean(0)) @ white.T, (means - x.mean(0)) @ white.T
    if decision == "distance":
        expected = -((samples[:, None] - centres) ** 2).sum(2)
    else:
        expected = samples @ (centres / np.linalg.norm(centres, axis=1, keepdims=True)).T
    found = learner.predict(torch.tensor(x, dtype=torch.float32))[:, np.argsort(learner.columns())].numpy()
    difference = found - expected / (2 if decision == "distance" else 1)
    assert np.allclose(difference - difference.mean(1, keepdims=True), 0, atol=1e-3)


@pytest.mark.parametrize("decision", ["distance", "angle"])
def test_the_order_of_tasks_and_joint_training_give_the_same_bits(decision, make, teach, digits_lessons):
    def taught(lessons):
        learner = teach(make("slda", shrinkage=0.3, decision=decision), lessons)
        return learner.solution[:, torch.tensor(learner.columns()).argsort()]

    once = taught([Lesson.union(digits_lessons[:4])])
    for order in itertools.islice(itertools.permutations(digits_lessons[:4]), 0, 24, 5):
        assert torch.equal(taught(order), once)


def _halved(lesson, *, validation):
    """A lesson as the choice sees it: what is learned from first, and by hand what is held out."""
    y = lesson.train.y
    held = torch.cat([(y == label).nonzero().squeeze(1)[1::5] for label in lesson.classes]).sort().values
    rest = torch.tensor([k for k in range(len(y)) if k not in held.tolist()])
    parts = [lesson.train.take(held), *([lesson.validation] if validation else [])]
    return Lesson("rest", 0, lesson.classes, lesson.train.take(rest), lesson.validation), Split.join(parts)


@pytest.mark.parametrize("validation", [True, False])
def test_the_rule_that_has_most_right_is_chosen_in_the_first_task_and_stays(validation, make, teach, digits_lessons):
    lesson = Lesson.union(digits_lessons[:4])
    if not validation:
        lesson = Lesson("alone", 0, lesson.classes, lesson.train, lesson.train.take(torch.arange(0)))
    rest, held = _halved(lesson, validation=validation)
    x, y = held.batch(slice(None))
    learner = make("slda")
    rules, right = learner.candidates(), []
    for rule in rules:
        fixed = teach(make("slda", shrinkage=rule.shrinkage, decision=rule.decision), [rest])
        right.append(int((_said(fixed, x) == y).sum()))
    assert len(rules) == 2 * len(SHRINKAGES)
    assert len(set(right)) > 1
    best = rules[right.index(max(right))]
    assert teach(learner, [lesson]).value == best
    assert teach(learner, digits_lessons[4:]).value == best


def test_what_was_held_out_for_the_choice_is_learned_from_after_it(make, teach, digits_lessons):
    learner = teach(make("slda"), digits_lessons[:2])
    rule = learner.value
    fixed = teach(make("slda", shrinkage=rule.shrinkage, decision=rule.decision), digits_lessons[:2])
    assert torch.equal(learner.gram, fixed.gram)
    assert torch.equal(learner.solution, fixed.solution)


@pytest.mark.parametrize("stopped", [1, 2])
def test_a_kill_around_the_choice_changes_nothing(stopped, teach, snapshot, same_state):
    draw = torch.Generator().manual_seed(0)
    x, y = torch.randn(1500, 3, generator=draw), torch.arange(1500) % 3
    lesson = _lesson((x + torch.eye(3)[y]).tolist(), y.tolist())
    through = teach(_slda(3, 3), [lesson])
    killed = _slda(3, 3)
    for step in killed.learn(lesson):
        if step.done == stopped:
            break
    heir = _slda(3, 3)
    heir.load(snapshot(killed))
    assert same_state(snapshot(teach(heir, [lesson])), snapshot(through))
    assert through.chosen is not None


def test_one_class_is_no_choice_and_the_next_lesson_makes_it(teach):
    learner = teach(_slda(2, 3), [_lesson([[1, 2], [1, -2], [2, 0]], [2, 2, 2])])
    assert learner.value == Rule(0.5, "distance")
    assert _said(learner, torch.randn(4, 2)).tolist() == [2] * 4
    teach(learner, [_lesson([[9, 2], [9, -2], [8, 0], [-7, 1], [-7, -1], [-6, 0]], [0, 0, 0, 1, 1, 1], index=1)])
    assert learner.chosen is not None
    assert _said(learner, torch.tensor([[8.5, 0], [-7, 0], [1, 0]])).tolist() == [0, 1, 2]


@pytest.mark.parametrize("settings", [{}, {"shrinkage": 0.3, "decision": "distance"}, {"shrinkage": 1.0}])
def test_samples_that_do_not_differ_from_their_mean_leave_the_nearest_mean(settings, teach):
    learner = teach(_slda(2, 3, **settings), [_lesson([[1, 0]], [0]), _lesson([[-1, 0], [0, 3]], [1, 2], index=1)])
    assert _said(learner, torch.tensor([[0.9, 0.1], [-0.8, 0.0], [0.1, 2.0]])).tolist() == [0, 1, 2]
    assert learner.predict(torch.zeros(1, 2)).isfinite().all()


def test_a_class_without_samples_is_never_the_answer(teach):
    lesson = Lesson("one too many", 0, (0, 1, 2), SQUARE.train, SQUARE.validation)
    learner = teach(_slda(2, 3, shrinkage=0.5), [lesson])
    assert set(_said(learner, 5 * torch.randn(50, 2, generator=torch.Generator().manual_seed(0))).tolist()) == {0, 1}


def test_it_recognises_digits(make, teach, digits_lessons):
    learner = teach(make("slda"), digits_lessons)
    held = [lesson.validation.batch(slice(None)) for lesson in digits_lessons]
    assert sum(int((_said(learner, x) == y).sum()) for x, y in held) / sum(len(y) for _, y in held) > 0.75


def test_memory_does_not_grow_with_samples(teach):
    sizes = []
    for count in (10, 1000):
        x = torch.randn(count, 4, generator=torch.Generator().manual_seed(count))
        tensors = teach(_slda(4, 2), [_lesson(x.tolist(), [k % 2 for k in range(count)])]).state().tensors
        sizes.append(sum(tensor.numel() for tensor in tensors.values()))
    assert sizes[0] == sizes[1] == 5 * 5 + 2 * 5 * 2


def test_a_task_without_samples_is_refused(make, digits_lessons):
    lesson = digits_lessons[0]
    nothing = Split(lesson.train.x, torch.empty(0, dtype=torch.long), torch.empty(0, dtype=torch.long), Transform())
    with pytest.raises(BadData, match="has no training samples"):
        next(make("slda").learn(Lesson("empty", 0, lesson.classes, nothing, lesson.validation)))
