"""The optimisers on one vector do what PyTorch's do."""

from __future__ import annotations

import pytest
import torch

from engram.parts.optimisers import LANES, OPTIMISERS, SGD, Adam, Nadam

REFERENCES = {
    "adam": (lambda: Adam(1e-2), lambda p: torch.optim.Adam([p], lr=1e-2, fused=True)),
    "sgd": (lambda: SGD(1e-2), lambda p: torch.optim.SGD([p], lr=1e-2)),
    "momentum": (lambda: SGD(1e-2, 0.9), lambda p: torch.optim.SGD([p], lr=1e-2, momentum=0.9)),
    "nadam": (lambda: Nadam(1e-2), lambda p: torch.optim.NAdam([p], lr=1e-2)),
}
DECAYED = {
    "adam": (lambda: Adam(1e-2, weight_decay=0.1), lambda p: torch.optim.Adam([p], lr=1e-2, weight_decay=0.1)),
    "sgd": (lambda: SGD(1e-2, weight_decay=0.1), lambda p: torch.optim.SGD([p], lr=1e-2, weight_decay=0.1)),
    "momentum": (
        lambda: SGD(1e-2, 0.9, 0.1),
        lambda p: torch.optim.SGD([p], lr=1e-2, momentum=0.9, weight_decay=0.1),
    ),
    "nadam": (lambda: Nadam(1e-2, weight_decay=0.1), lambda p: torch.optim.NAdam([p], lr=1e-2, weight_decay=0.1)),
}
ALL = slice(None)


def _gradients(count, size, seed=0):
    source = torch.Generator().manual_seed(seed)
    return [torch.randn(size, generator=source) for _ in range(count)]


@pytest.mark.parametrize("size", [40, 3 * LANES + 7])
@pytest.mark.parametrize("ours, reference", [*REFERENCES.values(), *DECAYED.values()])
def test_fifty_steps_equal_torch(ours, reference, size):
    theta = _gradients(1, size, seed=1)[0]
    parameter = torch.nn.Parameter(theta.clone())
    optimiser, expected = ours(), reference(parameter)
    optimiser.fit(size)
    for grad in _gradients(50, size):
        optimiser.step(theta, grad, ALL)
        parameter.grad = grad.clone()
        expected.step()
        assert torch.allclose(theta, parameter.data, rtol=1e-6, atol=1e-6)
    assert not torch.equal(theta, _gradients(1, size, seed=1)[0])


@pytest.mark.parametrize("stop", [7, 2 * LANES])
@pytest.mark.parametrize("name", REFERENCES)
def test_only_the_chosen_part_moves(name, stop):
    optimiser, size = REFERENCES[name][0](), stop + 3
    optimiser.fit(size)
    theta = torch.zeros(size)
    optimiser.step(theta, torch.ones(size), slice(3, stop))
    assert (theta[3:stop] < 0).all()
    assert (theta[:3] == 0).all()
    assert (theta[stop:] == 0).all()


@pytest.mark.parametrize("name", ["adam", "momentum", "nadam"])
def test_resets(name):
    def used():
        optimiser, theta = REFERENCES[name][0](), torch.zeros(6)
        optimiser.fit(6)
        for grad in _gradients(5, 6):
            optimiser.step(theta, grad, ALL)
        return optimiser

    full, slots, none = used(), used(), used()
    kept = {slot: vector.clone() for slot, vector in none.vectors.items()}
    for how, optimiser in (("full", full), ("slots", slots), ("none", none)):
        optimiser.reset(how)
    assert [full.steps, slots.steps, none.steps] == [0, 5, 5]
    assert all(not vector.any() for optimiser in (full, slots) for vector in optimiser.vectors.values())
    assert all(torch.equal(none.vectors[slot], kept[slot]) for slot in kept)

    moved = [torch.zeros(6) for _ in range(4)]
    new = REFERENCES[name][0]()
    new.fit(6)
    for theta, optimiser in zip(moved, (full, new, slots, none)):
        for grad in _gradients(3, 6, seed=2):
            optimiser.step(theta, grad, ALL)
    assert torch.equal(moved[0], moved[1])
    assert not torch.equal(moved[0], moved[3])
    assert torch.equal(moved[0], moved[2]) == (name == "momentum")


def test_slots_grow_at_their_end():
    optimiser = Adam(1e-2)
    optimiser.fit(3)
    optimiser.step(torch.zeros(3), torch.ones(3), ALL)
    before = optimiser.vectors["mean"].clone()
    optimiser.fit(5)
    assert torch.equal(optimiser.vectors["mean"], torch.cat([before, torch.zeros(2)]))


def test_plain_sgd_keeps_nothing():
    optimiser = SGD(0.1)
    optimiser.fit(4)
    assert optimiser.vectors == {}
    assert set(OPTIMISERS) == {"adam", "sgd", "nadam"}
