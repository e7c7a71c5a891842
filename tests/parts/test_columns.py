"""Columns with lateral modules: what they compute, and how many parameters they have (fixture I37)."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from engram.errors import BadSetting
from engram.networks import NETWORKS, Blueprint
from engram.parts.columns import build, column_flops, spared_flops
from engram.randomness import generator


def columns(name, count, shape, outputs=10, **settings):
    found = []
    for number in range(count):
        for frozen in found:
            frozen.train_only(())
        network = build(Blueprint.of(name, **settings), shape, 0, found)
        network.append(network.trunk.head_rows(outputs, generator(0, "head", number)))
        found.append(network)
    return found


@pytest.mark.parametrize(
    "name, shape, full, stem",
    [
        ("ctrl-resnet", (3, 32, 32), 607_050, 1_856),
        ("mlp", (784,), 1_796_010, 785_000),
    ],
)
def test_parameters_are_those_of_the_paper(name, shape, full, stem):
    """T·full + T(T−1)/2·(full − stem), with the networks of Veniat et al. 2021."""
    settings = {"widths": "1000-1000"} if name == "mlp" else {}
    found = columns(name, 3, shape, **settings)
    assert sum(len(network.theta) for network in found) == 3 * full + 3 * (full - stem)


def test_a_column_by_hand():
    """Three columns of two full layers, written out."""
    found = columns("mlp", 3, (4,), outputs=2, widths="5-3")
    x = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
    parts = [list(network.trunk.parameters()) for network in found]
    first = [torch.relu(F.linear(x, *own[:2])) for own in parts]
    second = []
    for number, own in enumerate(parts):
        total = F.linear(first[number], *own[2:4])
        for j in range(number):
            total = total + F.linear(first[j], *own[4 + 2 * j : 6 + 2 * j])
        second.append(torch.relu(total))
    head = found[2].head
    scores = F.linear(second[2], head[:, :3], head[:, -1])
    for j, start in ((0, 3), (1, 7)):
        scores = scores + F.linear(second[j], head[:, start : start + 3], head[:, start + 3])
    network = found[2]
    assert torch.allclose(network.scores(network.features(x)), scores, atol=1e-6)


def test_own_modules_begin_as_the_network_does_and_lateral_ones_otherwise():
    alone = Blueprint.of("ctrl-resnet", width=3).build((3, 16, 16), 0)
    first, _, third = columns("ctrl-resnet", 3, (3, 16, 16), width=3)
    assert torch.equal(first.theta[: first.trunk_size], alone.theta)
    assert torch.equal(third.theta[: len(alone.theta)], alone.theta)
    laterals = third.theta[len(alone.theta) : third.trunk_size].view(2, -1)
    assert not torch.isclose(laterals[0], laterals[1]).all()
    assert torch.equal(third.head[:, :3], third.trunk.own.head_rows(10, generator(0, "head", 2))[:, :-1])


def test_only_the_newest_column_learns_and_old_statistics_stay():
    first, second = columns("ctrl-resnet", 2, (3, 16, 16), width=3)
    x = torch.randn(8, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    before = {name: value.clone() for name, value in first.buffers().items()}
    own = {name: value.clone() for name, value in second.buffers().items()}
    y = torch.arange(8)
    second.backward(F.cross_entropy(second.scores(second.features(x, training=True)), y))
    assert second.grad.abs().gt(0).double().mean() > 0.9
    assert all(torch.equal(before[name], value) for name, value in first.buffers().items())
    assert not any(torch.equal(own[name], value) for name, value in second.buffers().items())


def test_operations():
    found = columns("mlp", 3, (4,), outputs=2, widths="5-3")
    assert [column_flops(network, (4,)) for network in found] == [2 * k for k in (35, 85, 150)]
    assert [spared_flops(network, (4,)) for network in found] == [0, 2 * 15, 2 * 30]


def nothing(shape):
    return nn.Flatten()


def test_a_network_without_modules_is_refused():
    with pytest.raises(BadSetting, match="a column of network 'nothing' would have no modules"):
        columns(NETWORKS.name_of(nothing), 1, (4,))


def wild(shape):
    """Draws from the global generator, as modules of one's own do."""
    return nn.Sequential(nn.Linear(4, 5), nn.Dropout(0.5), nn.Linear(5, 3))


def test_random_numbers_of_a_module_of_ones_own_come_from_the_step():
    _, second = columns(NETWORKS.name_of(wild), 2, (4,))
    x, before = torch.ones(6, 4), torch.get_rng_state()
    drawn = []
    for step in (0, 0, 1):
        second.trunk.reseed(generator(0, "dropout", step))
        drawn.append(second.features(x, training=True))
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])
    assert torch.equal(torch.get_rng_state(), before)
