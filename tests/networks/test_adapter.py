"""A mixture of colours: the identity at first, and by hand."""

from __future__ import annotations

import pytest
import torch

from engram.networks.adapter import adapter, mixed, mixture_flops

CPU = torch.device("cpu")


@pytest.mark.parametrize("shape, numbers", [((3, 4, 5), 12), ((1, 8, 8), 2), ((7,), 2)])
def test_it_begins_as_the_identity(shape, numbers):
    network, x = adapter(shape, CPU), torch.rand(6, *shape)
    assert len(network.theta) == numbers
    assert torch.equal(network.features(x), x)
    assert torch.equal(mixed(x, network.theta), x)


def test_colours_are_mixed_in_every_pixel():
    x, shares, offsets = torch.rand(4, 3, 5, 6), torch.rand(3, 3), torch.rand(3)
    expected = torch.einsum("oc,nchw->nohw", shares, x) + offsets.view(3, 1, 1)
    assert torch.allclose(mixed(x, torch.cat([shares.flatten(), offsets])), expected, atol=1e-6)
    assert mixture_flops((3, 5, 6)) == 2 * 9 * 30
