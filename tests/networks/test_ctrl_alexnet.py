"""The AlexNet of HAT and CTrL: sizes and modules of the paper's Table 9."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from by_hand import images, with_outputs

from engram.errors import BadData, BadSetting
from engram.networks import HEAD, Blueprint, Outputs
from engram.networks.trunk import Dropout
from engram.randomness import generator

SHAPE = (3, 32, 32)


def network(shape=SHAPE, **settings):
    return with_outputs("ctrl-alexnet", 5, shape, **settings)


def test_parameters_of_the_paper():
    """Its table has five classes."""
    sizes = {name: span.stop - span.start for name, span in network().blocks.items()}
    assert sizes == {
        "convolution1": 3_136, "convolution2": 73_856, "convolution3": 131_328, "full1": 2_099_200, "full2": 4_196_352,
        HEAD: 10_245,
    }  # fmt: skip
    assert Blueprint.of("ctrl-alexnet").parameters(SHAPE, 10) == 6_503_872 + 20_490


def test_the_perceptron_of_permuted_mnist():
    """Table 7 needs no network of its own."""
    made = with_outputs("mlp", 10, (1, 28, 28), widths="1000-1000")
    assert [span.stop - span.start for span in made.blocks.values()] == [785_000, 1_001_000, 10_010]


@pytest.mark.parametrize("shape, settings", [((1, 19, 19), {}), ((3, 32, 32), {}), ((3, 64, 40), {"side": 20})])
def test_features_of_all_images(shape, settings):
    made = network(shape=shape, width=2, **settings)
    assert made.trunk.features == 64
    assert made.features(images(2, shape)).shape == (2, 64)


def test_against_the_same_network_written_with_functions():
    made, x = network(width=4), images(3)
    tensors = list(made.trunk.parameters())
    h = x
    for kernel, bias in zip(tensors[0:6:2], tensors[1:6:2], strict=True):
        h = F.max_pool2d(F.relu(F.conv2d(h, kernel, bias)), 2)
    h = h.flatten(1)
    for weight, bias in zip(tensors[6::2], tensors[7::2], strict=True):
        h = F.relu(F.linear(h, weight, bias))
    assert torch.allclose(made.features(x), h, atol=1e-6)


def test_dropout_comes_after_relu_and_before_pooling_in_all_but_name():
    """The numbers of the paper's order: convolution, ReLU, dropout, max-pooling."""
    made, x = network(width=4, dropout=0), images(3)
    made.trunk.reseed(generator(0, "dropout"))
    found = made.features(x, training=True)
    tensors = list(made.trunk.parameters())
    masks, h = generator(0, "dropout"), x.contiguous(memory_format=torch.channels_last)
    for drop, kernel, bias in zip(made.trunk.dropouts, tensors[0:4:2], tensors[1:4:2], strict=True):
        drop.generator = masks
        h = F.relu(F.conv2d(h, kernel, bias))
        h = F.max_pool2d(h * drop.mask(h), 2)
    h = F.max_pool2d(F.relu(F.conv2d(h, *tensors[4:6])), 2).flatten(1)
    h = F.relu(F.linear(F.relu(F.linear(h, *tensors[6:8])), *tensors[8:]))
    assert torch.allclose(found, h, atol=1e-6)


def test_dropout_of_the_paper():
    rates = [layer.rate for layer in network(width=2).trunk.modules() if isinstance(layer, Dropout)]
    assert rates == [0.2, 0.2, 0.5, 0.5, 0.5]
    rates = [layer.rate for layer in network(width=2, dropout=0.1, convolution_dropout=0).trunk.dropouts]
    assert rates == [0.1] * 3


def test_of_a_frozen_module_nothing_is_dropped():
    made = network(width=2)
    made.train_only(["full2", HEAD])
    made.trunk.reseed(generator(0, "dropout"))
    loss = made.training_scores(images(4), Outputs(0, 5)).sum()
    made.backward(loss)
    at_work = [layer.training for layer in made.trunk.modules() if isinstance(layer, Dropout)]
    assert at_work == [False] * 4 + [True]
    assert made.grad[: made.blocks["full2"].start].eq(0).all()
    assert made.grad[made.blocks["full2"]].ne(0).any()


@pytest.mark.parametrize("shape", [(784,), (3, 18, 32)])
def test_other_samples_are_refused(shape):
    with pytest.raises(BadData, match="'ctrl-alexnet' needs images of at least 19×19 pixels"):
        network(shape=shape)


@pytest.mark.parametrize("side", [16, 40])
def test_a_side_that_cannot_be_had(side):
    with pytest.raises(BadSetting, match=f"side={side} is out of range: network 'ctrl-alexnet' needs 19 pixels"):
        network(side=side)
