"""Trunks cut between their modules: the parts together are the whole."""

from __future__ import annotations

import pytest
import torch
from by_hand import images
from torch import nn

from engram.errors import BadSetting
from engram.networks import NETWORKS, Blueprint, FlatNetwork
from engram.networks.cut import into_modules, only

SHAPE = (3, 32, 32)
RESNET = Blueprint.of("ctrl-resnet", width=4, side=8)
ALEXNET = Blueprint.of("ctrl-alexnet", width=2)
MLP = Blueprint.of("mlp", widths="9-7-5", dropout=0.1)


@pytest.mark.parametrize(
    "count, names",
    [
        (0, ["stem", "group1", "group2", "group3", "group4a", "group4b"]),
        (5, ["stem", "group1", "group2", "group3", "group4a+group4b"]),
        (2, ["stem+group1+group2", "group3+group4a+group4b"]),
        (9, [*(f"{name}.{k}" for name in ("group1", "group2", "group3") for k in (1, 2)), "group4a.1", "group4b.1"]),
    ],
)
def test_into_fewer_modules_and_into_blocks(count, names):
    cut = into_modules(RESNET.trunk(SHAPE, 0), count)
    assert list(cut.modules_by_name) == (["stem.1", *names] if count == 9 else names)
    assert [layer for layers in cut.modules_by_name.values() for layer in layers] == list(cut.layers)


def test_more_modules_than_blocks_are_refused():
    with pytest.raises(BadSetting, match="'ctrl-resnet' cannot be cut into 11 modules, .* give at most 10"):
        into_modules(RESNET.trunk(SHAPE, 0), 10)


@pytest.mark.parametrize("blueprint", [RESNET, ALEXNET, MLP])
def test_parts_one_after_another_are_the_whole(blueprint):
    x, whole = images(5), FlatNetwork(blueprint.trunk(SHAPE, 0))
    expected = whole.features(x)
    for start in range(1, len(whole.trunk.modules_by_name) + 1):
        first, last = (FlatNetwork(only(blueprint.trunk(SHAPE, 0), *cut)) for cut in ((0, start), (start, None)))
        assert torch.equal(torch.cat([first.theta, last.theta]), whole.theta)
        assert torch.allclose(last.features(first.features(x)), expected, atol=1e-6)
        assert len(first.trunk.dropouts) + len(last.trunk.dropouts) == len(whole.trunk.dropouts)


def pre_activated(shape, inplace=True):
    """Every module but the first begins with an activation that is not the same when it is done twice."""
    later = (nn.Sequential(nn.LeakyReLU(0.3, inplace), nn.Conv2d(4, 4, 3, padding=1)) for _ in range(3))
    return nn.Sequential(nn.Conv2d(shape[0], 4, 3, padding=1), *later, nn.AdaptiveAvgPool2d(1))


class Halving(nn.BatchNorm2d):
    """Always, or in training alone."""

    def __init__(self, features, always):
        super().__init__(features)
        self.always = always

    def forward(self, x):
        return super().forward(x.mul_(0.5) if self.always or self.training else x)


def halving(shape, always=True):
    return nn.Sequential(nn.Conv2d(shape[0], 4, 3), Halving(4, always), nn.AdaptiveAvgPool2d(1))


@pytest.mark.parametrize("learner", ["mntdp-d", "pnn"])
def test_modules_that_work_in_place_leave_alone_what_others_are_given(learner, make, teach, digits_lessons):
    found = []
    for inplace in (True, False):
        network = Blueprint.of(NETWORKS.name_of(pre_activated), inplace=inplace)
        found.append(teach(make(learner, network=network, rate=0.01), digits_lessons[:3]).parameters())
    assert torch.equal(*found)


@pytest.mark.parametrize("always", [True, False])
@pytest.mark.parametrize("learner", ["mntdp-d", "mntdp-s", "pnn"])
def test_modules_that_write_into_what_they_are_given_are_refused(learner, always, make):
    with pytest.raises(BadSetting, match="module '1' of network 'halving' writes into what it is given"):
        make(learner, network=Blueprint.of(NETWORKS.name_of(halving), always=always))


def test_what_is_left_trains_and_what_went_rests():
    tail = FlatNetwork(only(RESNET.trunk(SHAPE, 0), 5))
    tail.append(torch.zeros(2, 5))
    before = {name: value.clone() for name, value in tail.buffers().items()}
    tail.features(torch.rand(3, 4, 1, 1), training=True)
    assert before
    assert not any(torch.equal(before[name], value) for name, value in tail.buffers().items())
    head = FlatNetwork(only(RESNET.trunk(SHAPE, 0), 6))
    assert head.features(torch.rand(1, 4), training=True).shape == (1, 4)  # one sample, with nothing to normalise


def test_linear_layers_that_are_left_are_a_chain():
    assert FlatNetwork(only(ALEXNET.trunk(SHAPE, 0), 3)).is_direct
    assert FlatNetwork(only(MLP.trunk(SHAPE, 0), 1)).is_direct
