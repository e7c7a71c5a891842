"""The residual network of CTrL: sizes and modules of the paper's Table 8."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from by_hand import images, residual_map, with_outputs

from engram.costs import forward_flops
from engram.errors import BadData, BadSetting
from engram.networks import HEAD, Blueprint

SHAPE = (3, 32, 32)


def network(shape=SHAPE, **settings):
    return with_outputs("ctrl-resnet", 10, shape, **settings)


def test_parameters_of_the_paper():
    made = network()
    sizes = {name: span.stop - span.start for name, span in made.blocks.items()}
    assert sizes == {
        "stem": 1_856, "group1": 147_968, "group2": 152_192, "group3": 152_192, "group4a": 78_208, "group4b": 73_984,
        HEAD: 650,
    }  # fmt: skip
    assert len(made.theta) == Blueprint.of("ctrl-resnet").parameters(SHAPE, 10) == 607_050
    assert sum(buffer.numel() for buffer in made.buffers().values()) == 20 * (2 * 64 + 1)


def test_operations():
    """Multiply-adds by hand: every convolution's weights at every position of its output. Group 1 has most of them."""
    w = 64
    group1 = 4 * 9 * w * w * 1024
    halved = sum((9 + 1 + 27) * w * w * positions for positions in (256, 64, 16))
    assert forward_flops(network().trunk, SHAPE) == 2 * (27 * w * 1024 + group1 + halved)
    assert group1 / (27 * w * 1024 + group1 + halved) > 0.74


@pytest.mark.parametrize("shape", [(1, 4, 4), (3, 32, 32), (3, 17, 40)])
def test_features_of_all_images(shape):
    made = network(shape=shape, width=8)
    assert made.trunk.features == 8
    assert made.features(images(2, shape)).shape == (2, 8)


@pytest.mark.parametrize("shape", [(784,), (3, 3, 8)])
def test_other_samples_are_refused(shape):
    with pytest.raises(BadData, match="'ctrl-resnet' needs images of at least 4×4 pixels"):
        network(shape=shape)


def test_against_the_same_network_written_with_functions():
    made, x = network(width=5), images(4)
    expected = residual_map(made.trunk, x, (1, 1, 2, 1, 2, 1, 2, 1), projected=(2,)).mean((2, 3))
    assert torch.allclose(made.features(x, training=True), expected, atol=1e-5)


def test_images_are_averaged_to_a_side():
    """Sixteen pixels a side are the same network on averages of two by two pixels, at a quarter of the operations."""
    whole, small = network(width=4), network(width=4, side=16)
    assert torch.equal(whole.theta, small.theta)
    x = images(3)
    expected = whole.features(F.avg_pool2d(x, 2))
    assert torch.allclose(small.features(x), expected, atol=1e-6)
    assert 4 * forward_flops(small.trunk, SHAPE) == forward_flops(whole.trunk, SHAPE)
    assert torch.equal(network(width=4, side=32).features(x), whole.features(x))


@pytest.mark.parametrize("side", [3, 33])
def test_a_side_that_cannot_be_had(side):
    words = f"side={side} is out of range: network 'ctrl-resnet' needs 4 pixels, and the images are 32×32"
    with pytest.raises(BadSetting, match=words):
        network(side=side)


def test_frozen_modules_are_in_evaluation_mode_and_keep_their_statistics():
    made = network(width=4)
    made.train_only(["group4a", "group4b", HEAD])
    before = {name: value.clone() for name, value in made.buffers().items()}
    features = made.features(images(4), training=True)
    frozen = set(made.buffers(["stem", "group1", "group2", "group3"]))
    assert len(frozen) == 3 * 15
    for name, value in made.buffers().items():
        assert torch.equal(value, before[name]) == (name in frozen), name
    made.backward(features.sum())
    assert made.grad[: made.blocks["group4a"].start].eq(0).all()
    assert made.grad[made.blocks["group4a"]].ne(0).any()


def test_a_single_sample_of_a_small_image_cannot_be_normalised():
    made = network(width=4, side=8)
    made.features(images(1))
    with pytest.raises(BadSetting, match="'ctrl-resnet' cannot normalise a batch of one sample"):
        made.features(images(1), training=True)
    network(width=4, side=9).features(images(1), training=True)
