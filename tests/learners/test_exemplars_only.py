"""Exemplars and nothing else: what is kept is all there is, and it recognises digits."""

from __future__ import annotations

import pytest
import torch

from engram.core import Lesson, Outline, Split
from engram.costs import itemise
from engram.errors import BadData, Diverged
from engram.learners.exemplars_only import ExemplarsOnly
from engram.transform import Transform


def _accuracy(learner, lessons):
    x, y = Lesson.union(lessons).validation.batch(slice(None))
    return (torch.tensor(learner.columns())[learner.predict(x).argmax(1)] == y).float().mean().item()


def test_it_recognises_digits_after_the_last_task(make, teach, digits_lessons):
    plain = _accuracy(teach(make("exemplars-only"), digits_lessons), digits_lessons)
    assert plain > 0.75
    mapped = teach(make("exemplars-only", map="patches", strength=1e-3), digits_lessons)
    assert _accuracy(mapped, digits_lessons) > plain


@pytest.mark.parametrize("kind", ["plain", "patches"])
def test_the_exemplars_are_all_of_the_state(kind, make, teach, digits_lessons):
    learner = teach(make("exemplars-only", exemplars=4, map=kind), digits_lessons)
    state = learner.state()
    assert itemise(state) == {"exemplars": 40 * 64 + 40 * 8, "total": 40 * 64 + 40 * 8}
    assert state.tensors["exemplars.x"].dtype == torch.uint8


def test_a_hundred_digits_take_less_than_100_kilobytes(teach):
    x = torch.randint(0, 256, (200, 1, 28, 28), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    split = Split(x, torch.arange(10).repeat(20), transform=Transform(scale=1 / 255))
    learner = ExemplarsOnly(Outline((1, 28, 28), tuple(range(10))), copies=1, filters=2)
    teach(learner, [Lesson("noise", 0, tuple(range(10)), split, split)])
    assert len(learner.memory) == 100
    assert itemise(learner.state())["total"] < 100_000


@pytest.mark.parametrize("kind", ["plain", "patches"])
def test_a_loaded_learner_scores_the_same_bits(kind, make, teach, snapshot, digits_lessons):
    learner, heir = teach(make("exemplars-only", map=kind), digits_lessons[:2]), make("exemplars-only", map=kind)
    heir.load(snapshot(learner))
    x, _ = digits_lessons[0].validation.batch(slice(None))
    assert torch.equal(heir.predict(x), learner.predict(x))
    assert torch.equal(heir.parameters(), learner.parameters())


def test_it_solves_kernel_ridge_on_the_exemplars(make, teach, digits_lessons):
    learner = teach(make("exemplars-only", augment=False, strength=0.5, exemplars=5), digits_lessons[:2])
    x, y = learner.memory.split().batch(slice(None))
    points = learner.phi(x).double()
    distances = torch.cdist(points, points).square()
    pairs = distances[torch.triu(torch.ones_like(distances), 1) > 0]
    kernel = torch.exp(-distances / pairs.median())
    targets = (y[:, None] == torch.arange(4)).double()
    expected = kernel @ torch.linalg.solve(kernel + 0.5 * torch.eye(20), targets)
    assert torch.allclose(learner.predict(x).double(), expected, atol=1e-4)


def test_copies_are_learned_from_only_where_asked(make, teach, digits_lessons):
    def points(**settings):
        return len(teach(make("exemplars-only", exemplars=3, **settings), digits_lessons[:1]).solution().points)

    assert points(augment=False) == 6
    assert points(copies=4) == 6 * 5


def test_a_centred_image_is_warped_before_the_mean_is_subtracted(make, teach, digits_lessons):
    plain = digits_lessons[0].train
    shift = torch.rand(1, 8, 8, generator=torch.Generator().manual_seed(0))
    centred = Split(plain.x, plain.y, plain.rows, Transform(scale=plain.transform.scale, shift=shift))
    learners = [
        teach(make("exemplars-only", sampling="uniform"), [Lesson("", 0, (0, 1), data, data)])
        for data in (plain, centred)
    ]
    original, shifted = (learner._augmented(learner.memory.split())[0] for learner in learners)
    assert torch.allclose(original - shift, shifted, atol=1e-6)


@pytest.mark.parametrize("shape", [(6,), (3, 2, 2), (3, 8, 8), (1, 4, 9)])
def test_samples_of_any_shape(shape, teach):
    draw = torch.Generator().manual_seed(1)
    centres, y = torch.rand(2, *shape, generator=draw), torch.arange(2).repeat(30)
    data = Split(centres[y] + 0.05 * torch.randn(60, *shape, generator=draw), y)
    learner = ExemplarsOnly(Outline(shape, (0, 1)), copies=3, filters=8, features=50)
    teach(learner, [Lesson("two", 0, (0, 1), data, data)])
    assert _accuracy(learner, [Lesson("two", 0, (0, 1), data, data)]) > 0.95


@pytest.mark.parametrize("sampling", ["mof", "uniform"])
def test_fewer_samples_than_wanted_are_all_kept(sampling, make, teach, digits_lessons):
    learner = teach(make("exemplars-only", exemplars=1000, copies=1, sampling=sampling), digits_lessons[:1])
    assert len(learner.memory) == 90


def test_a_class_without_exemplars_yet_scores_nothing(make, teach, digits_lessons):
    learner = teach(make("exemplars-only"), digits_lessons[:1])
    next(learner.learn(digits_lessons[1]))
    x, _ = digits_lessons[0].validation.batch(slice(None))
    assert learner.columns() == [0, 1, 2, 3]
    assert learner.predict(x)[:, 2:].eq(0).all()
    assert learner.predict(x)[:, :2].ne(0).any()


def test_bad_lessons_are_refused(make, teach, digits_lessons):
    lesson = digits_lessons[0]
    nothing = lesson.train.take(torch.empty(0, dtype=torch.long))
    with pytest.raises(BadData, match="has no training samples"):
        next(make("exemplars-only").learn(Lesson("empty", 0, lesson.classes, nothing, nothing)))
    x, y = lesson.train.batch(slice(None))
    broken = Split(torch.full_like(x, float("nan")), y)
    for sampling in ("mof", "uniform"):
        with pytest.raises(BadData, match=r"task 1 \(broken\) has samples that are not numbers"):
            teach(make("exemplars-only", sampling=sampling), [Lesson("broken", 0, lesson.classes, broken, broken)])


def test_equations_without_a_solution_are_refused(make, teach, digits_lessons):
    lesson = digits_lessons[0]
    same = Split(torch.zeros(20, 1, 8, 8), torch.arange(2).repeat(10))  # whose distances are 0 on every processor
    with pytest.raises(Diverged, match=r"task 1 \(same\); raise the strength \(now 1e-300\)"):
        teach(make("exemplars-only", strength=1e-300, augment=False), [Lesson("same", 0, lesson.classes, same, same)])


@pytest.mark.parametrize("points, copies", [(8000, 5), (60, 2), (59, 1), (30, 0), (1, 0)])
def test_copies_are_made_as_far_as_there_is_room_for_points(points, copies, make, digits_lessons):
    learner = make("exemplars-only", exemplars=10, copies=5, points=points)
    for _ in learner.learn(digits_lessons[0]):
        pass
    kept = len(learner.memory)
    assert kept == 20
    assert len(learner.solution().points) == kept * (1 + copies)
