"""EWC and online EWC: the gradient of a step, against the penalty written out for autograd."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from engram.parts import fisher
from engram.randomness import generator
from engram.request import prepare


def _plain_and_penalised(learner, lesson):
    """The gradient of the first step of a lesson, without and with the penalty, and theta there."""
    seen = {}

    def descend(_theta, grad, _part):
        seen["penalised"] = grad.clone()

    def edit():
        seen["plain"] = learner.network.grad.clone()

    learner.optimiser.step, learner.edit = descend, edit
    steps = learner.learn(lesson)
    next(steps)
    learner.network.theta.add_(0.01)  # away from the anchor, where the penalty has no gradient
    seen["theta"] = learner.network.theta.clone()
    next(steps)
    return seen


def _autograd(theta, penalty):
    theta = theta.clone().requires_grad_()
    penalty(theta).backward()
    return theta.grad


@pytest.mark.parametrize("heads", ["growing", "masked", "per-task"])
def test_the_penalty_of_two_tasks(heads, make, teach, digits_lessons):
    learner = teach(make("ewc", strength=30, heads=heads, optimizer="sgd", rate=0.1), digits_lessons[:2])
    v = learner.kept
    pairs = [(v["importance.0"], v["anchor.0"]), (v["importance.1"], v["anchor.1"])]
    assert not torch.equal(v["importance.0"][:50], v["importance.1"][:50])
    seen = _plain_and_penalised(learner, digits_lessons[2])

    def penalty(theta):
        return sum(30 / 2 * (f * (theta[: len(f)] - anchor) ** 2).sum() for f, anchor in pairs)

    expected = _autograd(seen["theta"], penalty)
    assert expected.abs().max() > 1e-4
    assert torch.allclose(seen["penalised"] - seen["plain"], expected, atol=1e-5 * max(1, expected.abs().max().item()))


def test_the_running_penalty_of_online_ewc(make, teach, digits_lessons):
    settings = {"strength": 30, "decay": 0.5, "optimizer": "sgd", "rate": 0.1}
    learner = teach(make("online-ewc", **settings), digits_lessons[:1])
    first = learner.kept["importance"].clone()
    teach(learner, digits_lessons[1:2])
    second = learner.fisher_information(digits_lessons[1])
    importance, anchor = learner.kept["importance"].clone(), learner.kept["anchor"].clone()
    assert torch.equal(anchor, learner.network.theta)
    assert torch.allclose(importance[: len(first)], 0.5 * first + second[: len(first)])
    assert torch.equal(importance[len(first) :], second[len(first) :])
    seen = _plain_and_penalised(learner, digits_lessons[2])
    expected = _autograd(seen["theta"], lambda t: 30 / 2 * (importance * (t[: len(importance)] - anchor) ** 2).sum())
    assert torch.allclose(seen["penalised"] - seen["plain"], expected, atol=1e-5 * max(1, expected.abs().max().item()))


@pytest.mark.parametrize("samples", [0, 20])
def test_the_stored_information_is_that_of_the_task(samples, make, teach, digits_lessons):
    lesson = digits_lessons[0]
    learner = teach(make("ewc", fisher_samples=samples, epochs=1), [lesson])
    count = samples or 90
    chosen = torch.randperm(90, generator=generator(0, "fisher", 0))[:count] if samples else torch.arange(90)
    expected = torch.zeros_like(learner.network.theta)
    x, y = lesson.train.batch(chosen)
    for sample, label in zip(x, y):
        learner.network.backward(
            F.cross_entropy(learner.network.scores(learner.network.features(sample[None])), label[None])
        )
        expected += learner.network.grad**2 / count
    assert torch.allclose(learner.kept["importance.0"], expected, atol=1e-5 * expected.max().item())
    assert torch.equal(learner.kept["anchor.0"], learner.network.theta)


def test_two_tasks_of_ewc_and_online_ewc_are_the_same(make, teach, digits_lessons):
    """With one finished task the two penalties are one."""
    ewc, online = (teach(make(name, strength=50), digits_lessons[:2]) for name in ("ewc", "online-ewc"))
    assert torch.equal(ewc.parameters(), online.parameters())
    teach(ewc, digits_lessons[2:3])
    teach(online, digits_lessons[2:3])
    assert not torch.equal(ewc.parameters(), online.parameters())


@pytest.mark.parametrize("estimator", fisher.ESTIMATORS)
def test_every_estimator_gives_some_information(estimator, make, teach, digits_lessons):
    learner = teach(make("ewc", fisher=estimator), digits_lessons[:1])
    assert (learner.kept["importance.0"] >= 0).all()
    assert learner.kept["importance.0"].any()


def test_heads_of_their_own_are_not_held(make, teach, digits_lessons):
    learner = teach(make("ewc", heads="per-task"), digits_lessons[:2])
    assert len(learner.kept["importance.0"]) == len(learner.kept["anchor.1"]) == learner.network.trunk_size


def test_a_strength_per_rate_is_the_strength_divided_by_the_rate(make, teach, digits_lessons):
    settings = {"rate": 0.003, "optimizer": "sgd", "momentum": 0.9}
    one, other, plain = (
        teach(make("ewc", **how, **settings), digits_lessons[:3])
        for how in ({"strength": 0.7, "per_rate": True}, {"strength": 0.7 / 0.003}, {"strength": 0.7})
    )
    assert torch.equal(one.parameters(), other.parameters())
    assert not torch.equal(one.parameters(), plain.parameters())


def test_a_strength_per_rate_follows_the_rate_of_the_task_being_learned(make, teach, snapshot, digits_lessons):
    """The first task was learned at another rate, which does not count."""
    first = snapshot(teach(make("ewc", rate=0.1), digits_lessons[:1]))
    one, other = (make("ewc", rate=0.004, **how) for how in ({"strength": 2, "per_rate": True}, {"strength": 500}))
    for learner in (one, other):
        learner.load(first)
        teach(learner, digits_lessons[1:2])
    assert torch.equal(one.parameters(), other.parameters())


def test_nodes_of_the_first_task_are_shared_by_both_readings_of_the_strength():
    runs = [prepare("split-digits", "ewc", settings={"per_rate": how, "strength": 3}) for how in (True, False)]
    first = [run.root.child([0], run.grid[0]) for run in runs]
    assert first[0].key == first[1].key
    assert first[0].child([1], runs[0].grid[0]).key != first[1].child([1], runs[1].grid[0]).key


def test_a_strength_per_rate_of_online_ewc(make, teach, digits_lessons):
    one, other = (
        teach(make("online-ewc", rate=0.003, **how), digits_lessons[:2])
        for how in ({"strength": 0.7, "per_rate": True}, {"strength": 0.7 / 0.003})
    )
    assert torch.equal(one.parameters(), other.parameters())
