"""Riemannian walk: score, averaging and normalisation, against the steps of a loop written out by hand."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from engram.checks import assert_learner
from engram.costs import itemise
from engram.learners import rwalk
from engram.learners.rwalk import add_score
from engram.networks import Blueprint
from engram.randomness import generator


def _score(path, fisher, way, damping, half=True):
    return add_score(torch.zeros(1), *(torch.tensor([v]) for v in (path, fisher, way)), damping, half).item()


def test_one_score():
    """ω = 1, F = 4, Δθ = ½ and ε = ½: 1/(½·4·¼ + ½) = 1, and 2/3 without the half."""
    assert _score(1.0, 4.0, 0.5, 0.5) == 1.0
    assert _score(1.0, 4.0, 0.5, 0.5, half=False) == pytest.approx(2 / 3)


def test_scores_add_up():
    scores = torch.tensor([2.0])
    add_score(scores, torch.tensor([3.0]), torch.tensor([0.0]), torch.tensor([9.0]), 0.5)
    assert scores.tolist() == [8.0]


def _by_hand(learner, lesson, fisher, pull, interval=4, alpha=0.9, damping=1e-3):
    """Two kinds of moment, each with the plain gradient: an estimate is taken into F, and a score is added with F of
    the interval's start or end."""
    every_step = learner.fisher_update == "step"
    network, theta = learner.network, learner.network.theta
    path, squares, gained = (torch.zeros_like(theta) for _ in range(3))
    checkpoint, metric = theta.clone(), fisher
    order = torch.randperm(len(lesson.train), generator=generator(learner.seed, "order", lesson.index, 0))
    for step, index in enumerate(order.split(learner.batch), start=1):
        x, y = lesson.train.batch(index)
        network.backward(F.cross_entropy(network.scores(network.features(x)), y))
        plain, before = network.grad.clone(), theta.clone()
        squares += plain**2
        theta.sub_(learner.rate * (plain + pull(before)))
        path += -plain * (theta - before)
        if every_step or step % interval == 0:
            fisher = alpha * squares / (1 if every_step else interval) + (1 - alpha) * fisher
            squares = torch.zeros_like(squares)
        if step % interval == 0:
            metric = metric if learner.score_fisher == "start" else fisher
            gain = path / (0.5 * metric * (theta - checkpoint) ** 2 + damping)
            gained += gain.clamp(min=0) if learner.clip == "interval" else gain
            path, checkpoint, metric = torch.zeros_like(path), theta.clone(), fisher
    return fisher, gained.clamp(min=0)


def _normal(values):
    return (values - values.min()) / (values.max() - values.min() + 1e-32)


@pytest.mark.parametrize(
    "own",
    [
        {},
        {"clip": "task"},
        {"clip": "task", "fisher_update": "step"},
        {"clip": "task", "fisher_update": "step", "score_fisher": "end"},
        {"score_fisher": "end"},
    ],
)
def test_two_tasks_by_hand(own, make, teach, permuted_lessons):
    """A parameter that did harm has no score: in an interval, or over the whole task. The Fisher information takes in
    an interval at once, or every step; the score's is that of the interval's start, or of its end."""
    settings = {"strength": 2.0, "interval": 4, "optimizer": "sgd", "rate": 0.05, **own}
    learner, copy = make("rwalk", **settings), make("rwalk", **settings)
    next(copy.learn(permuted_lessons[0]))
    empty = torch.zeros_like(copy.network.theta)
    fisher, gained = _by_hand(copy, permuted_lessons[0], empty, lambda theta: 0)
    teach(learner, permuted_lessons[:1])
    assert torch.allclose(learner.parameters(), copy.network.theta, atol=1e-6)
    assert torch.allclose(learner.kept["importance"], fisher, rtol=1e-4, atol=1e-8)
    assert torch.allclose(learner.kept["score"], gained, rtol=1e-3, atol=1e-4)
    assert gained.max() > 1e-2

    anchor, weight = copy.network.theta.clone(), 2 * 2.0 * (_normal(fisher) + _normal(gained))
    second, more = _by_hand(copy, permuted_lessons[1], fisher, lambda theta: weight * (theta - anchor))
    teach(learner, permuted_lessons[1:2])
    assert torch.allclose(learner.parameters(), copy.network.theta, atol=1e-4)
    assert torch.allclose(learner.kept["importance"], second, rtol=1e-2, atol=1e-6)
    assert torch.allclose(learner.kept["score"], (gained + more) / 2, rtol=1e-2, atol=1e-3)
    assert torch.equal(learner.kept["anchor"], learner.parameters())


@pytest.mark.parametrize("normalise", ["joint", "per-tensor", "none"])
@pytest.mark.parametrize(
    "settings", [{}, {"estimator": "empirical", "interval": 3, "warm": False}, {"fisher_update": "step", "interval": 4}]
)
def test_without_scores_it_is_ewc_plus_plus_at_twice_the_strength(
    normalise, settings, monkeypatch, make, teach, digits_lessons
):
    monkeypatch.setattr(rwalk, "add_score", lambda scores, *_: scores)
    settings = {"normalise": normalise, "epochs": 3, **settings}
    walk = teach(make("rwalk", strength=50, **settings), digits_lessons[:3])
    ewc = teach(make("ewc++", strength=100, **settings), digits_lessons[:3])
    other = teach(make("ewc++", strength=50, **settings), digits_lessons[:3])
    assert torch.equal(walk.parameters(), ewc.parameters())
    assert not torch.equal(walk.parameters(), other.parameters())


def test_with_scores_it_is_not(make, teach, digits_lessons):
    settings = {"normalise": "joint", "epochs": 3}
    walk = teach(make("rwalk", strength=50, **settings), digits_lessons[:2])
    ewc = teach(make("ewc++", strength=100, **settings), digits_lessons[:2])
    assert not torch.equal(walk.parameters(), ewc.parameters())


def test_a_task_shorter_than_the_interval_has_a_score_too(make, teach, permuted_lessons):
    for own in ({}, {"score_fisher": "end"}, {"fisher_update": "step"}):
        settings = {"clip": "task", **own}
        short, whole = (teach(make("rwalk", interval=n, **settings), permuted_lessons[:1]) for n in (1000, 10))
        assert whole.kept["score"].any()
        assert torch.allclose(short.kept["score"], whole.kept["score"], rtol=1e-4, atol=1e-9)


def test_the_way_of_updating_changes_nothing_that_is_kept_between_tasks(make, teach, digits_lessons):
    one, other = (teach(make("rwalk", fisher_update=u), digits_lessons[:2]) for u in ("interval", "step"))
    assert one.kept.keys() == other.kept.keys()
    assert not torch.equal(one.kept["importance"], other.kept["importance"])


def test_normalised_importances_lie_between_zero_and_one(make, teach, permuted_lessons):
    learner = teach(make("rwalk"), permuted_lessons[:2])
    for name in ("importance", "score"):
        values = learner.normalised(name)
        assert values.min() == 0
        assert values.max() == 1
    learner.kept["score"].fill_(3.0)
    assert not learner.normalised("score").any()


def test_the_scale_of_the_fisher_information_does_not_matter(make, teach, permuted_lessons):
    learner = teach(make("rwalk"), permuted_lessons[:1])
    before = learner.pull().weight
    learner.kept["importance"] *= 10
    assert torch.allclose(learner.pull().weight, before, rtol=1e-5, atol=1e-3)


def test_between_tasks_it_keeps_four_vectors(make, teach, snapshot, digits_lessons):
    learner = teach(make("rwalk"), digits_lessons[:2])
    assert {len(vector) for vector in learner.kept.values()} == {len(learner.parameters())}
    bytes_ = itemise(snapshot(learner))
    extra = sum(bytes_[name] for name in ("anchor", "importance", "score", "fisher"))
    assert extra == 4 * (bytes_["parameters"] + bytes_["heads"])
    assert extra == bytes_["total"] - bytes_["parameters"] - bytes_["heads"]


def test_new_outputs_begin_without_importance_and_old_ones_keep_theirs(make, teach, digits_lessons):
    learner = teach(make("rwalk"), digits_lessons[:1])
    old = len(learner.parameters())
    score = learner.kept["score"].clone()
    for _ in learner.learn(digits_lessons[1]):
        assert not learner.current_pull.weight[old:].any()
        assert torch.equal(learner.kept["score"], score)
        gained = learner.kept["gained"].clone()
    assert len(learner.kept["score"]) > old
    assert torch.all(learner.kept["score"][:old] >= score / 2)
    assert torch.all(learner.kept["score"][old:] >= gained[old:] / 2)


def test_the_path_is_that_of_the_plain_loss(make, teach, digits_lessons):
    """With class weights the statistics come from the plain gradient, or where asked for from the weighted one."""
    found = []
    for statistics in ("plain", "weighted"):
        learner = make("rwalk", statistics=statistics, exemplars=2, class_weighted=True, strength=0)
        found.append(teach(learner, digits_lessons[:2]))
    assert torch.equal(found[0].parameters(), found[1].parameters())
    assert not torch.allclose(found[0].kept["score"], found[1].kept["score"])
    assert not torch.allclose(found[0].kept["importance"], found[1].kept["importance"])


VARIANTS = [
    {"estimator": "empirical", "heads": "per-task", "interval": 3},
    {"warm": False, "normalise": "none", "interval": 7, "penalty_step": "implicit", "half": False},
    {"exemplars": 3, "class_weighted": True, "normalise": "per-tensor", "optimizer_reset": "none"},
    {"fisher_update": "step", "clip": "task", "interval": 4},
    {"score_fisher": "end", "interval": 4},
]


@pytest.mark.parametrize("settings", VARIANTS)
def test_the_contract_with_other_settings(settings):
    assert_learner("rwalk", seed=1, settings=settings)


def test_a_killed_learner_goes_on_inside_an_interval(make, teach, snapshot, same_state, digits_lessons):
    network = Blueprint.of("mlp", widths="12-10", dropout=0.2)
    through = teach(make("rwalk", network=network, interval=4), digits_lessons[:2])
    learner = make("rwalk", network=network, interval=4)
    for lesson in digits_lessons[:2]:
        for step in learner.learn(lesson):
            if step.done == 3:
                break
        heir = make("rwalk", network=network, interval=4)
        heir.load(snapshot(learner))
        learner = teach(heir, [lesson])
    assert same_state(snapshot(learner), snapshot(through))
