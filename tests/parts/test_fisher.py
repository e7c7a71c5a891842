"""The one-pass Fisher information, against one backward pass for every sample."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from engram.core import Split
from engram.errors import BadSetting
from engram.learners.mas import squared_norm
from engram.networks import NETWORKS as REGISTRY
from engram.networks import Blueprint, FlatNetwork, Outputs
from engram.networks.module import adopt
from engram.networks.trunk import Trunk
from engram.parts.fisher import diagonal, of_batch
from engram.transform import Transform

NETWORKS = [("mlp", {"widths": "9-7"}), ("rwalk-cnn", {}), ("pfuelb-conv", {"full_width": 20})]
SAMPLES = 40


@pytest.fixture
def data(digits):
    x, y = digits
    return Split(x[:SAMPLES], y[:SAMPLES] % 3, transform=Transform(scale=1 / 16))


def _network(name, settings, rows=5):
    network = Blueprint.of(name, **settings).build((1, 8, 8), seed=0)
    network.append(network.trunk.head_rows(rows, torch.Generator().manual_seed(0)))
    return network


def _places(y):
    """Labels 0, 1, 2 are the outputs 0, 1 and 3 of the four that start at row 1."""
    return torch.tensor([0, 1, 3])[y]


OUTPUTS = Outputs.of([1, 2, 4])


def _source():
    return torch.Generator().manual_seed(5)


def _one_by_one(network, data, labels):
    """The definition: mean over samples of the squared gradient of log p(label)."""
    total = torch.zeros_like(network.theta)
    x, _ = data.batch(slice(None))
    for sample, label in zip(x, labels):
        network.backward(F.cross_entropy(network.scores(network.features(sample[None]), OUTPUTS), label[None]))
        total += network.grad**2
    return total / len(x)


def _labels(estimator, network, data):
    x, y = data.batch(slice(None))
    with torch.no_grad():
        probabilities = network.scores(network.features(x), OUTPUTS).softmax(1)
    if estimator == "predicted":
        return probabilities.argmax(1)
    if estimator == "sampled":
        return torch.multinomial(probabilities, 1, generator=_source()).squeeze(1)
    return _places(y)


@pytest.mark.parametrize("estimator", ["empirical", "predicted", "sampled"])
@pytest.mark.parametrize("name, settings", NETWORKS)
def test_one_pass_equals_one_sample_at_a_time(name, settings, estimator, data):
    network = _network(name, settings)
    expected = _one_by_one(network, data, _labels(estimator, network, data))
    values = diagonal(network, data, _places, OUTPUTS, estimator, _source(), batch=SAMPLES)
    assert (values - expected).abs().max() <= 1e-5 * expected.max()


@pytest.mark.parametrize("estimator", ["empirical", "predicted", "sampled"])
@pytest.mark.parametrize("name, settings", NETWORKS)
def test_the_batch_size_does_not_matter(name, settings, estimator, data):
    network = _network(name, settings)
    whole, parts = (
        diagonal(network, data, _places, OUTPUTS, estimator, _source(), batch=size) for size in (SAMPLES, 7)
    )
    assert (whole - parts).abs().max() <= 1e-5 * whole.max()


def test_outputs_that_take_no_part_have_no_information(data):
    network = _network("mlp", {"widths": "9-7"})
    values = diagonal(network, data, _places, OUTPUTS, "empirical", _source())
    rows = values[network.trunk_size :].view(5, -1)
    assert not rows[[0, 3]].any()
    assert (rows[[1, 2, 4]].sum(1) > 0).all()


def test_the_batch_estimator_squares_mean_gradients(data):
    network = _network("mlp", {"widths": "9-7"})
    expected = torch.zeros_like(network.theta)
    for start in (0, 16, 32):
        x, y = data.batch(slice(start, start + 16))
        network.backward(F.cross_entropy(network.scores(network.features(x), OUTPUTS), _places(y)))
        expected += network.grad**2 / 3
    values = diagonal(network, data, _places, OUTPUTS, "batch", _source(), batch=16)
    assert torch.allclose(values, expected, atol=1e-9)


class _Nothing(Trunk):
    """No hidden layer: the head alone is a logistic unit."""

    features = 1

    def assemble(self, shape):
        return nn.Sequential(nn.Flatten())


def _logistic():
    network = FlatNetwork(_Nothing((1,), 0, {"init": "uniform"}))
    network.append(torch.zeros(2, 2))
    return network


def test_a_logistic_unit():
    """p = ½ and x = 2: per-sample gradients are ±1, so the information is 1, but a balanced pair's mean is 0."""
    pair = Split(torch.full((2, 1), 2.0), torch.tensor([0, 1]))
    each = diagonal(_logistic(), pair, lambda y: y, Outputs(0, 2), "empirical", _source())
    assert each.view(2, 2)[:, 0].tolist() == [1.0, 1.0]
    together = diagonal(_logistic(), pair, lambda y: y, Outputs(0, 2), "batch", _source())
    assert together.view(2, 2)[:, 0].tolist() == [0.0, 0.0]


class _Normed(Trunk):
    features = 3

    def assemble(self, shape):
        layers = nn.Sequential(nn.Conv2d(1, 3, 3, stride=2, bias=False), nn.BatchNorm2d(3), nn.ReLU())
        return layers.append(nn.AdaptiveAvgPool2d(1)).append(nn.Flatten())


def test_batch_norm_and_strides(data):
    network = FlatNetwork(_Normed((1, 8, 8), 0, {"init": "uniform"}))
    network.append(network.trunk.head_rows(5, torch.Generator().manual_seed(0)))
    network.features(data.batch(slice(None))[0], training=True)
    expected = _one_by_one(network, data, _labels("empirical", network, data))
    values = diagonal(network, data, _places, OUTPUTS, "empirical", _source(), batch=9)
    assert (values - expected).abs().max() <= 1e-5 * expected.max()


class _Strange(Trunk):
    features = 64

    def assemble(self, shape):
        return nn.Sequential(nn.Flatten(), nn.LayerNorm(64))


def test_a_layer_without_a_formula_is_refused_with_the_way_out(data):
    network = FlatNetwork(_Strange((1, 8, 8), 0, {"init": "uniform"}))
    network.append(torch.zeros(5, 65))
    with pytest.raises(BadSetting, match="LayerNorm layer; use fisher=batch"):
        diagonal(network, data, _places, OUTPUTS, "empirical", _source())
    assert diagonal(network, data, _places, OUTPUTS, "batch", _source()).shape == network.theta.shape


def _own(make, shape=(1, 8, 8)):
    network = FlatNetwork(adopt(make)[1](shape, 0, {}))
    network.append(network.trunk.head_rows(5, torch.Generator().manual_seed(0)))
    return network


def in_place(shape):
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(inplace=True),
        nn.Conv2d(4, 3, 3, stride=2),
        nn.LeakyReLU(0.1, inplace=True),
        nn.Flatten(),
        nn.Linear(27, 9),
        nn.ELU(inplace=True),
        nn.Linear(9, 6),
        nn.Hardtanh(inplace=True),
    )


class Sums(nn.Module):
    """Writes by functions into what layers gave: whole, and a part of it."""

    def __init__(self, shape):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(64, 9), nn.Linear(9, 9), nn.Linear(64, 9)

    def forward(self, x):
        x = x.flatten(1)
        h = self.a(x).relu_()
        y = self.b(h)
        y += self.c(x)
        y[:, :4].sigmoid_()
        return y * 2


class Idle(nn.Module):
    """The features do not depend on what one layer gives."""

    def __init__(self, shape):
        super().__init__()
        self.a, self.b = nn.Linear(64, 9), nn.Linear(9, 9)

    def forward(self, x):
        h = self.a(x.flatten(1)).relu_()
        self.b(h)
        return h


@pytest.mark.parametrize("estimator", ["empirical", "predicted", "sampled"])
@pytest.mark.parametrize("make", [in_place, Sums, Idle])
def test_what_works_in_place_behind_a_layer_does_not_matter(make, estimator, data):
    network = _own(make)
    network.features(data.batch(slice(None))[0], training=True)
    expected = _one_by_one(network, data, _labels(estimator, network, data))
    values = diagonal(network, data, _places, OUTPUTS, estimator, _source(), batch=SAMPLES)
    assert (values - expected).abs().max() <= 1e-5 * expected.max()
    trunk = slice(0, network.trunk_size)
    assert values[trunk].sum() == pytest.approx(float(expected[trunk].sum()), rel=1e-4)


def test_absolute_values_in_place(data):
    network, x = _own(in_place), data.batch(slice(None))[0]
    expected = torch.zeros_like(network.theta)
    for sample in x:
        network.backward(squared_norm(network.scores(network.features(sample[None]), OUTPUTS)))
        expected += network.grad.abs() / len(x)
    values = of_batch(network, x, OUTPUTS, squared_norm, torch.abs)
    assert (values - expected).abs().max() <= 1e-5 * expected.max()


def test_modules_before_those_that_are_trained_may_be_frozen(data):
    network = _own(in_place)
    free = diagonal(network, data, _places, OUTPUTS, "empirical", _source())
    network.train_only(["6", "8", "head"])
    values = diagonal(network, data, _places, OUTPUTS, "empirical", _source())
    start = network.blocks["6"].start
    assert not values[:start].any()
    assert torch.equal(values[start:], free[start:])


class Twice(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.a, self.b = nn.Linear(64, 9), nn.Linear(9, 9)

    def forward(self, x):
        return self.b(self.b(self.a(x.flatten(1))).relu())


class Functional(Twice):
    def forward(self, x):
        return F.linear(self.a(x.flatten(1)), self.b.weight, self.b.bias)


class BothWays(Twice):
    def forward(self, x):
        return F.linear(self.b(self.a(x.flatten(1))), self.b.weight)


class Tied(Twice):
    def __init__(self, shape):
        super().__init__(shape)
        self.c = nn.Linear(9, 9)
        self.c.weight = self.b.weight

    def forward(self, x):
        return self.c(self.b(self.a(x.flatten(1))))


class Still(Twice):
    def forward(self, x):
        with torch.no_grad():
            x = self.a(x.flatten(1))
        return self.b(x)


class Rows(nn.Module):
    """The same linear layer for every row of an image, as rows of the batch."""

    def __init__(self, shape):
        super().__init__()
        self.a = nn.Linear(8, 4)

    def forward(self, x):
        return self.a(x.reshape(-1, 8)).view(len(x), -1)


class Positions(Rows):
    def forward(self, x):
        return self.a(x)


def normed_weight(shape):
    return nn.Sequential(nn.Flatten(), nn.utils.weight_norm(nn.Linear(64, 4)))


def reflect(shape):
    return nn.Sequential(nn.Conv2d(1, 3, 3, padding=1, padding_mode="reflect"), nn.ReLU())


def same_padding(shape):
    return nn.Sequential(nn.Conv2d(1, 3, 3, padding="same"), nn.ReLU())


class LeftOver(Twice):
    def forward(self, x):
        return self.a(x.flatten(1))


@pytest.mark.parametrize("name", ["online-ewc", "mas"])
def test_a_layer_that_nothing_depends_on_has_no_importance(name, make, teach, digits_lessons):
    learner = teach(make(name, network=Blueprint.of(REGISTRY.name_of(LeftOver))), digits_lessons[:2])
    weights = {key: value for key, value in learner.network.trunk.named_parameters() if "weight" in key}
    found = {key: float(learner.kept["importance"][learner.network.span(each)].sum()) for key, each in weights.items()}
    assert {key for key, total in found.items() if total} == {"layers.0.a.weight"}


@pytest.mark.filterwarnings("ignore:.*weight_norm:FutureWarning")
@pytest.mark.parametrize(
    "make, message",
    [
        (Twice, "the Linear 'layers.0.b', which is called more than once; give every call a layer of its own, or use"),
        (Functional, "the Linear 'layers.0.b', which is not called; call it"),
        (
            BothWays,
            "the Linear 'layers.0.b', which has parameters that are used more than once; give every use its own",
        ),
        (Tied, "the Linear 'layers.0.b', which has parameters that are used more than once; give every use its own"),
        (Still, "the Linear 'layers.0.a', which is called without gradients; call it with them"),
        (Rows, "the Linear 'layers.0.a', which is not given one input for every sample; give it one"),
        (Positions, "the Linear 'layers.0.a', which is not given one input for every sample; give it one"),
        (normed_weight, "the Linear 'layers.1', which makes its weight of other parameters"),
        (reflect, "the Conv2d 'layers.0', which pads with padding_mode='reflect'; pad with zeros, or use fisher=batch"),
        (same_padding, "the Conv2d 'layers.0', which has padding='same'; say in numbers how wide it is"),
    ],
)
def test_a_layer_that_one_formula_for_one_call_does_not_hold_of_is_refused(make, message, data):
    network = _own(make)
    with pytest.raises(BadSetting, match=message):
        diagonal(network, data, _places, OUTPUTS, "empirical", _source())
    with pytest.raises(BadSetting, match=message):
        of_batch(network, data.batch(slice(None))[0], OUTPUTS, squared_norm, torch.abs)
    assert not any(module._forward_hooks for module in network.trunk.modules())
    assert diagonal(network, data, _places, OUTPUTS, "batch", _source()).shape == network.theta.shape
