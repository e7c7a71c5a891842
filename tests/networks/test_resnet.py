"""The reduced ResNet-18: its size, its arithmetic, and running statistics that survive whatever a learner does."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from by_hand import residual_map, with_outputs
from torch import nn

from engram.core import Split
from engram.costs import forward_flops
from engram.errors import BadData, BadSetting
from engram.networks import Blueprint, Outputs
from engram.parts.fisher import diagonal
from engram.randomness import generator

SMALL = Blueprint.of("resnet18-reduced", width=2)


def _network(shape=(3, 32, 32), **settings):
    return with_outputs("resnet18-reduced", 5, shape, **settings)


def _parameters(w, inputs=3):
    """Convolutions without bias and two numbers a channel of every normalisation, counted by hand."""
    stem = 9 * inputs * w + 2 * w
    found = stem + 2 * (2 * 9 * w * w + 4 * w)
    for a, b in ((w, 2 * w), (2 * w, 4 * w), (4 * w, 8 * w)):
        found += 9 * a * b + 9 * b * b + a * b + 6 * b  # the block with the projection
        found += 2 * 9 * b * b + 4 * b
    return found


def test_size():
    network = _network()
    assert network.trunk_size == _parameters(20) == 1_093_140
    assert network.trunk.features == 160
    assert network.features(torch.zeros(2, 3, 32, 32)).shape == (2, 160)


@pytest.mark.parametrize(
    "shape, features", [((1, 8, 8), 160), ((1, 28, 28), 160), ((3, 64, 64), 640), ((3, 32, 64), 320)]
)
def test_features_of_other_images(shape, features):
    network = _network(shape)
    assert network.trunk.features == features
    assert network.features(torch.zeros(2, *shape)).shape == (2, features)


def test_operations():
    """Multiply-adds by hand: every convolution's weights at every position of its output."""
    w, positions, first = 20, (1024, 256, 64, 16), 27 * 20 * 1024
    macs = first + 4 * 9 * w * w * positions[0]
    for k, (a, b) in enumerate(((w, 2 * w), (2 * w, 4 * w), (4 * w, 8 * w)), start=1):
        macs += positions[k] * (9 * a * b + 9 * b * b + a * b + 18 * b * b)
    assert forward_flops(_network().trunk, (3, 32, 32)) == 2 * macs


def test_against_the_same_network_written_with_functions():
    network = _network(width=3)
    x = torch.randn(4, 3, 32, 32, generator=generator(1, "x"))
    expected = F.avg_pool2d(residual_map(network.trunk, x, (1, 1, 2, 1, 2, 1, 2, 1), projected=(2,)), 4).flatten(1)
    assert torch.allclose(network.features(x, training=True), expected, atol=1e-5)


@pytest.mark.parametrize("shape", [(64,), (1, 3, 8)])
def test_it_needs_images(shape):
    with pytest.raises(BadData, match="at least 4×4 pixels"):
        SMALL.build(shape, seed=0)


def test_a_single_sample_of_a_small_image_cannot_be_normalised():
    network = SMALL.build((1, 8, 8), seed=0)
    network.features(torch.zeros(1, 1, 8, 8))
    network.features(torch.rand(2, 1, 8, 8), training=True)
    with pytest.raises(BadSetting, match="cannot normalise a batch of one sample"):
        network.features(torch.zeros(1, 1, 8, 8), training=True)
    SMALL.build((1, 32, 32), seed=0).features(torch.rand(1, 1, 32, 32), training=True)


def test_batch_normalisation_is_in_theta_and_its_statistics_are_buffers():
    network = _network(width=2)
    scales = [m.weight for m in network.trunk.modules() if isinstance(m, nn.BatchNorm2d)]
    assert len(scales) == 20
    assert all((network.theta[network.span(scale)] == 1).all() for scale in scales)
    assert len(network.buffers()) == 3 * 20


def test_the_exact_fisher_information():
    network = _network((1, 16, 16), width=2)
    x = torch.randn(12, 1, 16, 16, generator=generator(2, "x"))
    data = Split(x, torch.arange(12) % 5)
    network.features(x, training=True)
    expected = torch.zeros_like(network.theta)
    for k in range(12):
        scores = network.scores(network.features(x[k : k + 1]))
        network.backward(F.cross_entropy(scores, data.y[k : k + 1]))
        expected += network.grad**2 / 12
    values = diagonal(network, data, lambda y: y, Outputs(0, 5), "empirical", torch.Generator(), batch=5)
    assert (values - expected).abs().max() <= 1e-4 * expected.max()


def test_predicting_leaves_the_statistics_alone_and_training_does_not(make, teach, digits_lessons):
    learner = teach(make("finetune", network=SMALL), digits_lessons[:1])
    before = {name: value.clone() for name, value in learner.network.buffers().items()}
    assert any(value.is_floating_point() and (value != 0).any() for value in before.values())
    learner.predict(digits_lessons[0].validation.batch(slice(None))[0], 0)
    assert all(torch.equal(value, before[name]) for name, value in learner.network.buffers().items())
    teach(learner, digits_lessons[1:2])
    assert not all(torch.equal(value, before[name]) for name, value in learner.network.buffers().items())


@pytest.mark.parametrize(
    "name, settings",
    [
        ("finetune", {}),
        ("ewc", {"heads": "per-task"}),
        ("ewc++", {"estimator": "empirical"}),
        ("rwalk", {"interval": 4}),
        ("gem", {"memory": 9}),
        ("joint", {}),
    ],
)
def test_a_killed_learner_goes_on_with_the_same_bits(name, settings, make, teach, snapshot, same_state, digits_lessons):
    def fresh():
        return make(name, network=SMALL, **settings)

    through = teach(fresh(), digits_lessons[:2])
    learner = fresh()
    for lesson in digits_lessons[:2]:
        for step in learner.learn(lesson):
            if step.done == 2:
                break
        heir = fresh()
        heir.load(snapshot(learner))
        learner = teach(heir, [lesson])
    assert any(key.startswith("buffers.") for key in snapshot(learner).tensors)
    assert same_state(snapshot(learner), snapshot(through))
