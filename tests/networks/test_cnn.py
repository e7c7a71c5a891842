"""Convolutional networks of the papers: the order of their layers, and where their images lie in memory."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from engram.networks import Blueprint, Outputs
from engram.randomness import generator


def _network(name, shape, **settings):
    network = Blueprint.of(name, **settings).build(shape, seed=0)
    network.append(network.trunk.head_rows(3, generator(0, "head")))
    return network


def _images(shape, samples=6):
    """Many pixels are exactly 0, as in images of digits, so that there are windows of equal numbers."""
    source = torch.Generator().manual_seed(1)
    x = torch.rand(samples, *shape, generator=source)
    return x * (torch.rand(x.shape, generator=source) > 0.7)


def test_relu_behind_the_pooling_has_the_bits_of_relu_before_it():
    network, x, y = _network("pfuelb-conv", (1, 12, 12), full_width=8), _images((1, 12, 12)), torch.arange(6) % 3
    network.backward(F.cross_entropy(network.training_scores(x, Outputs(0, 3)), y))
    found = network.grad.clone()
    first, second, full = (m for m in network.trunk.modules() if isinstance(m, (nn.Conv2d, nn.Linear)))
    maps = F.max_pool2d(F.relu(second(F.max_pool2d(F.relu(first(x)), 2))), 2)
    with torch.no_grad():
        assert torch.equal(network.body(x), maps)
    features = F.relu(F.linear(maps.flatten(1), full.weight, full.bias))
    loss = F.cross_entropy(network.scores(features, Outputs(0, 3)), y)
    for layer in (first, second):
        for parameter in (layer.weight, layer.bias):
            assert torch.equal(found[network.span(parameter)], _gradient(loss, parameter))


def _gradient(loss, parameter):
    return torch.autograd.grad(loss, parameter, retain_graph=True)[0].flatten()


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(
    "name, settings",
    [
        ("rwalk-cnn", {"dropout": 0.0}),
        ("resnet18-reduced", {"width": 4}),
        ("ctrl-resnet", {"width": 4}),
        ("ctrl-resnet", {"width": 4, "side": 10}),
        ("ctrl-alexnet", {"width": 4, "dropout": 0.0, "convolution_dropout": 0.0}),
    ],
)
def test_images_lie_pixel_by_pixel(name, settings, channels):
    network, x = _network(name, (channels, 20, 20), **settings), _images((channels, 20, 20))
    outputs = []
    layers = [layer for layer in network.trunk.modules() if isinstance(layer, nn.Conv2d)]
    hooks = [layer.register_forward_hook(lambda _, __, output: outputs.append(output)) for layer in layers]
    network.training_scores(x, Outputs(0, 3))
    features = network.features(x)
    for hook in hooks:
        hook.remove()
    assert len(outputs) == 2 * len(layers)
    wide = [output for output in outputs if output.shape[2] > 1]
    assert wide
    assert all(output.stride(1) == 1 for output in wide)
    assert torch.allclose(features, network.trunk.layers(x), atol=1e-5)
    assert features.is_contiguous()
