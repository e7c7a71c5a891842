"""What a stream does to a sample, as one value."""

import json

import pytest
import torch

from engram.errors import BadData
from engram.transform import Several, Transform, can_share

GREY = torch.arange(16, dtype=torch.uint8).view(1, 1, 4, 4)


def plain(transform):
    return json.loads(json.dumps(transform.plain()))


def test_it_is_equal_to_another_that_does_the_same():
    def make():
        return Transform(0.5, torch.tensor([1, 0]), 4, torch.ones(4), 2 * torch.ones(4))

    assert make() == make()
    assert hash(make()) == hash(make())
    assert make() != Transform(0.5, torch.tensor([0, 1]), 4, torch.ones(4), 2 * torch.ones(4))
    assert make() != Transform(0.5, torch.tensor([1, 0]), 4, torch.ones(4))
    assert make() != "another thing"


def test_a_deviation_divides_what_the_shift_has_left():
    x = Transform(0.5, shift=torch.tensor(1.0), deviation=torch.tensor(4.0)).finish(GREY)
    assert torch.equal(x, (GREY.float() * 0.5 - 1) / 4)


def test_grey_becomes_colour_and_sizes_change():
    mean = Transform(channels=3, size=(2, 2))
    assert mean.shape((1, 4, 4)) == (3, 2, 2)
    assert mean.finish(GREY)[0, 2].tolist() == [[2.5, 4.5], [10.5, 12.5]]
    nearest = Transform(size=(2, 2), sizing="nearest")
    assert nearest.finish(GREY)[0, 0].tolist() == [[0, 2], [8, 10]]
    assert Transform(size=(8, 8)).finish(GREY)[0, 0, :2, :4].tolist() == [[0, 0, 1, 1], [0, 0, 1, 1]]


def test_between_pixels():
    """Each new pixel lies a quarter or three quarters of the way from one old pixel to the next."""
    row = torch.tensor([[0, 4]], dtype=torch.uint8).view(1, 1, 1, 2)
    made = Transform(channels=3, size=(1, 4), sizing="bilinear").finish(row)
    assert made[0].tolist() == [[[0, 1, 3, 4]]] * 3


def test_black_becomes_the_colour_and_white_stays():
    image = torch.tensor([[0, 51, 255]], dtype=torch.uint8).view(1, 1, 1, 3)
    made = Transform(1 / 255, channels=3, colour=(1.0, 0.0, 0.5)).finish(image)
    assert torch.allclose(made[0, :, 0], torch.tensor([[1.0, 1.0, 1.0], [0.0, 0.2, 1.0], [0.5, 0.6, 1.0]]))
    assert made[0, 0].eq(1).all(), "exactly, so that the channel has no deviation"


def test_samples_of_one_colour_are_kept_together():
    red = [Transform(1 / 255, channels=3, colour=(1.0, 0.0, 0.0), shift=torch.full((1, 1, 1), k)) for k in (0.25, 0.5)]
    blue = Transform(1 / 255, channels=3, colour=(0.0, 0.0, 1.0))
    assert can_share(red)
    assert not can_share([red[0], blue])
    x = GREY.expand(2, 1, 4, 4)
    both = Several(tuple(red), torch.tensor([0, 1])).finish(x, slice(None))
    assert torch.allclose(both, torch.cat([each.finish(GREY) for each in red]))


def test_colour_stays_colour_or_is_refused():
    colour = GREY.expand(1, 3, 4, 4)
    assert Transform(channels=3).finish(colour).shape == (1, 3, 4, 4)
    with pytest.raises(BadData, match="images of 3 channels cannot get 4; only grey ones can"):
        Transform(channels=4).finish(colour)


@pytest.mark.parametrize(
    "transform",
    [
        Transform(),
        Transform(0.5, torch.tensor([1, 0]), 4, torch.ones(4), 2 * torch.ones(4)),
        Transform(channels=3, size=(2, 2), sizing="nearest"),
        Transform(channels=3, size=(8, 8), sizing="bilinear", colour=(0.0, 1.0, 0.0)),
    ],
)
def test_it_survives_its_tensors_and_plain_json(transform):
    assert Transform.load(transform.tensors(), plain(transform)) == transform


def test_several_survive_theirs():
    several = Several((Transform(0.5), Transform(shift=torch.ones(1, 1, 1))), torch.tensor([1, 0], dtype=torch.int32))
    heir = Transform.load(several.tensors(), plain(several))
    assert isinstance(heir, Several)
    assert heir.each == several.each
    both = GREY.repeat(2, 1, 1, 1)
    assert torch.equal(heir.finish(both, slice(None)), torch.cat([GREY - 1.0, GREY * 0.5]))
    assert torch.equal(heir.offset(slice(None)).flatten(), torch.tensor([1.0, 0.0]))


def test_what_is_arranged_is_left_with_the_rest():
    transform = Transform(0.5, torch.arange(16).flip(0), 20, torch.ones(20))
    kept = transform.arrange(GREY)
    assert kept.dtype == torch.uint8
    assert torch.equal(transform.arranged().finish(kept), transform.finish(kept))
    assert torch.equal(transform.arranged().arrange(kept), kept)
