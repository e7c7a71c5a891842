"""EWC++: the running Fisher information, against the steps of a loop written out by hand."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from engram.checks import check_learner
from engram.costs import itemise
from engram.learners.ewc_plus_plus import min_max, normalised
from engram.networks import Blueprint
from engram.parts import fisher
from engram.randomness import generator

SETTINGS = {"optimizer": "sgd", "rate": 0.05, "strength": 3.0}


def _squares_of_every_step(learner, lesson, per_sample=False, pull=None):
    """The squared gradient of every batch of the first epoch, while plain sgd goes through it."""
    network, found = learner.network, []
    order = torch.randperm(len(lesson.train), generator=generator(learner.seed, "order", lesson.index, 0))
    for index in order.split(learner.batch):
        x, y = lesson.train.batch(index)
        found.append(_sample_squares(network, x, y) if per_sample else _batch_squares(network, x, y))
        network.backward(F.cross_entropy(network.scores(network.features(x)), y))
        step = network.grad if pull is None else network.grad + pull(network.theta)
        network.theta.sub_(learner.rate * step)
    return found


def _batch_squares(network, x, y):
    network.backward(F.cross_entropy(network.scores(network.features(x)), y))
    return network.grad**2


def _sample_squares(network, x, y):
    return torch.stack([_batch_squares(network, x[k : k + 1], y[k : k + 1]) for k in range(len(x))]).mean(0)


def _running(start, squares, interval, alpha):
    for at in range(0, len(squares) - interval + 1, interval):
        start = alpha * torch.stack(squares[at : at + interval]).mean(0) + (1 - alpha) * start
    return start


@pytest.mark.parametrize("estimator", ["batch", "empirical"])
def test_the_running_fisher_information_of_two_tasks(estimator, make, teach, permuted_lessons):
    settings = {"interval": 4, "alpha": 0.7, "estimator": estimator, **SETTINGS}
    learner, copy = make("ewc++", **settings), make("ewc++", **settings)
    next(copy.learn(permuted_lessons[0]))
    squares = _squares_of_every_step(copy, permuted_lessons[0], estimator == "empirical")
    assert len(squares) == 10  # so that two steps of the last interval are left over
    teach(learner, permuted_lessons[:1])
    first = _running(torch.zeros_like(squares[0]), squares, 4, 0.7)
    assert torch.allclose(learner.parameters(), copy.network.theta, atol=1e-6)
    assert torch.allclose(learner.kept["importance"], first, atol=1e-7, rtol=1e-4)
    assert torch.equal(learner.kept["anchor"], learner.parameters())

    anchor = copy.network.theta.clone()
    squares = _squares_of_every_step(
        copy, permuted_lessons[1], estimator == "empirical", lambda theta: 3.0 * first * (theta - anchor)
    )
    teach(learner, permuted_lessons[1:2])
    second = _running(first, squares, 4, 0.7)
    assert torch.allclose(learner.parameters(), copy.network.theta, atol=1e-5)
    assert torch.allclose(learner.kept["importance"], second, atol=1e-6, rtol=1e-3)
    assert not torch.allclose(first, second, rtol=1e-1)


def test_one_step_and_alpha_one_is_the_last_batchs_squared_gradient(make, permuted_lessons):
    learner = make("ewc++", interval=1, alpha=1)
    for _ in learner.learn(permuted_lessons[0]):
        last = learner.network.grad.clone()
    assert last.any()
    assert torch.equal(learner.kept["importance"], last**2)


@pytest.mark.parametrize("estimator", ["batch", "empirical"])
def test_an_update_at_every_step_is_an_interval_of_one(estimator, make, teach, snapshot, same_state, permuted_lessons):
    """F ← α g² + (1 − α) F at every iteration: the text after equation 6."""
    settings = {"estimator": estimator, **SETTINGS}
    text, one, code = (
        teach(make("ewc++", **settings, **own), permuted_lessons[:2])
        for own in ({"fisher_update": "step"}, {"interval": 1}, {})
    )
    assert same_state(snapshot(text), snapshot(one))
    assert not torch.equal(text.kept["importance"], code.kept["importance"])


def test_a_task_shorter_than_the_interval_is_one_interval(make, teach, permuted_lessons):
    short, whole = (teach(make("ewc++", interval=n, alpha=1), permuted_lessons[:1]) for n in (1000, 10))
    assert torch.allclose(short.kept["importance"], whole.kept["importance"], rtol=1e-4, atol=1e-12)
    assert whole.kept["importance"].any()


def test_a_cold_fisher_information_knows_only_the_present_task(make, teach, permuted_lessons):
    for warm, alike in ((True, False), (False, True)):
        learner = make("ewc++", strength=0, alpha=0.5, warm=warm)
        teach(learner, permuted_lessons[:1])
        learner.kept["fisher"].fill_(5.0)
        teach(learner, permuted_lessons[1:2])
        assert (learner.kept["importance"].max() < 1).item() is alike


def test_the_penalty_follows_the_stored_fisher_information(make, teach, permuted_lessons):
    learner = teach(make("ewc++", strength=7.0), permuted_lessons[:1])
    before = learner.pull().weight
    assert torch.equal(before, 7.0 * learner.kept["importance"])
    learner.kept["importance"] *= 10
    assert torch.allclose(learner.pull().weight, 10 * before)


def test_between_tasks_it_keeps_three_vectors(make, teach, snapshot, digits_lessons):
    learner = teach(make("ewc++"), digits_lessons[:2])
    assert {len(vector) for vector in learner.kept.values()} == {len(learner.parameters())}
    bytes_ = itemise(snapshot(learner))
    extra = bytes_["anchor"] + bytes_["importance"] + bytes_["fisher"]
    assert extra == 3 * (bytes_["parameters"] + bytes_["heads"])
    assert extra == bytes_["total"] - bytes_["parameters"] - bytes_["heads"]


def test_new_outputs_weigh_nothing(make, teach, digits_lessons):
    learner = teach(make("ewc++", normalise="joint"), digits_lessons[:1])
    old = len(learner.parameters())
    next(learner.learn(digits_lessons[1]))
    assert not learner.current_pull.weight[old:].any()
    assert learner.current_pull.weight[:old].any()


def test_heads_of_their_own_are_not_held(make, teach, digits_lessons):
    for estimator in ("batch", "empirical"):
        learner = teach(make("ewc++", heads="per-task", estimator=estimator), digits_lessons[:2])
        assert {len(vector) for vector in learner.kept.values()} == {learner.network.trunk_size}


def test_min_max():
    assert min_max(torch.tensor([1.0, 2.0, 5.0])).tolist() == [0.0, 0.25, 1.0]
    assert min_max(torch.full((3,), 7.0)).tolist() == [0.0, 0.0, 0.0]
    assert min_max(torch.tensor([1e-40, 0.0])).tolist() == [1.0, 0.0]
    assert len(min_max(torch.empty(0))) == 0


@pytest.mark.parametrize("whole", [True, False])
def test_each_tensor_for_itself(whole):
    network = Blueprint.of("mlp", widths="5-4").build((1, 2, 3), seed=0)
    network.append(torch.randn(3, 5, generator=torch.Generator().manual_seed(1)))
    size = len(network.theta) if whole else network.trunk_size
    values = torch.rand(size, generator=torch.Generator().manual_seed(2))
    found = normalised(values, "per-tensor", network)
    rows = found[network.trunk_size :].view(-1, network.row_size)
    parts = [found[network.span(p)] for p in network.trunk.parameters()] + [rows[:, :-1], rows[:, -1]] * whole
    assert all(part.min() == 0 and part.max() == 1 for part in parts)
    joint = normalised(values, "joint", network)
    assert (joint == 0).sum() == (joint == 1).sum() == 1
    assert normalised(values, "none", network) is values


def test_the_samples_of_a_batch_have_the_weight_that_they_have_in_training(make, teach, digits_lessons):
    """With exemplars and a class-weighted loss, and with the softmax over each sample's own task."""
    settings = {"exemplars": 3, "class_weighted": True, "loss_over": "task", "estimator": "empirical", "batch": 96}
    for statistics in ("plain", "weighted"):
        learner = teach(make("ewc++", statistics=statistics, **settings), digits_lessons[:1])
        next(learner.learn(digits_lessons[1]))
        x, y = learner.data.batch(slice(None))
        y = learner.places[y]
        expected = torch.zeros_like(learner.parameters())
        for k in range(len(x)):
            scores = learner.network.scores(learner.network.features(x[k : k + 1]), learner.active)
            loss = F.cross_entropy(scores + learner.criterion.own.masks[y[k]], y[k : k + 1])
            learner.network.backward(loss * (learner.criterion.weights[y[k]] if statistics == "weighted" else 1))
            expected += learner.network.grad**2 / len(x)
        assert torch.allclose(learner.sample_squares(x, y), expected, rtol=1e-3, atol=1e-7)


def test_of_batch_equals_the_diagonal(make, teach, permuted_lessons):
    learner = teach(make("ewc++"), permuted_lessons[:1])
    x, y = permuted_lessons[0].train.batch(slice(None))
    values = fisher.of_batch(
        learner.network, x, learner.active, lambda scores: F.cross_entropy(scores, y, reduction="sum")
    )
    expected = fisher.diagonal(
        learner.network, permuted_lessons[0].train, lambda y: y, learner.active, "empirical", torch.Generator()
    )
    assert torch.allclose(values, expected, rtol=1e-4, atol=1e-9)


VARIANTS = [
    {"estimator": "empirical", "heads": "per-task", "interval": 3},
    {"warm": False, "normalise": "joint", "interval": 7, "penalty_step": "implicit"},
    {"exemplars": 3, "class_weighted": True, "normalise": "per-tensor", "optimizer_reset": "none"},
]


@pytest.mark.parametrize("settings", VARIANTS)
def test_the_contract_with_other_settings(settings):
    broken = {
        check.name: check.detail for check in check_learner("ewc++", seed=1, settings=settings) if not check.passed
    }
    assert not broken
