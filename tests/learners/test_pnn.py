"""Progressive networks: the first task is independent's, old outputs stay (I33), and lateral modules are of use."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from engram.costs import itemise
from engram.errors import BadData, BadSetting
from engram.networks import NETWORKS, Blueprint

RESNET = Blueprint.of("ctrl-resnet", width=2)
STEM, REST, HEAD = 65 * 12, 13 * 10, 2 * 11


@pytest.mark.parametrize("network", [None, RESNET, Blueprint.of("mlp", widths="12-10", dropout=0.3)])
def test_one_task_is_independent_to_the_bit(network, make, teach, digits_lessons):
    one, other = (teach(make(name, network=network), digits_lessons[:1]) for name in ("pnn", "independent"))
    assert torch.equal(one.parameters(), other.parameters())
    x, _ = digits_lessons[0].validation.batch(slice(None))
    assert torch.equal(one.predict(x, 0), other.predict(x, 0))
    assert one.flops() == other.flops()


class Bend(nn.Module):
    def forward(self, x):
        return torch.tanh(x)


def bent(shape):
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 12), Bend(), nn.Linear(12, 10), Bend())


def test_columns_of_code_of_ones_own_are_counted_once(make, teach, digits_lessons):
    own, ours = (Blueprint.of(NETWORKS.name_of(bent)), Blueprint.of("mlp", widths="12-10", activation="tanh"))
    one, other = (teach(make("pnn", network=network), digits_lessons[:3]) for network in (own, ours))
    assert one.flops() == other.flops()


@pytest.mark.parametrize("network", [None, Blueprint.of("ctrl-resnet", width=2, side=4)])
def test_old_outputs_stay_to_the_bit(network, make, teach, snapshot, digits_lessons):
    learner, x = make("pnn", network=network), digits_lessons[0].validation.batch(slice(None))[0]
    scores = {}
    for task, lesson in enumerate(digits_lessons[:3]):
        teach(learner, [lesson])
        scores[task] = learner.predict(x, task)
        assert learner.changed_by(lesson) == {task}
        assert all(torch.equal(learner.predict(x, past), old) for past, old in scores.items())
    heir = make("pnn", network=network)
    heir.load(snapshot(learner))
    assert all(torch.equal(heir.predict(x, past), old) for past, old in scores.items())


def test_bytes_are_those_of_the_paper(make, teach, digits_lessons):
    """T·full + T(T−1)/2·(full − stem)."""
    learner, full = make("pnn"), STEM + REST + HEAD
    for tasks, lesson in enumerate(digits_lessons[:4], start=1):
        teach(learner, [lesson])
        expected = tasks * full + tasks * (tasks - 1) // 2 * (full - STEM)
        assert itemise(learner.state())["total"] == 4 * expected
        assert len(learner.parameters()) == expected


def test_lateral_modules_bring_over_what_earlier_columns_know(make, teach, digits_lessons):
    """A short second lesson on the first one's classes: independent learns less of it."""
    again = replace(digits_lessons[0], index=1)
    x, y = again.validation.batch(slice(None))

    def loss(name):
        learner = teach(make(name, epochs=12, rate=0.01), digits_lessons[:1])
        learner.fit.iterations = 6
        teach(learner, [again])
        return F.cross_entropy(learner.predict(x, 1), y).item()

    assert loss("pnn") < 0.8 * loss("independent")


def test_a_sample_alone_is_refused_in_every_column(make, teach, digits_lessons):
    learner = teach(make("pnn", network=RESNET, batch=45), digits_lessons[:1])
    lesson = digits_lessons[1]
    steps = learner.learn(lesson)
    next(steps)
    with pytest.raises(BadSetting, match="cannot normalise a batch of one sample"):
        learner.network.features(lesson.train.batch(slice(0, 1))[0], training=True)


@pytest.mark.parametrize("name", ["independent", "new-head", "new-leg", "pnn", "hat", "den", "rcl"])
def test_a_task_with_a_network_of_its_own_is_learned_once(name, make, teach, digits_lessons):
    """Taught again it would take the place of another one."""
    learner = teach(make(name, epochs=1, **({"trials": 1} if name == "rcl" else {})), digits_lessons[:2])
    x = digits_lessons[0].validation.batch(slice(None))[0]
    before = [learner.predict(x, task) for task in (0, 1)]
    with pytest.raises(BadData, match="was learned already"):
        list(learner.learn(digits_lessons[0]))
    assert all(torch.equal(learner.predict(x, task), before[task]) for task in (0, 1))
