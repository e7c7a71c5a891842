"""Residual blocks of few channels: a kernel that writes beyond its memory on some processors is not asked for."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from by_hand import with_outputs
from torch import nn

from engram.networks.resnet import FEW, Block


@pytest.mark.parametrize("name", ["ctrl-resnet", "resnet18-reduced"])
@pytest.mark.parametrize("width", [1, 4, FEW])
def test_a_projection_of_few_channels_has_no_stride(name, width):
    layers = [m for m in with_outputs(name, 2, (3, 32, 32), width=width).trunk.modules() if isinstance(m, nn.Conv2d)]
    projections = [layer for layer in layers if layer.kernel_size == (1, 1)]
    assert len(projections) == 3
    for layer in projections:
        assert (layer.stride == (1, 1)) == (layer.in_channels < FEW)


@pytest.mark.parametrize("inputs", [4, FEW])
@pytest.mark.parametrize("side", [7, 8])
def test_it_is_the_projection_with_a_stride(inputs, side):
    block = Block(inputs, 6, 2).eval()
    x = torch.randn(3, inputs, side, side, generator=torch.Generator().manual_seed(0))
    x = x.to(memory_format=torch.channels_last)
    projection, normalised = block.shortcut
    with torch.no_grad():
        beside = normalised(F.conv2d(x, projection.weight, stride=2))
        expected = torch.relu(block.second(block.first(x)) + beside)
        assert torch.allclose(block(x), expected, atol=1e-6)
