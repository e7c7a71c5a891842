"""Local winner-take-all: who wins, where gradients go, and that a network of it trains like any other."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from engram.errors import BadSetting
from engram.networks import Blueprint, Outputs
from engram.networks.lwta import LWTA
from engram.randomness import generator

X = [[1.0, 3.0, -2.0, -5.0, 4.0, 4.0]]
LWTA_NETWORK = Blueprint.of("mlp", widths="12-10", activation="lwta")


@pytest.mark.parametrize(
    "ties, values, winners",
    [("all", [0, 3, -2, 0, 4, 4], [0, 1, 1, 0, 1, 1]), ("first", [0, 3, -2, 0, 4, 0], [0, 1, 1, 0, 1, 0])],
)
def test_the_larger_of_two_speaks_and_only_winners_learn(ties, values, winners):
    x = torch.tensor(X, requires_grad=True)
    y = LWTA(ties)(x)
    assert y[0].tolist() == values
    (gradient,) = torch.autograd.grad((y * 7).sum(), x)
    assert gradient[0].tolist() == [7 * won for won in winners]


def test_a_winner_of_value_zero_still_learns():
    x = torch.tensor([[0.0, -1.0]], requires_grad=True)
    (gradient,) = torch.autograd.grad(LWTA("all")(x).sum(), x)
    assert gradient[0].tolist() == [1, 0]


def test_what_is_not_a_number_is_not_hidden():
    assert LWTA("all")(torch.tensor([[float("nan"), 1.0]])).isnan().any()


def _gradient(network, chained, x, y):
    network.chained = chained
    network.trunk.reseed(generator(5, "dropout"))
    network.grad.fill_(99.0)
    network.backward(F.cross_entropy(network.training_scores(x, Outputs(0, 3)), y))
    return network.grad.clone()


@pytest.mark.parametrize("ties", ["all", "first"])
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_the_chain_s_gradient_equals_autograds(ties, dropout):
    network = Blueprint.of("mlp", widths="6-4", activation="lwta", lwta_ties=ties, dropout=dropout).build((9,), seed=0)
    network.append(network.trunk.head_rows(3, generator(0, "head")))
    assert network.chained
    x, y = torch.randn(7, 9, generator=torch.Generator().manual_seed(3)), torch.tensor([0, 1, 2, 2, 1, 0, 2])
    by_chain, by_autograd = (_gradient(network, how, x, y) for how in (True, False))
    assert torch.allclose(by_chain, by_autograd, atol=1e-7, rtol=1e-5)
    assert by_chain.any()


def test_the_tie_rule_matters_where_units_are_equal():
    """A block of equal units: its second one passes a gradient on by one rule only."""
    grads = []
    for ties in ("all", "first"):
        network = Blueprint.of("mlp", widths="2", activation="lwta", lwta_ties=ties).build((3,), seed=0)
        network.append(torch.ones(3, 3) * torch.arange(3.0)[:, None])
        network.trunk.layers[1].weight.data[1] = network.trunk.layers[1].weight.data[0]
        network.trunk.layers[1].bias.data.zero_()
        _gradient(network, True, torch.ones(2, 3), torch.tensor([0, 2]))
        grads.append(network.grad_of(network.trunk.layers[1].weight).clone())
    assert grads[0].any(1).tolist() == [True, True]
    assert grads[1].any(1).tolist() == [True, False]


def test_units_come_in_pairs():
    assert LWTA_NETWORK.build((7,), seed=0).trunk.features == 10
    with pytest.raises(BadSetting, match="widths=12-5 has a layer of 5 units, .* give even widths"):
        Blueprint.of("mlp", widths="12-5", activation="lwta").build((7,), seed=0)
    with pytest.raises(BadSetting, match="lwta_ties='last' is not possible; choose one of: all, first"):
        Blueprint.of("mlp", activation="lwta", lwta_ties="last")


def test_it_learns(make, teach, digits_lessons):
    lesson = digits_lessons[0]
    learner = teach(make("finetune", network=LWTA_NETWORK, epochs=10, rate=0.01), [lesson])
    x, y = lesson.validation.batch(slice(None))
    assert (learner.predict(x).argmax(1) == y).float().mean() > 0.9
