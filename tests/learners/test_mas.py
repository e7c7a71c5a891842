"""Memory aware synapses: importance by hand, and against a loop over single samples."""

from __future__ import annotations

import pytest
import torch

from engram.core import Lesson, Outline, Split
from engram.learners.mas import MAS, squared_norm
from engram.networks import Blueprint


def test_importance_of_a_network_of_two_units_by_hand():
    """f(x) = −3·max(0, x) + 1 at x = 2 and ¼ is −5 and ¼; ∂f²/∂θ is (60, 30, −20, −10) and (−⅜, −1½, ⅛, ½)."""
    samples = Split(torch.tensor([[2.0], [0.25]]), torch.tensor([0, 0]))
    lesson = Lesson("by hand", 0, (0,), samples, samples)
    learner = MAS(Outline((1,), (0,)), network=Blueprint.of("mlp", widths="1"))
    next(learner.learn(lesson))
    learner.network.theta.copy_(torch.tensor([1.0, 0.0, -3.0, 1.0]))
    assert learner.sensitivity(lesson).tolist() == [30.1875, 15.75, 10.0625, 5.25]


@pytest.mark.parametrize("network", [None, Blueprint.of("rwalk-cnn")])
@pytest.mark.parametrize("heads", ["growing", "masked"])
def test_each_sample_counts_for_itself(network, heads, make, teach, digits_lessons):
    learner = teach(make("mas", network=network, heads=heads), digits_lessons[:1])
    lesson, net = digits_lessons[0], learner.network
    outputs, _ = learner.outputs.active(0, learner.loss_over)
    total = torch.zeros_like(net.theta)
    for x, _ in lesson.train.batches(1):
        net.backward(squared_norm(net.scores(net.features(x), outputs)))
        total += net.grad.abs()
    importance = learner.sensitivity(lesson)
    assert importance.any()
    assert torch.allclose(importance, total / len(lesson.train), rtol=1e-4, atol=1e-7)


def test_importance_adds_up_over_tasks_and_the_anchor_is_the_newest(make, teach, digits_lessons):
    learner = teach(make("mas"), digits_lessons[:1])
    first = learner.kept["importance"].clone()
    teach(learner, digits_lessons[1:2])
    second = learner.sensitivity(digits_lessons[1])
    second[: len(first)] += first
    assert torch.allclose(learner.kept["importance"], second, rtol=1e-5)
    assert torch.equal(learner.kept["anchor"], learner.parameters())


def test_the_penalty_is_twice_the_strength_times_the_importance(make, teach, digits_lessons):
    learner = teach(make("mas", strength=0.5), digits_lessons[:1])
    steps = learner.learn(digits_lessons[1])
    next(steps)
    importance = learner.kept["importance"]
    assert torch.equal(learner.current_pull.weight[: len(importance)], importance)
    assert not learner.current_pull.weight[len(importance) :].any()


def test_some_of_the_samples_are_enough_and_the_seed_says_which(make, teach, digits_lessons):
    few, again = (teach(make("mas", importance_samples=10), digits_lessons[:1]) for _ in range(2))
    every = teach(make("mas", importance_samples=0), digits_lessons[:1])
    assert torch.equal(few.kept["importance"], again.kept["importance"])
    assert not torch.equal(few.kept["importance"], every.kept["importance"])
    assert few.flops() < every.flops()
