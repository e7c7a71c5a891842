"""Paths through modules: against loops written out plainly and against autograd."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from engram.parts.pathways import ActivePath, Pathways
from engram.randomness import generator

GENES = torch.tensor([[4, 1, 1], [0, 2, 3], [3, 3, 3]])  # 1 and 3 stand there more than once
FROZEN = torch.tensor([[0, 1, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 1, 0]]).bool()
ROWS = slice(2, 6)


@pytest.fixture
def pathways():
    """Three layers of five modules of six units on seven inputs; two heads, of which the second is looked at."""
    made = Pathways(7, 3, 5, 6)
    made.renew(torch.zeros(3, 5, dtype=torch.bool), generator(0, "test"))
    made.append(2, generator(0, "first head"))
    made.append(4, generator(0, "second head"))
    return made


def samples(count=9):
    draw = generator(1, "samples")
    return torch.randn(count, 7, generator=draw), torch.randint(0, 4, (count,), generator=draw)


def head_of(theta):
    """Four outputs: all weights, then all biases."""
    block = theta[theta.numel() - 4 * 7 :]
    return block[:24].view(4, 6), block[24:]


def plainly(pathways, theta, x):
    """Module by module, from the vector's layout: layer by layer all weights, then all biases."""
    start, h = 0, x
    for number, inputs in enumerate((7, 6, 6)):
        weights = theta[start : start + 5 * 6 * inputs].view(5, 6, inputs)
        biases = theta[start + 5 * 6 * inputs : start + 5 * 6 * (inputs + 1)].view(5, 6)
        h = sum(F.relu(F.linear(h, weights[m], biases[m])) for m in set(GENES[number].tolist()))
        start += 5 * 6 * (inputs + 1)
    return F.linear(h, *head_of(theta))


def test_one_unit_by_hand():
    pathways = Pathways(1, 2, 2, 1)
    pathways.theta = torch.tensor([2.0, -3.0, 1.0, 0.5, 4.0, 5.0, 0.0, -1.0, 10.0, 0.25])
    both = ActivePath(pathways, torch.tensor([[0, 1], [0, 1]]), slice(0, 1))
    # 2x+1 and -3x+0.5 at x=1: 3 and 0, sum 3; 4·3 and 5·3-1: 12 and 14, sum 26; 10·26+0.25
    assert both.scores(torch.tensor([[1.0]])).tolist() == [[260.25]]
    one = ActivePath(pathways, torch.tensor([[1, 1], [0, 0]]), slice(0, 1))
    assert one.scores(torch.tensor([[-1.0]])).tolist() == [[140.25]]


@pytest.mark.parametrize("frozen", [None, FROZEN])
def test_scores_are_those_of_modules_one_by_one(pathways, frozen):
    x, _ = samples()
    found = ActivePath(pathways, GENES, ROWS, frozen).scores(x)
    assert torch.allclose(found, plainly(pathways, pathways.theta, x), atol=1e-6)


@pytest.mark.parametrize("frozen", [torch.zeros(3, 5, dtype=torch.bool), FROZEN, torch.ones(3, 5, dtype=torch.bool)])
def test_the_gradient_is_autograd_s_and_of_what_is_frozen_there_is_none(pathways, frozen):
    x, y = samples()
    theta = pathways.theta.clone().requires_grad_()
    F.cross_entropy(plainly(pathways, theta, x), y).backward()
    path, before = ActivePath(pathways, GENES, ROWS, frozen), pathways.theta.clone()
    path.differentiate(x, F.one_hot(y, 4).float())
    for part in path.parts:
        path.theta[part] -= path.grad[part]
    path.put_back()
    moved = before - pathways.theta
    held = held_by(pathways, frozen)
    assert not moved[held].any()
    assert torch.allclose(moved[~held], theta.grad[~held], atol=1e-6)
    assert moved[-4:].all()  # the head learns in any case
    assert not moved[pathways.trunk_size : pathways.trunk_size + 14].any()  # the other one does not


def held_by(pathways, frozen):
    """Which entries of theta are those of frozen modules."""
    mask = Pathways(7, 3, 5, 6)
    for number in range(3):
        for values in mask.layer(number):
            values[frozen[number]] = 1
    return torch.cat([mask.theta, mask.theta.new_zeros(len(pathways.theta) - len(mask.theta))]).bool()


@pytest.mark.parametrize(
    "frozen, slices",
    [
        (torch.zeros(3, 5, dtype=torch.bool), 1),
        (FROZEN, 2),  # nothing of the third layer is trained
        (torch.ones(3, 5, dtype=torch.bool), 1),
    ],
)
def test_what_is_trained_is_a_few_slices(pathways, frozen, slices):
    path = ActivePath(pathways, GENES, ROWS, frozen)
    marked = torch.zeros_like(path.theta, dtype=torch.bool)
    for part in path.parts:
        marked[part] = True
    path.differentiate(samples()[0], F.one_hot(samples()[1], 4).float())
    assert not path.grad[~marked].any()
    assert len(path.parts) == slices + bool(frozen.any() and not frozen.all())


def test_new_modules_leave_frozen_ones_and_heads_alone(pathways):
    before = pathways.theta.clone()
    pathways.renew(FROZEN, generator(1, "test"))
    same = before == pathways.theta
    held = held_by(pathways, FROZEN)
    assert same[held].all()
    assert same[pathways.trunk_size :].all()
    assert not same[: pathways.trunk_size][~held[: pathways.trunk_size]].any()


def test_initial_values_are_as_wide_as_inputs_allow():
    made = Pathways(100, 2, 4, 25)
    made.renew(torch.zeros(2, 4, dtype=torch.bool), generator(0, "test"))
    for number, bound in enumerate((0.1, 0.2)):
        weights, biases = made.layer(number)
        assert 0.95 * bound < weights.abs().max() <= bound
        assert 0.5 * bound < biases.abs().max() <= bound
        assert abs(weights.mean()) < 0.05 * bound


def test_operations_are_counted_of_what_is_done(pathways):
    layers = [2 * 7 * 12, 2 * 6 * 18, 2 * 6 * 6, 2 * 6 * 4]
    assert ActivePath(pathways, GENES, ROWS).flops() == (sum(layers), 3 * sum(layers))
    own = 2 * 7 * 6 + 2 * 6 * 12 + 0 + 2 * 6 * 4
    assert ActivePath(pathways, GENES, ROWS, FROZEN).flops() == (
        sum(layers),
        sum(layers) + own + 2 * 7 * 6 + sum(layers[1:]),
    )
    everything = torch.ones(3, 5, dtype=torch.bool)
    assert ActivePath(pathways, GENES, ROWS, everything).flops() == (sum(layers), sum(layers) + layers[-1])
