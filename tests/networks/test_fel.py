"""The fixed expansion layer: who fires, what is fixed, what it costs, and that it learns like any other network."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from engram.checks import assert_learner
from engram.core import Outline
from engram.costs import itemise, step_flops
from engram.errors import BadSetting
from engram.learners import create
from engram.networks import Blueprint, Outputs
from engram.networks.expansion import ConstantTriggering, Expansion, Triggering
from engram.parts import fisher
from engram.randomness import generator

FEL = Blueprint.of("fel", widths="12", units=40, triggered=0.1)
X = torch.randn(7, 9, generator=torch.Generator().manual_seed(3))
Y = torch.tensor([0, 1, 2, 2, 1, 0, 2])


def _network(seed=0, **settings):
    network = Blueprint.of("fel", **{"widths": "6", "units": 20, "triggered": 0.15, **settings}).build((9,), seed)
    network.append(network.trunk.head_rows(3, generator(0, "head")))
    return network


def _expansion(network):
    return network.trunk.expansion[0]


def test_the_largest_and_the_smallest_fire_as_they_are():
    x = torch.tensor([[5.0, -3, 1, 0, -4, 2]], requires_grad=True)
    y = Triggering(2, 1)(x)
    assert y[0].tolist() == [5, 0, 0, 0, -4, 2]
    (gradient,) = torch.autograd.grad((y * 7).sum(), x)
    assert gradient[0].tolist() == [7, 0, 0, 0, 7, 7]


def test_or_as_one_and_minus_one_with_the_same_gradient():
    x = torch.tensor([[0.3, -3, 0.1, 0, -4.7, 0.2]], requires_grad=True)
    y = ConstantTriggering(2, 1)(x)
    assert y[0].tolist() == [1, 0, 0, 0, -1, 1]
    (gradient,) = torch.autograd.grad((y * 7).sum(), x)
    assert gradient[0].tolist() == [7, 0, 0, 0, 7, 7]


@pytest.mark.parametrize(
    "x", [torch.zeros(3, 10), torch.ones(3, 10), X.repeat(1, 2)[:, :10], torch.tensor([[1.0] * 7 + [0.0] * 3])]
)
@pytest.mark.parametrize("most, least", [(3, 2), (5, 5), (1, 8)])
def test_exactly_so_many_fire_where_units_are_equal_too(x, most, least):
    largest, smallest = Triggering(most, least).find(x)
    for above, below in zip(largest.tolist(), smallest.tolist(), strict=True):
        assert len({*above, *below}) == most + least
    assert (Triggering(most, least).mask(x).sum(1) == most + least).all()
    assert (ConstantTriggering(most, least)(x).sum(1) == most - least).all()


def test_what_is_not_a_number_is_not_hidden():
    assert Triggering(1, 1)(torch.tensor([[float("nan"), 1.0, 2.0]])).isnan().any()


@pytest.mark.parametrize("connectivity, seen, excite", [(0.5, 5, 3), (1.0, 10, 5), (0.01, 1, 1)])
def test_every_unit_sees_as_many_inputs_half_of_them_with_each_sign(connectivity, seen, excite):
    layer = Expansion(10, 30, connectivity)
    layer.draw(torch.Generator().manual_seed(0))
    assert ((layer.weight > 0).sum(1) == excite).all()
    assert ((layer.weight < 0).sum(1) == seen - excite).all()
    assert layer.weight.abs().unique().tolist() == pytest.approx(([0.0] if seen < 10 else []) + [seen**-0.5])
    assert connectivity == 1 or len(layer.weight.abs().unique(dim=0)) > 1


def test_the_seed_draws_it():
    first, again, other = (_expansion(_network(seed)).weight for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize(
    "inputs, units, classes, megabytes", [(784, 2000, 10, 4.54), (2048, 1200, 200, 6.16), (1280, 2000, 100, 6.06)]
)
def test_the_sizes_of_the_paper(inputs, units, classes, megabytes):
    """Kemker et al. 2018, Table 2: D·400 + 400 + 400·F + F + F·C + C numbers of four bytes."""
    learner = create("finetune", Outline((inputs,), tuple(range(classes))), 0, Blueprint.of("fel", units=units), {})
    learner.network.append(torch.zeros(classes, units + 1))
    counted = itemise(learner.state())["total"]
    assert counted == 4 * (inputs * 400 + 400 + 400 * units + units + units * classes + classes)
    assert round(counted / 1e6, 2) == megabytes


def test_fixed_numbers_are_not_in_theta_and_stay_to_the_bit(make, teach, digits_lessons):
    learner = make("finetune", network=FEL, epochs=2, rate=0.1)
    layer = _expansion(learner.network)
    before = layer.weight.clone(), layer.bias.clone()
    moved = learner.network.theta.clone()
    teach(learner, digits_lessons[:2])
    assert torch.equal(layer.weight, before[0])
    assert torch.equal(layer.bias, before[1])
    assert learner.network.trunk_size == 64 * 12 + 12
    assert not torch.equal(learner.network.theta[: len(moved)], moved)


def test_hidden_units_that_only_silent_units_see_learn_nothing():
    network = _network(connectivity=0.2)
    _expansion(network).weight[:, 0] = 0
    network.backward(F.cross_entropy(network.training_scores(X, Outputs(0, 3)), Y))
    gradient = network.grad_of(network.trunk.layers[1].weight)
    assert not gradient[0].any()
    assert gradient[1:].any()


@pytest.mark.parametrize("settings", [{}, {"widths": "6-5", "activation": "relu"}])
def test_the_chain_s_gradient_equals_autograds(settings):
    network = _network(**settings)
    assert network.chained
    gradients = []
    for chained in (True, False):
        network.chained = chained
        network.grad.fill_(99.0)
        network.backward(F.cross_entropy(network.training_scores(X, Outputs(0, 3)), Y))
        gradients.append(network.grad.clone())
    assert torch.allclose(*gradients, atol=1e-7, rtol=1e-5)
    assert gradients[0].any()


@pytest.mark.parametrize("values", ["raw", "constant"])
def test_the_exact_fisher_information_is_that_of_samples_one_by_one(values):
    network = _network(values=values)
    expected = torch.zeros_like(network.theta)
    for x, y in zip(X, Y, strict=True):
        network.backward(F.cross_entropy(network.scores(network.features(x[None]), Outputs(0, 3)), y[None]))
        expected += network.grad.square() / len(X)
    found = fisher.of_batch(network, X, Outputs(0, 3), lambda scores: F.cross_entropy(scores, Y, reduction="sum"))
    assert torch.allclose(found, expected, atol=1e-7, rtol=1e-4)


def test_operations_of_a_step_are_three_passes_less_the_gradient_of_what_is_fixed():
    network = _network()
    assert step_flops(network, (9,), 3) == 3 * 2 * (9 * 6 + 20 * 3) + 2 * 2 * 6 * 20
    network.train_only(["layer1", "head"])
    assert step_flops(network, (9,), 3) == 3 * 2 * (9 * 6 + 20 * 3) + 2 * 2 * 6 * 20


@pytest.mark.parametrize("units, triggered", [(20, 0.6), (3, 0.5)])
def test_more_triggers_than_units_are_refused(units, triggered):
    with pytest.raises(BadSetting, match=rf"triggered={triggered} lets .* than the {units} units .* or more units"):
        _network(units=units, triggered=triggered)


@pytest.mark.parametrize("values", ["raw", "constant"])
def test_it_learns(values, make, teach, digits_lessons):
    lesson = digits_lessons[0]
    network = Blueprint.of("fel", widths="12", units=40, triggered=0.1, values=values)
    learner = teach(make("finetune", network=network, epochs=10, rate=0.01), [lesson])
    x, y = lesson.validation.batch(slice(None))
    assert (learner.predict(x).argmax(1) == y).float().mean() > 0.9


def test_a_learner_keeps_the_contract_with_it(monkeypatch):
    monkeypatch.setattr("engram.checks.case.Case.network", FEL)
    monkeypatch.setattr("engram.checks.operations.NETWORK", Blueprint.of("fel", widths="16", units=400))
    assert_learner("ewc")


def test_a_state_is_taken_to_another_device_with_the_fixed_numbers(make, teach, snapshot, digits_lessons):
    state = snapshot(teach(make("finetune", network=FEL), digits_lessons[:1]))
    learner = make("finetune", network=replace(FEL, device="meta"))
    learner.load(state)
    assert all(tensor.is_meta for tensor in learner.state().tensors.values())
