"""What tests of networks share: images, networks with outputs, and residual blocks written with functions."""

import torch
import torch.nn.functional as F

from engram.networks import Blueprint
from engram.randomness import generator


def images(count, shape=(3, 32, 32)):
    return torch.randn(count, *shape, generator=generator(0, "images"))


def with_outputs(name, outputs, shape=(3, 32, 32), **settings):
    network = Blueprint.of(name, **settings).build(shape, seed=0)
    network.append(network.trunk.head_rows(outputs, generator(0, "head")))
    return network


def residual_map(trunk, x, strides, projected):
    """The last feature map of a residual trunk in training; `projected` are the strides of blocks with a shortcut of
    their own. Every parameter is used, in order."""
    tensors = iter(trunk.parameters())

    def normed(h, stride=1):
        kernel, weight, bias = next(tensors), next(tensors), next(tensors)
        h = F.conv2d(h, kernel, stride=stride, padding=kernel.shape[-1] // 2)
        return F.batch_norm(h, None, None, weight, bias, training=True)

    h = F.relu(normed(x))
    for stride in strides:
        inner = normed(F.relu(normed(h, stride)))
        h = F.relu(inner + (normed(h, stride) if stride in projected else h))
    assert next(tensors, None) is None
    return h
