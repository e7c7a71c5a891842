"""Hard attention to the task: a step by hand, and what masks protect (fixture I34 of the method specification)."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from engram.core import Lesson, Outline, Split
from engram.costs import itemise
from engram.errors import BadSetting
from engram.learners import create
from engram.learners.hat import EMBEDDING, compensation
from engram.networks import Blueprint
from engram.randomness import generator

UNITS = 12 + 10


def _harden(learner, task):
    """Make the masks of a finished task 0 or 1 exactly: half of the units each."""
    hard = torch.arange(UNITS) % 2 * 12.0 - 6.0
    learner.kept[f"private.{task}"][-UNITS:] = hard
    return (hard > 0).float()


def _two_tasks(make, teach, lessons, **settings):
    """A learner inside its second lesson, the first one's masks being hard; and the protected entries of its trunk."""
    learner = teach(make("hat", epochs=2, **settings), lessons[:1])
    steps = learner.learn(lessons[1])
    next(steps)
    used = _harden(learner, 0)
    learner.prepare(lessons[1])
    return learner, steps, learner.gates.between(used) == 1


def test_hard_masks_protect_to_the_bit(make, teach, digits_lessons):
    settings = {"optimizer": "sgd", "rate": 0.05, "s_max": 4.0}  # so that most of what is free is in use
    learner, steps, protected = _two_tasks(make, teach, digits_lessons, **settings)
    x, _ = digits_lessons[0].validation.batch(slice(None))
    before, scores = learner.network.theta[: len(protected)].clone(), learner.predict(x, 0)
    for _ in steps:
        pass
    after = learner.network.theta[: len(protected)]
    assert 0 < protected.sum() < len(protected)
    assert torch.equal(before[protected], after[protected])
    assert (before[~protected] != after[~protected]).float().mean() > 0.5
    assert torch.equal(learner.predict(x, 0), scores)


@pytest.mark.parametrize("strict", [False, True])
def test_weight_decay_moves_what_is_protected_unless_it_is_strict(strict, make, teach, digits_lessons):
    learner, steps, protected = _two_tasks(make, teach, digits_lessons, weight_decay=0.01, rate=0.01, strict=strict)
    before = learner.network.theta[: len(protected)].clone()
    for _ in steps:
        pass
    after = learner.network.theta[: len(protected)]
    assert torch.equal(before[protected], after[protected]) == strict
    assert (before[~protected] != after[~protected]).float().mean() > 0.5


def test_compensation():
    assert compensation(torch.zeros(2), 4.0, 400.0).tolist() == [100, 100]
    e, s = 0.3, 5.0
    expected = 400 / s * (math.cosh(s * e) + 1) / (math.cosh(e) + 1)
    assert compensation(torch.tensor([e]), s, 400.0).item() == pytest.approx(expected, rel=1e-5)
    assert compensation(torch.tensor([6.0]), 400.0, 400.0).isfinite().all()


def test_what_is_taken_never_becomes_less(make, teach, digits_lessons):
    learner, before = make("hat", epochs=3, rate=0.02), torch.zeros(UNITS)
    for lesson in digits_lessons[:4]:
        teach(learner, [lesson])
        assert (learner.taken >= before).all()
        before = learner.taken
    assert before.max() > 0.9


def test_masks_harden_within_an_epoch(make, digits_lessons):
    """By six steps of equal size to s_max, again and again."""
    learner = make("hat", epochs=2)
    found = [learner.hardness for step in learner.learn(digits_lessons[0]) if step.done]
    least = 1 / 400
    assert found == pytest.approx([least + (400 - least) * b / 6 for b in (1, 2, 3, 4, 5, 6)] * 2)


def test_where_an_epoch_is_one_batch_training_has_the_masks_that_predict(make, digits_lessons):
    learner, lesson = make("hat", epochs=3, batch=len(digits_lessons[0].train)), digits_lessons[0]
    x, y = lesson.train.batch(slice(None))
    for _ in learner.learn(lesson):
        learner.before_step(x, y)
        learner.loss(x, y)
        trained = torch.cat(learner.gates._values).detach()
        learner.predict(x, lesson.index)
        assert torch.equal(trained, torch.cat(learner.gates._values))


def test_a_step_by_hand(make, teach, snapshot, digits_lessons):
    """The second step of the second lesson: loss, protection, compensation and descent written out."""
    rate, s_max = 0.1, 20.0
    settings = {"optimizer": "sgd", "rate": rate, "s_max": s_max}
    learner = teach(make("hat", **settings), digits_lessons[:1])
    steps = learner.learn(digits_lessons[1])
    next(steps), next(steps)
    network, trunk = learner.network, learner.network.trunk_size
    theta = network.theta.clone()
    prev = torch.sigmoid(s_max * learner.kept["private.0"][-UNITS:])
    index = torch.randperm(90, generator=generator(0, "order", 1, 0))[16:32]
    x, y = digits_lessons[1].train.batch(index)
    s = 1 / s_max + (s_max - 1 / s_max) * 2 / 6
    parts = [p.detach().clone().requires_grad_() for p in network.trunk.parameters()]
    head, e = (part.clone().requires_grad_() for part in theta[trunk:].split([22, UNITS]))
    a = torch.sigmoid(s * e)
    hidden = torch.relu(F.linear(x.flatten(1), parts[0], parts[1])) * a[:12]
    features = torch.relu(F.linear(hidden, parts[2], parts[3])) * a[12:]
    scores = F.linear(features, head.view(2, 11)[:, :-1], head.view(2, 11)[:, -1])
    loss = F.cross_entropy(scores, y - 2) + 0.75 * (a * (1 - prev)).sum() / (1 - prev).sum()
    *grads, head_grad, e_grad = torch.autograd.grad(loss, [*parts, head, e])
    first, second = prev[:12], prev[12:]
    keep = [1 - first[:, None], 1 - first, 1 - torch.minimum(second[:, None], first), 1 - second]
    moved = [p - rate * g * k for p, g, k in zip(parts, grads, keep)]
    e_grad = e_grad * s_max / s * (torch.cosh(s * e) + 1) / (torch.cosh(e) + 1)
    moved += [head - rate * head_grad, (e - rate * e_grad).clamp(-6, 6)]
    next(steps)
    assert torch.allclose(network.theta, torch.cat([part.flatten() for part in moved]), atol=1e-5)


def test_bytes_are_those_of_the_paper(make, teach, digits_lessons):
    """trunk + T·(head + units)."""
    learner = teach(make("hat"), digits_lessons[:3])
    trunk, head = 65 * 12 + 13 * 10, 2 * 11
    assert itemise(learner.state())["total"] == 4 * (trunk + 3 * (head + UNITS))


def test_it_remembers_what_finetune_forgets(make, teach, digits_lessons):
    """On the first task, after three others; of finetune's heads the first one has not been trained since."""

    def first_task(name):
        settings = {"epochs": 20, "rate": 0.02, "optimizer": "sgd", "momentum": 0.9, "heads": "per-task"}
        learner = make(name, network=Blueprint.of("mlp", widths="40-40"), **settings)
        teach(learner, digits_lessons[:4])
        x, y = digits_lessons[0].validation.batch(slice(None))
        return (learner.predict(x, 0).argmax(1) == y).double().mean()

    assert first_task("hat") > max(0.9, first_task("finetune"))


def test_a_step_is_clipped_and_an_embedding_stays_within_its_limits(make, teach, digits_lessons):
    learner = make("hat", optimizer="sgd", rate=100.0)
    next(learner.learn(digits_lessons[0]))
    grad, embedding = learner.network.grad, learner.network.blocks[EMBEDDING]
    grad.fill_(0.0)[0] = 3e4
    grad[1] = -4e4
    learner.edit()
    assert grad[:2].tolist() == pytest.approx([6e3, -8e3])
    learner.network.theta[embedding] = torch.linspace(-9, 9, UNITS)
    learner.after_step()
    assert torch.equal(learner.network.theta[embedding], torch.linspace(-9, 9, UNITS).clamp(-6, 6))


def test_hard_masks_of_a_convolutional_network_protect_to_the_bit(teach):
    lessons = [colours(task) for task in range(2)]
    network = Blueprint.of("ctrl-alexnet", width=4, dropout=0, convolution_dropout=0)
    settings = {"batch": 8, "epochs": 2, "rate": 0.01, "optimizer": "sgd"}
    learner = create("hat", Outline((3, 20, 20), (0, 1, 2, 3)), 0, network, settings)
    learner = teach(learner, lessons[:1])
    units = len(learner.network.appended[EMBEDDING])
    hard = torch.arange(units) % 2 * 12.0 - 6.0
    x, _ = lessons[0].train.batch(slice(None))
    steps = learner.learn(lessons[1])
    next(steps)
    learner.kept["private.0"][-units:] = hard
    learner.prepare(lessons[1])
    protected = learner.gates.between((hard > 0).float()) == 1
    before, scores = learner.network.theta[: len(protected)].clone(), learner.predict(x, 0)
    for _ in steps:
        pass
    after = learner.network.theta[: len(protected)]
    assert torch.equal(before[protected], after[protected])
    assert not torch.equal(before[~protected], after[~protected])
    assert torch.equal(learner.predict(x, 0), scores)


def colours(task=0):
    """Two kinds of images, of which one is redder."""
    x = torch.rand(40, 3, 20, 20, generator=torch.Generator().manual_seed(task))
    y = torch.arange(40) % 2
    x[y == 1, 0] += 1
    x -= x.mean()
    data = Split(x, y + 2 * task)
    return Lesson("colours", task, (2 * task, 2 * task + 1), data, data)


def test_a_convolutional_network_is_masked_too(teach):
    lesson, outline = colours(), Outline((3, 20, 20), (0, 1))
    x, y = lesson.train.batch(slice(None))
    network = Blueprint.of("ctrl-alexnet", width=8, dropout=0, convolution_dropout=0)
    learner = create("hat", outline, 0, network, {"batch": 4, "epochs": 10, "rate": 0.005})
    teach(learner, [lesson])
    assert (learner.predict(x, 0).argmax(1) == y).double().mean() > 0.9
    assert len(learner.network.appended[EMBEDDING]) == 8 * (1 + 2 + 4 + 32 + 32)


def test_early_stopping_judges_by_hard_masks(make, digits_lessons):
    learner = make("hat", stop="patience", patience=30, look_every=3, epochs=6, rate=0.02, s_max=20.0)
    next(step for step in learner.learn(digits_lessons[0]) if step.done == 1)  # where masks are softest
    hard = torch.sigmoid(learner.s_max * learner.embedding.detach())
    assert not torch.allclose(torch.cat(learner.gates._values), hard, atol=0.1)
    judged = learner.accuracy()
    assert torch.equal(torch.cat(learner.gates._values), hard)
    x, y = digits_lessons[0].validation.batch(slice(None))
    assert judged == (learner.predict(x, 0).argmax(1) == y).double().mean()


def test_a_network_that_it_cannot_mask_is_refused(make):
    with pytest.raises(BadSetting, match="units of network 'resnet18-reduced' cannot be masked"):
        make("hat", network=Blueprint.of("resnet18-reduced", width=2))
