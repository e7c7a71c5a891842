"""LeNet-5: the sizes of LeCun et al. 1998."""

from __future__ import annotations

import pytest
import torch

from engram.errors import BadData
from engram.networks import HEAD, Blueprint


def test_parameters_of_the_paper():
    """Convolutions 156 and 2,416 (ours sees all maps), full layers 48,120 and 10,164, ten outputs of 85 each."""
    assert Blueprint.of("lenet5").parameters((1, 28, 28), 10) == 156 + 2416 + 48120 + 10164 + 850


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 32, 32), (1, 12, 15)])
def test_any_image_that_is_large_enough_gives_84_features(shape):
    network = Blueprint.of("lenet5").build(shape, 0)
    features = network.features(torch.rand(2, *shape, generator=torch.Generator().manual_seed(0)))
    assert features.shape == (2, 84)
    assert features.abs().max() < 1


@pytest.mark.parametrize("shape", [(1, 8, 8), (784,), (1, 28, 11)])
def test_other_samples_are_refused(shape):
    with pytest.raises(BadData, match=r"network 'lenet5' needs images of at least 12×12 pixels"):
        Blueprint.of("lenet5").build(shape, 0)


def test_its_modules_are_two_convolutions_and_two_full_layers_and_new_leg_renews_the_first():
    blocks = Blueprint.of("lenet5").build((1, 28, 28), 0).blocks
    sizes = {name: span.stop - span.start for name, span in blocks.items() if name != HEAD}
    assert blocks["group1"] == slice(0, 156)
    assert sizes == {"group1": 156, "group2": 2416, "full1": 48120, "full2": 10164}
