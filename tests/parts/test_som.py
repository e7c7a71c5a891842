"""A self-organising map in blocks is the map that learns sample by sample, and each rule by hand."""

from __future__ import annotations

import pytest
import torch

from engram.parts.som import SelfOrganisingMap, neighbourhood, squared_distances

SIDE = 5


def written_out(weights, x, pulls):
    """The rule as it is printed, two passes over the map for every sample. Also the units that were best."""
    weights, bests = weights.clone(), []
    places = torch.cartesian_prod(torch.arange(SIDE), torch.arange(SIDE)).to(weights.dtype)
    for sample, (rate, radius) in zip(x, pulls):
        best = (sample - weights).square().sum(1).argmin()
        bests.append(int(best))
        share = rate * torch.exp(-(places - places[best]).square().sum(1) / (2 * radius**2))
        weights += share.unsqueeze(1) * (sample - weights)
    return weights, bests


def in_blocks(weights, x, pulls, size):
    map, bests = SelfOrganisingMap(SIDE, weights.clone()), []
    for start in range(0, len(x), size):
        block = map.block(x[start : start + size])
        for t, (rate, radius) in enumerate(pulls[start : start + size]):
            bests.append(int(block.rows[t].argmin()))
            block.pull(t, bests[-1], rate, radius)
        block.close()
    return map.weights, bests


@pytest.fixture
def data():
    draw = torch.Generator().manual_seed(0)
    x = torch.rand(200, 12, generator=draw, dtype=torch.float64)
    weights = 0.5 + 0.1 * torch.randn(SIDE**2, 12, generator=draw, dtype=torch.float64)
    way = torch.linspace(0, 1, 200).tolist()
    return weights, x, [(0.1 * 0.1**k, 1.25 * 0.4**k) for k in way]


@pytest.mark.parametrize("size", [1, 7, 64])
def test_blocks_are_the_rule_written_out(data, size):
    weights, x, pulls = data
    expected, bests = written_out(weights, x, pulls)
    found, same = in_blocks(weights, x, pulls, size)
    assert same == bests
    assert torch.allclose(found, expected, rtol=0, atol=1e-13)
    assert (found - weights).abs().max() > 0.1


def test_in_single_precision_blocks_differ_by_rounding_only(data):
    weights, x, pulls = data
    expected, bests = written_out(weights, x, pulls)
    found, same = in_blocks(weights.float(), x.float(), pulls, 64)
    assert same == bests
    assert torch.allclose(found.double(), expected, rtol=0, atol=2e-6)


def test_distances_follow_every_pull(data):
    weights, x, _ = data
    map = SelfOrganisingMap(SIDE, weights.clone())
    block = map.block(x[:9])
    for t in (0, 3, 4):
        block.pull(t, 12, 0.5, 0.8)
    block.close()
    expected = squared_distances(x[5:9], map.weights)
    assert torch.allclose(torch.from_numpy(block.rows[5:9]), expected, rtol=0, atol=1e-12)


def test_a_neighbourhood_of_nothing_moves_the_best_unit_alone():
    map = SelfOrganisingMap(2, torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [4.0, 4.0]]))
    block = map.block(torch.tensor([[3.0, 2.0]]))
    assert block.rows[0].tolist() == [13.0, 8.0, 10.0, 5.0]
    block.pull(0, 3, 0.25, 1e-3)
    assert map.weights[3].tolist() == [4.0, 4.0]  # until the block is closed
    block.close()
    assert map.weights.tolist() == [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [3.75, 3.5]]


def test_a_block_without_pulls_changes_no_bit(data):
    weights, x, _ = data
    map = SelfOrganisingMap(SIDE, weights.clone())
    map.block(x).close()
    assert torch.equal(map.weights, weights)
    assert map.operations == 2 * 200 * weights.numel()


def test_the_neighbourhood_is_a_gaussian_of_the_steps():
    assert neighbourhood(3, 1.0, torch.float64).tolist() == pytest.approx(
        [0.135335, 0.606531, 1.0, 0.606531, 0.135335], abs=1e-6
    )
