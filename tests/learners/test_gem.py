"""Gradient episodic memory: the projection against other solvers, the memory against the order of training."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.optimize import minimize

from engram.checks import assert_learner
from engram.core import Lesson, Split
from engram.costs import itemise
from engram.errors import Diverged
from engram.learners.gem import double_product, least_above, project
from engram.networks import Blueprint
from engram.randomness import generator
from engram.transform import Transform


def _draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_a_conflict_of_two():
    assert project(torch.tensor([1.0, 0.0]), torch.tensor([[-1.0, 1.0]]), 0.0, 0.0).tolist() == [0.5, 0.5]


def test_without_conflict_nothing_changes_to_the_bit():
    gradient, others = torch.tensor([1.0, 0.25, 0.0]), torch.tensor([[1.0, 0.0, 3.0], [0.0, 0.0, 1.0]])
    assert project(gradient, others, margin=0.5) is gradient


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("margin", [0.0, 0.5])
def test_the_quadratic_programme_against_another_solver(seed, margin):
    size = 1 + seed % 5
    others, gradient = _draw(size, 12, seed=seed).double(), _draw(12, seed=100 + seed).double()
    quadratic, linear = others @ others.t() + 1e-3 * torch.eye(size), others @ gradient
    p, q = quadratic.numpy(), linear.numpy()
    expected = minimize(
        lambda v: 0.5 * v @ p @ v + q @ v,
        np.full(size, margin + 1.0),
        jac=lambda v: p @ v + q,
        bounds=[(margin, None)] * size,
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-10},
    )
    found = least_above(quadratic, linear, margin)
    assert torch.allclose(found, torch.from_numpy(expected.x), atol=1e-5)
    assert (found >= margin).all()


@pytest.mark.parametrize("seed", range(10))
def test_the_nearest_gradient_that_is_in_conflict_with_none(seed):
    others, gradient = _draw(4, 9, seed=seed), _draw(9, seed=50 + seed)
    found = project(gradient, others, margin=0.0, ridge=0.0)
    assert (others @ found >= -1e-4).all()
    for other in _feasible(others):
        assert (found - gradient).norm() <= (other - gradient).norm() + 1e-5


def _feasible(others):
    candidates = _draw(4000, others.shape[1], seed=7) * 2
    return candidates[(candidates @ others.t() >= 0).all(1)]


def test_products_are_formed_in_double_precision():
    """1e8 − 1 − 1e8 is −1; in single precision it is 0, and there would be no conflict."""
    gradient, others = torch.tensor([1e4, -1.0, 1e4]), torch.tensor([[1e4, 1.0, -1e4]])
    found = project(gradient, others, margin=1.0)
    assert found.tolist() == [2e4, 0.0, 0.0]
    assert double_product(others, others).tolist() == [[2e8 + 1]]


def test_memories_that_pull_the_same_way():
    """The quadratic form is singular; the weights are not unique, the gradient is."""
    gradient, other = torch.tensor([1.0, 0.0]), torch.tensor([-1.0, 1.0])
    found = project(gradient, torch.stack([other, other, 2 * other]), margin=0.0, ridge=0.0)
    assert torch.allclose(found, torch.tensor([0.5, 0.5]), atol=1e-5)


def test_a_memory_without_gradient():
    gradient, others = torch.tensor([1.0, 0.0]), torch.tensor([[0.0, 0.0], [-1.0, 1.0]])
    assert torch.allclose(project(gradient, others, 0.0, 0.0), torch.tensor([0.5, 0.5]), atol=1e-6)


def test_the_first_task_is_plain_training(make, teach, digits_lessons):
    settings = {"optimizer": "sgd", "rate": 0.05, "loss_over": "task", "epochs": 2}
    learner, plain = (teach(make(name, **settings), digits_lessons[:1]) for name in ("gem", "finetune"))
    assert torch.equal(learner.parameters(), plain.parameters())
    assert learner.flops() == plain.flops()


def test_it_keeps_the_examples_that_it_saw_last(make, teach, snapshot, digits_lessons):
    learner = teach(make("gem", memory=20, epochs=2), digits_lessons[:2])
    for task, kept in learner.memories().items():
        lesson = digits_lessons[task]
        order = torch.randperm(len(lesson.train), generator=generator(0, "order", task, 1))
        x, y = lesson.train.batch(order[-20:])
        assert torch.equal(kept.batch(slice(None))[0], x)
        assert torch.equal(kept.y, y)
    assert list(learner.memories()) == [0, 1]
    assert itemise(snapshot(learner))["memory"] == 2 * 20 * (64 + 8)  # bytes as bytes, labels as int64


def test_fewer_examples_than_asked_for_are_all_kept(make, teach, digits_lessons):
    learner = teach(make("gem", memory=1000), digits_lessons[:1])
    assert sorted(learner.memories()[0].y.tolist()) == sorted(digits_lessons[0].train.y.tolist())


def test_centred_samples_come_back_as_they_were(make, teach, digits_lessons):
    lessons = []
    for lesson in digits_lessons[:2]:
        old = lesson.train
        train = Split(old.x, old.y, old.rows, Transform(scale=old.transform.scale, shift=torch.full((1, 8, 8), 0.25)))
        lessons.append(Lesson(lesson.name, lesson.index, lesson.classes, train, lesson.validation))
    learner = teach(make("gem", memory=5), lessons)
    order = torch.randperm(90, generator=generator(0, "order", 1, 0))
    assert torch.equal(learner.memories()[1].batch(slice(None))[0], lessons[1].train.batch(order[-5:])[0])


def test_a_step_is_in_conflict_with_no_memory(make, teach, digits_lessons):
    """Every gradient that is stepped along has no negative product with the memories' own, each over its task."""
    learner = teach(make("gem", margin=0, memory=30), digits_lessons[:2])
    conflicts = 0
    for step in learner.learn(digits_lessons[2]):
        if not step.done:
            continue
        network, taken = learner.network, learner.network.grad.clone()
        theta = network.theta.clone()
        network.assign(theta + learner.rate * taken)  # where the step began
        for task, kept in learner.memories().items():
            active, places = learner.outputs.active(task, "task")
            x, y = kept.batch(slice(None))
            network.backward(F.cross_entropy(network.scores(network.features(x), active), places[y]))
            assert network.grad @ taken >= -1e-2 * network.grad.norm() * taken.norm()
        network.assign(theta)
        conflicts += 1
    assert conflicts == 6


def test_it_forgets_less_than_plain_training(make, teach, permuted_lessons):
    """The loss on the first task's memory after two further tasks."""
    losses = []
    settings = {"optimizer": "sgd", "rate": 0.1, "loss_over": "task", "epochs": 10}
    for name in ("gem", "finetune"):
        learner = teach(make(name, **settings), permuted_lessons)
        x, y = permuted_lessons[0].train.batch(slice(None))
        losses.append(F.cross_entropy(learner.predict(x, 0), y).item())
    assert losses[0] < losses[1] - 0.3


def test_memory_passes_are_counted(make, teach, digits_lessons):
    settings = {"optimizer": "sgd", "loss_over": "task"}
    learner, plain = (teach(make(name, memory=10, **settings), digits_lessons[:2]) for name in ("gem", "finetune"))
    per_sample = plain.flops() // 180  # 90 samples of each lesson, two outputs each
    projections = learner.flops() - plain.flops() - 6 * 10 * per_sample
    product = 2 * len(learner.parameters())  # one a step, and two more where there is a conflict
    assert projections in [(6 + 2 * conflicts) * product for conflicts in range(7)]


def test_a_memory_whose_gradient_is_not_finite_is_refused(make, teach, digits_lessons):
    learner = teach(make("gem"), digits_lessons[:1])
    learner.samples.x = learner.samples.x.float()
    learner.samples.x[0, 0, 0, 0] = float("nan")
    with pytest.raises(Diverged, match="memory is not finite at task 2, step 1; lower the rate"):
        teach(learner, digits_lessons[1:2])


@pytest.mark.parametrize(
    "settings",
    [
        {"heads": "per-task", "memory": 7, "margin": 0.0},
        {"loss_over": "seen", "optimizer": "adam", "optimizer_reset": "none", "heads": "masked"},
    ],
)
def test_the_contract_with_other_settings(settings):
    assert_learner("gem", seed=1, settings=settings)


def test_a_task_learned_again_replaces_its_memory(make, teach, digits_lessons):
    learner = teach(make("gem", memory=8, network=Blueprint.of("mlp", widths="12")), digits_lessons[:2])
    teach(learner, digits_lessons[:1])
    assert {task: len(kept) for task, kept in learner.memories().items()} == {0: 8, 1: 8}
