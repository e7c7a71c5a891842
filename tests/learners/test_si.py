"""Synaptic intelligence: the path integral, against a loop written out by hand."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from engram.learners.si import path_importance
from engram.randomness import generator


def test_one_step():
    """θ from 1 to ½ with gradient 2 gives ω = 1; with ξ = ¾ the importance is 1/(¼ + ¾) = 1."""
    path = -torch.tensor([2.0]) * (torch.tensor([0.5]) - torch.tensor([1.0]))
    assert path.tolist() == [1.0]
    assert path_importance(path, torch.tensor([-0.5]), 0.75).tolist() == [1.0]


def test_a_parameter_that_did_harm_has_no_importance():
    assert path_importance(torch.tensor([-1.0, 3.0]), torch.tensor([0.5, 1.0]), 0.5).tolist() == [0.0, 2.0]


def _by_hand(learner, lesson, pull):
    """One epoch of Adam on theta as one vector: its end, the path integral and the way."""
    network, theta = learner.network, learner.network.theta
    start, path = theta.clone(), torch.zeros_like(theta)
    moving = torch.nn.Parameter(theta.clone())
    optimiser = torch.optim.Adam([moving], lr=learner.rate, fused=True)
    order = torch.randperm(len(lesson.train), generator=generator(learner.seed, "order", lesson.index, 0))
    for index in order.split(learner.batch):
        x, y = lesson.train.batch(index)
        network.backward(F.cross_entropy(network.scores(network.features(x)), y))
        plain, before = network.grad.clone(), theta.clone()
        moving.grad = plain + pull(before)
        optimiser.step()
        theta.copy_(moving.data)
        path += -plain * (theta - before)
    return theta.clone(), path, theta - start


def test_the_path_integral_of_two_tasks(make, teach, permuted_lessons):
    settings = {"strength": 0.3, "damping": 0.1, "rate": 1e-2}
    learner, copy = make("si", **settings), make("si", **settings)
    next(copy.learn(permuted_lessons[0]))
    end, path, way = _by_hand(copy, permuted_lessons[0], lambda theta: 0)
    teach(learner, permuted_lessons[:1])
    first = (path / (way**2 + 0.1)).clamp(min=0)
    assert torch.allclose(learner.parameters(), end, atol=1e-6)
    assert torch.allclose(learner.kept["importance"], first, atol=1e-6)
    assert torch.equal(learner.kept["anchor"], learner.parameters())
    assert not learner.kept["path"].any()

    end_of_first = end
    end, path, way = _by_hand(copy, permuted_lessons[1], lambda theta: 2 * 0.3 * first * (theta - end_of_first))
    teach(learner, permuted_lessons[1:2])
    second = first + (path / (way**2 + 0.1)).clamp(min=0)
    assert torch.allclose(learner.parameters(), end, atol=1e-5)
    assert torch.allclose(learner.kept["importance"], second, atol=1e-4)
    assert not torch.allclose(first, second, atol=1e-3)


def test_new_outputs_are_anchored_where_they_begin_and_weigh_nothing(make, teach, digits_lessons):
    learner = teach(make("si"), digits_lessons[:1])
    old = len(learner.parameters())
    steps = learner.learn(digits_lessons[1])
    next(steps)
    assert torch.equal(learner.kept["anchor"], learner.parameters())
    assert learner.current_pull is not None
    assert not learner.current_pull.weight[old:].any()
    assert learner.current_pull.weight[:old].any()


def test_heads_of_their_own_are_not_held(make, teach, digits_lessons):
    learner = teach(make("si", heads="per-task"), digits_lessons[:2])
    assert {len(v) for v in learner.kept.values()} == {learner.network.trunk_size}
