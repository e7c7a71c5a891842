"""Gates behind layers of weights, and which weights lie between masked units."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from engram.errors import BadSetting
from engram.networks import NETWORKS, Blueprint
from engram.parts.masks import Gates


def trunk(name, shape=(3, 32, 32), **settings):
    return Blueprint.of(name, **settings).build(shape, seed=0).trunk.eval()


def test_units_are_those_of_the_paper():
    """4,544 numbers a task on the AlexNet, 2,000 on the MLP of Veniat et al. 2021."""
    assert Gates(trunk("ctrl-alexnet")).units == [64, 128, 256, 2048, 2048]
    assert sum(Gates(trunk("ctrl-alexnet")).units) == 4544
    assert Gates(trunk("mlp", widths="1000-1000")).units == [1000, 1000]
    assert Gates(trunk("rwalk-cnn")).units == [32, 32, 64, 64]


def test_gates_multiply_the_outputs_of_layers():
    made = trunk("mlp", (4,), widths="3-2")
    gates, x = Gates(made), torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    plain, (first, second) = made(x), gates.layers
    gates.open(torch.tensor([1.0, 0.0, 0.5, 2.0, 0.0]))
    hidden = torch.relu(F.linear(x, first.weight, first.bias)) * torch.tensor([1.0, 0.0, 0.5])
    expected = torch.relu(F.linear(hidden, second.weight, second.bias)) * torch.tensor([2.0, 0.0])
    assert torch.equal(made(x), expected)
    gates.open(torch.ones(5))
    assert torch.equal(made(x), plain)


def test_channels_are_masked_before_they_are_flattened():
    made = trunk("ctrl-alexnet", width=2, dropout=0, convolution_dropout=0)
    gates = Gates(made)
    masks = torch.ones(sum(gates.units))
    masks[2 + 4 + 3] = 0  # the fourth channel of the third convolution
    heard = []
    gates.layers[3].register_forward_hook(lambda _, inputs, __: heard.append(inputs[0]))
    gates.open(masks)
    with torch.no_grad():
        made(torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0)))
    flat = heard[0].view(2, 8, -1)
    assert (flat[:, 3] == 0).all()
    assert (flat[:, [0, 1, 2, 4, 5, 6, 7]].flatten(2) != 0).any()


def test_a_weight_lies_between_the_smaller_of_two_masks():
    gates = Gates(trunk("mlp", (2,), widths="2-2"))
    found = gates.between(torch.tensor([1.0, 0.25, 0.5, 0.0]))
    first = [1, 1, 0.25, 0.25, 1, 0.25]  # both inputs of each unit, then the biases
    second = [0.5, 0.25, 0, 0, 0.5, 0]
    assert found.tolist() == [*first, *second]


def test_a_full_layer_behind_a_convolution_has_every_channel_several_times():
    made = trunk("ctrl-alexnet", width=1)
    gates = Gates(made)
    masks = torch.ones(sum(gates.units))
    masks[1 + 2 + 1] = 0  # the second channel of the third convolution, which has 2×2 pixels
    sizes = [parameter.numel() for parameter in made.parameters()]
    full = gates.between(masks).split(sizes)[6].view(32, 16)
    assert full[0].tolist() == [1] * 4 + [0] * 4 + [1] * 8
    kernel = gates.between(masks).split(sizes)[4].view(4, 2, 2, 2)
    assert [float(part.sum()) for part in kernel] == [8, 0, 8, 8]


def crossing(shape):
    class Crossing(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.other = nn.Linear(32, 4), nn.Linear(32, 4)

        def forward(self, x):
            return self.one(x) + self.other(x)

    return Crossing()


def nothing(shape):
    return nn.Flatten()


@pytest.mark.parametrize(
    "network, found",
    [
        ("ctrl-resnet", "layers of the kind BatchNorm2d"),
        ("resnet18-reduced", "layers of the kind BatchNorm2d"),
        ("fel", "layers of the kind Expansion"),
        (crossing, "layers of the kind Crossing"),
        (nothing, "no layer of weights"),
    ],
)
def test_networks_whose_units_cannot_be_masked_are_refused(network, found):
    name = network if isinstance(network, str) else NETWORKS.name_of(network)
    with pytest.raises(BadSetting, match=rf"units of network '{name}' cannot be masked: it has {found}"):
        Gates(trunk(name))
