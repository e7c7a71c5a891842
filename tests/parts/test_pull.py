"""The quadratic pull, against penalties written out by hand."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engram.parts.pull import Pull, pad


def _random(*sizes, seed=0):
    source = torch.Generator().manual_seed(seed)
    return [torch.rand(size, generator=source, dtype=torch.float64).float() for size in sizes]


def test_a_merged_pull_has_the_gradient_of_the_sum():
    weights, centres = _random(4, 6, 7, seed=1), _random(4, 6, 7, seed=2)
    theta = _random(9, seed=3)[0].double().requires_grad_()
    penalty = sum((w * (theta[: len(w)] - c) ** 2).sum() / 2 for w, c in zip(weights, centres))
    penalty.backward()
    merged = Pull.merge(list(zip(weights, centres)), 9)
    grad = merged.with_gradient(theta.detach().float(), torch.zeros(9))
    assert torch.allclose(grad, theta.grad.float(), atol=1e-6)
    assert (grad[7:] == 0).all()


def test_where_nothing_pulls_nothing_is_undefined():
    zero = torch.zeros(3)
    merged = Pull.merge([(zero, torch.ones(3)), (zero, torch.ones(3))], 4)
    theta = torch.full((4,), 5.0)
    merged.apply_implicitly(theta, 0.1)
    assert torch.equal(theta, torch.full((4,), 5.0))


def test_the_explicit_gradient_is_added_and_the_plain_one_stays():
    grad = torch.tensor([1.0, 1.0])
    pull = Pull(torch.tensor([2.0, 0.0]), torch.tensor([1.0, 9.0]))
    assert pull.with_gradient(torch.tensor([4.0, 4.0]), grad).tolist() == [7.0, 1.0]
    assert grad.tolist() == [1.0, 1.0]


def test_the_implicit_step_follows_a_rate_that_changes():
    pull, theta = Pull(torch.tensor([30.0]), torch.tensor([0.0])), torch.tensor([8.0])
    for rate, expected in ((0.1, 2.0), (0.1, 0.5), (1 / 30, 0.25)):
        pull.apply_implicitly(theta, rate)
        assert theta.item() == pytest.approx(expected)


def test_an_endless_pull_ends_at_the_centre():
    theta = torch.tensor([8.0])
    Pull(torch.tensor([3e38]), torch.tensor([2.0])).apply_implicitly(theta, rate=1e9)
    assert theta.item() == 2.0


def test_the_implicit_step():
    theta = torch.tensor([4.0, 4.0])
    Pull(torch.tensor([30.0, 0.0]), torch.tensor([1.0, 9.0])).apply_implicitly(theta, rate=0.1)
    assert theta.tolist() == [(4 + 3 * 1) / 4, 4.0]


@given(st.floats(0, 1e30), st.floats(-10, 10), st.floats(-10, 10))
def test_the_implicit_step_never_leaves_the_way_to_the_centre(weight, start, centre):
    theta = torch.tensor([start])
    Pull(torch.tensor([weight]), torch.tensor([centre])).apply_implicitly(theta, rate=0.1)
    low, high = sorted((start, centre))
    assert low - 1e-5 <= theta.item() <= high + 1e-5


EWC_ONE = ([(3 * 2.0, 1.0)], 8.0, 2.0)
EWC_TWO = ([(1.0, 0.0), (3.0, 4.0)], 10.0, 4.4)
ONLINE = ([(1.0 + 3.0, 4.0)], 10.0, 5.2)


@pytest.mark.parametrize("pairs, target, minimiser", [EWC_ONE, EWC_TWO, ONLINE])
@pytest.mark.parametrize("implicit", [False, True])
def test_one_parameter_quadratics_end_at_their_minimisers(pairs, target, minimiser, implicit):
    """Task loss (θ − target)²/2 with the penalties of EWC (2; two tasks 4.4) and online EWC (5.2)."""
    pull = Pull.merge([(torch.tensor([w]), torch.tensor([c])) for w, c in pairs], 1)
    theta, rate = torch.tensor([-3.0]), 1e-3 if implicit else 0.05
    for _ in range(6000 if implicit else 500):
        grad = theta - target
        if not implicit:
            grad = pull.with_gradient(theta, grad).clone()
        theta -= rate * grad
        if implicit:
            pull.apply_implicitly(theta, rate)
    assert theta.item() == pytest.approx(minimiser, abs=0.02 if implicit else 1e-4)


def test_padding():
    assert pad(torch.tensor([1.0]), 3).tolist() == [1.0, 0.0, 0.0]
