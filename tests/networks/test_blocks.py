"""Named blocks of theta: what the networks name, what is appended, what is trained."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from engram.errors import UnknownName
from engram.networks import NETWORKS, Blueprint, Outputs
from engram.parts.optimisers import Adam

X = torch.randn(6, 1, 8, 8, generator=torch.Generator().manual_seed(3))
Y = torch.tensor([0, 1, 2, 2, 1, 0])


class Children(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.eye = nn.Conv2d(shape[0], 2, 3)
        self.norm = nn.BatchNorm2d(2)
        self.squash = nn.Tanh()
        self.brain = nn.Linear(2 * 36, 5)

    def forward(self, x):
        return self.brain(self.squash(self.norm(self.eye(x))).flatten(1))


class OwnWeight(Children):
    def __init__(self, shape):
        super().__init__(shape)
        self.gain = nn.Parameter(torch.ones(5))

    def forward(self, x):
        return super().forward(x) * self.gain


def sequence(shape):
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 6), nn.ReLU(), nn.Linear(6, 5), nn.Tanh())


def built(network, rows=3, **settings):
    network = Blueprint.of(NETWORKS.name_of(network), **settings).build((1, 8, 8), seed=0)
    network.append(torch.randn(rows, network.row_size, generator=torch.Generator().manual_seed(1)))
    return network


@pytest.mark.parametrize(
    "network, settings, names",
    [
        ("mlp", {"widths": "5-4-3", "dropout": 0.1, "input_dropout": 0.1}, ["layer1", "layer2", "layer3"]),
        ("rwalk-cnn", {}, ["group1", "group2"]),
        ("pfuelb-conv", {"full_width": 6}, ["group1", "group2", "full"]),
        ("resnet18-reduced", {"width": 2}, ["stem", "group1", "group2", "group3", "group4"]),
        (Children, {}, ["eye", "norm", "brain"]),
        (OwnWeight, {}, ["0"]),
        (sequence, {}, ["1", "3"]),
    ],
)
def test_every_network_names_its_modules(network, settings, names):
    network = built(network, **settings)
    assert list(network.blocks) == [*names, "head"]
    stops = [0, *(span.stop for span in network.blocks.values())]
    assert [span.start for span in network.blocks.values()] == stops[:-1]
    assert stops[-2:] == [network.trunk_size, len(network.theta)]
    assert all(span.stop > span.start for span in network.blocks.values())
    for name, layers in network.trunk.modules_by_name.items():
        own = torch.cat([p.data.flatten() for layer in layers for p in layer.parameters()])
        assert torch.equal(network.theta[network.blocks[name]], own)


def _step(network, use_appended=False):
    for part in network.trained:
        network.grad[part] = 99.0  # what an earlier step left must not shine through
    loss = F.cross_entropy(network.training_scores(X, Outputs(0, 3)), Y)
    if use_appended:
        loss = loss + sum(values.square().sum() for values in network.appended.values())
    network.backward(loss)
    return network.grad.clone()


@pytest.mark.parametrize("network, settings", [("mlp", {}), ("rwalk-cnn", {"dropout": 0}), (Children, {})])
def test_blocks_are_appended_at_the_end(network, settings):
    network = built(network, **settings)
    plain, before = _step(network), network.theta.clone()
    network.append(torch.arange(4.0), to="embedding")
    network.append(torch.ones(2), to="column")
    network.append(torch.ones(1), to="column")
    size = len(before)
    assert torch.equal(network.theta[:size], before)
    assert network.theta[size:].tolist() == [0, 1, 2, 3, 1, 1, 1]
    assert (network.blocks["embedding"], network.blocks["column"]) == (slice(size, size + 4), slice(size + 4, size + 7))
    assert network.rows == 3
    grad = _step(network, use_appended=True)
    assert torch.equal(grad[size:], 2 * network.theta[size:])
    assert (_step(network)[size:] == 0).all()
    assert torch.allclose(grad[:size], plain, atol=1e-6)
    network.assign(torch.cat([before[: -network.row_size], torch.zeros(7)]))
    assert (network.rows, network.appended_sizes()) == (2, {"embedding": 4, "column": 3})


def test_only_the_last_block_grows():
    network = built("mlp")
    network.append(torch.ones(2), to="column")
    with pytest.raises(RuntimeError, match="block 'head' cannot grow, because 'column' lies behind it"):
        network.append(torch.ones(1, network.row_size))
    with pytest.raises(RuntimeError, match="block 'layer1' cannot grow"):
        network.append(torch.ones(1), to="layer1")


@pytest.mark.parametrize("network, names", [("mlp", ["layer1", "head"]), (Children, ["norm", "head"])])
def test_only_the_named_blocks_get_gradients_and_move(network, names):
    network = built(network)
    expected = _step(network)
    network.train_only(names)
    assert network.trained == [network.blocks[name] for name in names]
    grad, before = _step(network), network.theta.clone()
    optimiser = Adam(1e-2)
    optimiser.fit(len(before))
    optimiser.step(network.theta, network.grad, *network.trained)
    for name, span in network.blocks.items():
        assert torch.allclose(grad[span], expected[span] if name in names else torch.zeros(1), atol=1e-6)
        assert torch.equal(network.theta[span], before[span]) == (name not in names)
    network.train_only(None)
    assert network.trained == [slice(0, len(network.theta))]


def test_neighbouring_blocks_are_one_slice_and_growth_keeps_the_choice():
    network = built("mlp", widths="5-4-3")
    network.train_only(["layer2", "layer3", "head"])
    assert network.trained == [slice(network.blocks["layer2"].start, len(network.theta))]
    network.append(torch.ones(2, network.row_size))
    assert network.trained == [slice(network.blocks["layer2"].start, len(network.theta))]
    network.append(torch.ones(2), to="column")
    assert network.trained[-1].stop == network.blocks["head"].stop


def test_a_block_that_is_not_there_is_named():
    with pytest.raises(UnknownName, match="block of the network called 'layer4'; did you mean 'layer"):
        built("mlp").train_only(["layer4"])


def test_frozen_modules_are_in_evaluation_mode():
    network = built(Children)
    network.train_only(["eye", "brain", "head"])
    buffers = {name: value.clone() for name, value in network.buffers().items()}
    network.features(X)
    _step(network)
    norm = network.trunk.modules_by_name["norm"][0]
    assert network.trunk.training
    assert not norm.training
    assert all(torch.equal(value, buffers[name]) for name, value in network.buffers().items())
    network.train_only(None)
    _step(network)
    assert norm.training
    assert set(network.buffers(["norm"])) == set(network.buffers())
    assert network.buffers(["eye", "head"]) == {}
    assert not torch.equal(network.buffers()["layers.0.norm.running_mean"], buffers["layers.0.norm.running_mean"])
