"""Initial weights and dropout come from named generators, never from the global one."""

from __future__ import annotations

import pytest
import torch

from engram.errors import BadData, BadSetting, UnknownName
from engram.networks import NETWORKS, Blueprint
from engram.networks.trunk import Dropout
from engram.randomness import derived_seed, generator


@pytest.mark.parametrize("name", NETWORKS.everything())
def test_the_seed_decides_the_weights_and_the_global_generator_is_untouched(name):
    before = torch.get_rng_state()
    first, again, other = (Blueprint.of(name).build((1, 20, 20), seed) for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first.theta, again.theta)
    assert not torch.equal(first.theta, other.theta)


@pytest.mark.parametrize(
    "name, shape, settings, size, features",
    [
        ("mlp", (1, 28, 28), {"widths": "256-256"}, 785 * 256 + 257 * 256, 256),
        ("mlp", (7,), {"widths": "400"}, 8 * 400, 400),
        ("rwalk-cnn", (3, 32, 32), {}, 28 * 32 + 289 * 32 + 289 * 64 + 577 * 64, 4096),
        ("pfuelb-conv", (1, 28, 28), {}, 26 * 32 + 801 * 64 + 3137 * 1024, 1024),
    ],
)
def test_sizes(name, shape, settings, size, features):
    network = Blueprint.of(name, **settings).build(shape, seed=0)
    assert network.trunk_size == len(network.theta) == size
    assert network.trunk.features == features
    assert network.features(torch.zeros(2, *shape)).shape == (2, features)


def test_uniform_weights_fill_their_range():
    network = Blueprint.of("mlp", widths="100").build((25,), seed=0)
    assert 0.199 < network.theta.abs().max() <= 0.2
    rows = network.trunk.head_rows(50, generator(0, "head"))
    assert rows.shape == (50, 101)
    assert 0.099 < rows.abs().max() <= 0.1


def test_truncated_weights():
    network = Blueprint.of("mlp", widths="100", init="truncated").build((25,), seed=0)
    weight, bias = network.trunk.parameters()
    assert weight.abs().max() <= 0.2
    assert 0.08 < weight.std() < 0.1
    assert (bias == 0.1).all()
    rows = network.trunk.head_rows(50, generator(0, "head"))
    assert (rows[:, -1] == 0.1).all()
    assert rows[:, :-1].abs().max() <= 0.2


@pytest.mark.parametrize("inputs", [25, 400])
def test_truncated_weights_by_their_number_of_inputs(inputs):
    network = Blueprint.of("mlp", widths="100", init="truncated-fan-in").build((inputs,), seed=0)
    weight, bias = network.trunk.parameters()
    deviation = inputs**-0.5
    assert weight.abs().max() <= 2 * deviation
    assert 0.84 * deviation < weight.std() < 0.92 * deviation  # 0.88: what cutting at two deviations leaves
    assert (bias == 0).all()
    rows = network.trunk.head_rows(50, generator(0, "head"))
    assert (rows[:, -1] == 0).all()
    assert 0.19 < rows[:, :-1].abs().max() <= 0.2


def test_known_initialisations_never_change():
    """Stored results are found again by the settings that made them, so these must keep their bits. Torch 2.10 drew
    truncated numbers in another way; its version is in every key."""
    sums = {
        init: Blueprint.of("mlp", widths="9-7", init=init).build((5,), seed=3).theta.double().sum().item()
        for init in ("uniform", "truncated")
    }
    truncated = 0.12562867440283298 if torch.__version__.startswith("2.10.") else 2.9036436552996747
    assert sums == pytest.approx({"uniform": -4.331504549365491, "truncated": truncated}, abs=1e-5)


@pytest.mark.parametrize("name", ["rwalk-cnn", "pfuelb-conv"])
@pytest.mark.parametrize("shape", [(64,), (1, 3, 8)])
def test_a_convolutional_network_needs_images(name, shape):
    with pytest.raises(BadData, match="at least 4×4 pixels"):
        Blueprint.of(name).build(shape, seed=0)


def test_unknown_names_and_values_are_refused():
    with pytest.raises(UnknownName, match="did you mean 'mlp'"):
        Blueprint.of("mpl")
    with pytest.raises(UnknownName, match="did you mean 'widths'"):
        Blueprint.of("mlp", width=3)
    with pytest.raises(BadSetting, match="dropout=1.0 is out of range"):
        Blueprint.of("mlp", dropout=1)


def test_dropout_draws_from_the_generator_it_was_given():
    trunk = Blueprint.of("mlp", widths="50-50", dropout=0.5, input_dropout=0.2).build((30,), seed=0).trunk
    x = torch.ones(4, 30)
    before = torch.get_rng_state()
    outputs = []
    for seed in (1, 1, 2):
        trunk.reseed(generator(seed, "dropout"))
        outputs.append(trunk.train()(x))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(outputs[0], outputs[1])
    assert not torch.equal(outputs[0], outputs[2])


def test_dropout_is_off_outside_training_and_keeps_the_mean_inside():
    dropout = Dropout(0.25)
    x = torch.ones(100_000)
    assert torch.equal(dropout.eval()(x), x)
    dropout.generator = torch.Generator().manual_seed(0)
    kept = dropout.train()(x)
    assert kept.unique().tolist() == pytest.approx([0, 4 / 3])
    assert abs(kept.mean() - 1) < 0.01


def test_known_masks_never_change_nor_does_one_that_was_handed_out():
    """Stored results come from these bits. The second mask is drawn into the same memory."""
    dropout = Dropout(0.4)
    dropout.generator = torch.Generator().manual_seed(0)
    first, second = dropout.mask(torch.ones(2, 7)), dropout.mask(torch.ones(2, 7))
    assert first.bool().int().tolist() == [[0, 0, 1, 0, 0, 0, 0], [0, 1, 0, 0, 0, 1, 0]]
    assert second.bool().int().tolist() == [[0, 0, 0, 1, 0, 1, 1], [0, 1, 1, 0, 1, 0, 1]]
    assert dropout.mask(torch.ones(5)).shape == (5,)


def test_a_mask_lies_in_memory_as_the_batch_does():
    """The same numbers in the order of the memory, so that as many are dropped and none of them is met twice."""
    dropout, images = Dropout(0.4), torch.ones(2, 3, 4, 5)
    masks = []
    for layout in (torch.contiguous_format, torch.channels_last):
        dropout.generator = torch.Generator().manual_seed(0)
        masks.append(dropout.mask(images.contiguous(memory_format=layout)))
    plain, by_pixel = masks
    assert by_pixel.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(by_pixel.permute(0, 2, 3, 1).flatten(), plain.flatten())
    assert dropout.mask(images[:, :, ::2]).shape == (2, 3, 2, 5)  # of which every other row is there


@pytest.mark.parametrize("rate", [0.2, 0.4, 0.5])
def test_a_mask_in_bf16_keeps_what_the_one_in_float32_keeps(rate):
    dropout, images = Dropout(rate), torch.ones(4, 8, 15, 15).contiguous(memory_format=torch.channels_last)
    masks = []
    for precision in (torch.float32, torch.bfloat16, torch.bfloat16):
        dropout.generator = torch.Generator().manual_seed(0)
        masks.append(dropout.mask(images.to(precision)))
    whole, half, again = masks
    assert half.dtype == torch.bfloat16
    assert half.stride() == whole.stride()
    assert torch.equal(half, whole.to(torch.bfloat16))
    assert torch.equal(half, again)  # which was drawn into the same memory


def test_dropout_without_a_generator_is_an_error():
    with pytest.raises(RuntimeError, match="reseed"):
        Dropout(0.5).train()(torch.ones(3))


def test_every_word_of_a_purpose_counts():
    seeds = [
        derived_seed(0, "order", 1),
        derived_seed(0, "order", 2),
        derived_seed(1, "order", 1),
        derived_seed(0, "fisher", 1),
    ]
    assert len(set(seeds)) == 4
    assert derived_seed(0, "order", 1) == seeds[0]
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_the_derivation_of_seeds_never_changes():
    """Stored results are found again by seeds derived in this way."""
    assert derived_seed(0, "order", 0, 0) == 1_994_856_794_611_709_564
