"""Fixed features: by hand, the same from the same seed, and no more than is looked at."""

from __future__ import annotations

import math

import pytest
import torch

from engram.core import Split, State
from engram.errors import BadData, BadSetting
from engram.parts import exact_sums
from engram.parts.exact_sums import add_products, whole
from engram.parts.maps import MAPS, Map, made_map, rounded, sides


def _split(shape, count=30, seed=3):
    draw = torch.Generator().manual_seed(seed)
    return Split(torch.rand(count, *shape, generator=draw), torch.zeros(count, dtype=torch.long))


def _map(kind, shape, waves=20, seed=0):
    made = Map(kind, shape, 6, waves, 2.0, seed)
    made.look(_split(shape))
    return made


@pytest.mark.parametrize("kind", MAPS)
@pytest.mark.parametrize("shape", [(9,), (1, 4, 4), (1, 8, 8), (3, 28, 28)])
def test_features_follow_from_the_seed_and_not_from_neighbours(kind, shape):
    x = _split(shape, 7, seed=4).x
    found = _map(kind, shape)(x)
    assert found.shape == (7, 20)
    assert found.abs().max() <= 1
    assert torch.allclose(_map(kind, shape)(x[:1]), found[:1], atol=1e-4)
    assert not torch.allclose(_map(kind, shape, seed=1)(x), found, atol=1e-2)


def test_waves_are_cosines_whose_width_is_a_multiple_of_the_median_distance():
    """Points 0, 1 and 3 have the squared distances 1, 4 and 9."""
    made = Map("waves", (1,), 1, 4000, 2.0, 0)
    made.look(Split(torch.tensor([[0.0], [1.0], [3.0]]), torch.zeros(3, dtype=torch.long)))
    assert made.width == 8
    a, b = made(torch.tensor([[0.5], [2.5]]))
    assert 2 * (a * b).mean().item() == pytest.approx(math.exp(-(2.0**2) / 8), abs=0.05)  # exp(−‖a − b‖²/w)


def test_answers_are_of_length_1_and_do_not_see_brightness():
    made, x = _map("filters", (1, 28, 28), waves=0), _split((1, 28, 28)).x
    assert torch.allclose(made(x).norm(dim=1), torch.ones(len(x)), atol=1e-2)
    assert made.filters.mean((1, 2, 3)).abs().max() < 2**-12
    assert made(x).shape[1] == made.inputs == 2 * 6 * 7 * 7


def test_patches_are_pieces_of_what_was_seen_and_not_flat_ones():
    x = torch.zeros(30, 1, 28, 28)
    x[:, :, 10:18, 10:18] = torch.rand(8, 8, generator=torch.Generator().manual_seed(0))
    made = Map("patches", (1, 28, 28), 5, 0, 2.0, 0)
    made.look(Split(x, torch.zeros(30, dtype=torch.long)))
    pieces = torch.nn.functional.unfold(x[:1], 7)[0].t()
    pieces = torch.nn.functional.normalize(pieces - pieces.mean(1, keepdim=True), dim=1)
    nearest = (made.filters.flatten(1) @ pieces.t()).max(1).values
    assert torch.allclose(nearest, torch.ones(5), atol=1e-3)


def test_images_of_one_colour_have_features_too():
    made = Map("patches", (1, 8, 8), 4, 10, 2.0, 0)
    flat = Split(torch.full((3, 1, 8, 8), 0.5), torch.zeros(3, dtype=torch.long))
    made.look(flat)
    assert made(flat.x).isfinite().all()


@pytest.mark.parametrize("kind, kept", [("waves", 0), ("components", 7 * 64), ("filters", 0), ("patches", 6 * 9)])
def test_a_state_holds_what_the_seed_does_not_give(kind, kept):
    one, other = _map(kind, (1, 8, 8)), Map(kind, (1, 8, 8), 6, 20, 2.0, 0)
    state = State(one.tensors(), one.plain())
    assert sum(tensor.numel() for tensor in state.tensors.values()) == kept
    assert other.is_ready == (kind == "filters")
    other.load(state.tensors, state.plain)
    assert other.is_ready
    x = _split((1, 8, 8)).x
    assert torch.equal(one(x), other(x))


def test_operations_and_memory_are_those_of_the_layers():
    made = _map("patches", (3, 28, 28))
    answers = 2 * 6 * 3 * 49 * 14 * 14
    assert made.flops() == answers + 2 * made.inputs * 20
    assert made.least_bytes() >= 4 * made.inputs * 20
    assert Map("waves", (3, 28, 28), 6, 20, 2.0, 0).look(_split((3, 28, 28))) == 2 * 30 * 30 * 3 * 28 * 28


def test_components_are_as_long_as_their_deviations():
    """Deviations 3 and 1 along the axes, around (5, 7); of three components there are two."""
    made = Map("components", (2,), 3, 0, 2.0, 0)
    points = torch.tensor([[8.0, 7.0], [2.0, 7.0], [5.0, 8.0], [5.0, 6.0]])
    made.look(Split(points, torch.zeros(4, dtype=torch.long)))
    assert made.inputs == 2
    assert torch.allclose(made.components[-1], torch.tensor([5.0, 7.0]))
    expected = torch.tensor([[3.0, 0.0], [0.0, 1.0]]) / math.sqrt(2)  # each axis has half of the points
    assert torch.allclose(made.components[:2].abs(), expected, atol=1e-5)
    assert torch.allclose(made(points).abs().max(0).values, torch.tensor([9.0, 1.0]) / math.sqrt(2), atol=1e-5)


@pytest.mark.parametrize("kind", ["filters", "patches"])
def test_features_of_images_are_the_same_to_the_bit_in_whatever_batch(kind):
    made, x = _map(kind, (1, 28, 28), waves=300), _split((1, 28, 28), 70, seed=5).x
    together = made(x)
    for size in (1, 3, 64):
        assert torch.equal(torch.cat([made(part) for part in x.split(size)]), together)


@pytest.mark.parametrize("size, found", [(4, (3, 1)), (8, (3, 1)), (16, (5, 2)), (28, (7, 2)), (64, (7, 2))])
def test_small_images_have_small_filters(size, found):
    assert sides((1, size, size)) == found


def test_a_map_without_features_is_refused():
    settings = {"map": "waves", "features": 0, "filters": 4, "width": 1.0}
    with pytest.raises(BadSetting, match="features=0 leaves nothing of map=waves to learn from; give at least 1"):
        made_map((4,), 0, settings)
    assert made_map((4,), 0, {**settings, "map": "plain"}) is None


def test_sums_of_products_are_exact_in_any_order(monkeypatch):
    monkeypatch.setattr(exact_sums, "BLOCK", 4)
    phi = rounded(torch.rand(500, 11, generator=torch.Generator().manual_seed(0)).mul_(2).sub_(1))
    phi[:, -1] = 1
    forth, back = torch.zeros(11, 11, dtype=torch.int32), torch.zeros(11, 11, dtype=torch.int32)
    operations = sum(add_products(forth, part) for part in phi.split(7))
    for part in phi.flip(0).split(64):
        add_products(back, part)
    assert torch.equal(forth, back)
    assert torch.equal(whole(forth), phi.double().t() @ phi.double())
    assert operations == 2 * 500 * (4 * 11 + 4 * 7 + 3 * 3)


def test_more_samples_than_sums_can_hold_are_refused(monkeypatch):
    monkeypatch.setattr(exact_sums, "MOST", 10)
    sums = torch.zeros(2, 2, dtype=torch.int32)
    add_products(sums, torch.ones(10, 2))
    with pytest.raises(BadData, match="11 samples are more than the sums of a map can hold, 10; use map=plain"):
        add_products(sums, torch.ones(1, 2))
    assert whole(sums).tolist() == [[10, 10], [10, 10]]
