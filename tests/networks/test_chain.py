"""Back-propagation through a chain, against autograd."""

from __future__ import annotations

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from engram.networks import Blueprint, FlatNetwork, Outputs, Trunk
from engram.parts.criterion import Criterion
from engram.randomness import generator

X = torch.randn(7, 1, 4, 4, generator=torch.Generator().manual_seed(3))
Y = torch.tensor([0, 1, 2, 2, 1, 0, 2])


def _network(name="mlp", **settings):
    network = Blueprint.of(name, **settings).build((1, 4, 4), seed=0)
    network.append(network.trunk.head_rows(4, generator(0, "head")))
    return network


def _gradients(network, outputs, chained):
    network.chained = chained
    network.trunk.reseed(generator(5, "dropout"))
    network.grad.fill_(99.0)  # what an earlier step left must not shine through
    loss = F.cross_entropy(network.training_scores(X, outputs), Y)
    network.backward(loss)
    return loss.item(), network.grad.clone()


@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid"])
@pytest.mark.parametrize("dropout", [{}, {"dropout": 0.5, "input_dropout": 0.2}])
@pytest.mark.parametrize("rows", [(0, 1, 2, 3), (0, 1, 2), (1, 2, 3), (0, 2, 3)])
def test_the_gradient_equals_autograds(activation, dropout, rows):
    network = _network(widths="6-5", activation=activation, **dropout)
    assert network.chained
    outputs = Outputs.of(rows)
    (loss, grad), (loss_by_autograd, by_autograd) = (_gradients(network, outputs, how) for how in (True, False))
    assert loss == pytest.approx(loss_by_autograd, rel=1e-6)
    assert torch.allclose(grad, by_autograd, atol=1e-7, rtol=1e-5)


def test_a_network_without_hidden_layers():
    network = _network(widths=())
    grads = [_gradients(network, Outputs(0, 4), how)[1] for how in (True, False)]
    assert torch.allclose(*grads, atol=1e-7)


@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("rows", [(0, 1, 2, 3), (1, 2, 3), (0, 2, 3)])
def test_a_chain_behind_convolutions(dropout, rows):
    network = _network("pfuelb-conv", full_width=6, dropout=dropout)
    assert network.chained
    outputs = Outputs.of(rows)
    (loss, grad), (loss_by_autograd, by_autograd) = (_gradients(network, outputs, how) for how in (True, False))
    assert loss == pytest.approx(loss_by_autograd, rel=1e-6)
    assert torch.allclose(grad, by_autograd, atol=1e-7, rtol=1e-5)
    assert (grad[: network.body_size] != 0).any()


def test_what_lies_before_the_chain_is_left_as_it_was():
    """An activation works in place, except on what the body, or the caller, still needs."""

    class Odd(Trunk):
        features = 3

        def assemble(self, shape):
            return nn.Sequential(nn.Conv2d(1, 2, 3), nn.Tanh(), nn.Flatten(), nn.ReLU(), nn.Linear(8, 3), nn.Tanh())

    network = FlatNetwork(Odd((1, 4, 4), 0, {"init": "uniform"}))
    network.append(network.trunk.head_rows(4, generator(0, "head")))
    assert network.chained
    by_chain, by_autograd = (_gradients(network, Outputs(0, 4), how)[1] for how in (True, False))
    assert torch.allclose(by_chain, by_autograd, atol=1e-7, rtol=1e-5)


@pytest.mark.parametrize("settings", [{"name": "rwalk-cnn"}, {"name": "resnet18-reduced"}, {"activation": "gelu"}])
def test_what_is_not_a_chain_is_left_to_autograd(settings):
    assert not _network(**settings).chained


CHAINS = pytest.mark.parametrize("settings", [{"widths": "6-5"}, {"name": "pfuelb-conv", "full_width": 6}])


@CHAINS
def test_two_batches_in_one_loss_add_up(settings):
    network, outputs = _network(**settings), Outputs(0, 4)
    network.backward(
        F.cross_entropy(network.training_scores(X[:3], outputs), Y[:3], reduction="sum")
        + F.cross_entropy(network.training_scores(X[3:], outputs), Y[3:], reduction="sum")
    )
    together = network.grad.clone()
    network.backward(F.cross_entropy(network.training_scores(X, outputs), Y, reduction="sum"))
    assert torch.allclose(together, network.grad, atol=1e-5)


def test_a_loss_that_also_looks_at_parameters():
    network, outputs = _network(widths="6-5"), Outputs(0, 4)
    network.backward(F.cross_entropy(network.training_scores(X, outputs), Y))
    plain = network.grad.clone()
    network.backward(F.cross_entropy(network.training_scores(X, outputs), Y) + network.head.square().sum())
    expected = plain.clone()
    expected[network.trunk_size :] += 2 * network.theta[network.trunk_size :]
    assert torch.allclose(network.grad, expected, atol=1e-6)


@CHAINS
def test_a_loss_that_goes_around_the_chain(settings):
    network = _network(**settings)
    network.grad.fill_(99.0)
    network.backward(network.head.square().sum())
    assert (network.grad[: network.trunk_size] == 0).all()
    assert torch.allclose(network.head_grad, 2 * network.head)


@CHAINS
def test_training_a_part_leaves_the_chain(settings):
    network = _network(**settings)
    part = slice(network.trunk_size, len(network.theta))
    network.train_only(["head"])
    assert not network.chained
    network.grad.zero_()
    network.backward(F.cross_entropy(network.training_scores(X, Outputs(0, 4)), Y))
    assert (network.grad[: network.trunk_size] == 0).all()
    assert (network.grad[part] != 0).any()


@pytest.mark.parametrize("settings", [{}, {"dropout": 0.5, "input_dropout": 0.2}, {"activation": "lwta"}])
@pytest.mark.parametrize("rows", [(0, 1, 2, 3), (1, 2, 3), (0, 2, 3)])
def test_the_direct_loss_has_the_bits_of_the_way_through_autograd(settings, rows):
    network, outputs = _network(widths="6-4", **settings), Outputs.of(rows)
    assert network.is_direct
    rule = partial(Criterion().with_gradient, y=Y)
    loss, grad = _gradients(network, outputs, True)
    network.trunk.reseed(generator(5, "dropout"))
    network.grad.fill_(99.0)
    assert network.direct_loss(X, outputs, rule).item() == loss
    assert torch.equal(network.grad, grad)
    network.append(torch.ones(3), to="column")
    network.grad.fill_(99.0)
    network.trunk.reseed(generator(5, "dropout"))
    network.direct_loss(X, outputs, rule)
    assert torch.equal(network.grad, torch.cat([grad, torch.zeros(3)]))


def test_what_has_no_direct_loss():
    assert not _network("pfuelb-conv", full_width=6).is_direct
    assert not _network("rwalk-cnn").is_direct
    part = _network(widths="6-5")
    part.train_only(["head"])
    assert not part.is_direct
