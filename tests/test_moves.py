"""Images that are mirrored and shifted."""

import torch

from engram.core import Split
from engram.moves import AT_REST, PADDING, SIZES, moved
from engram.transform import Transform

IMAGES = torch.arange(1.0, 25).view(2, 2, 2, 3)


def test_by_hand():
    """One image mirrored and moved one pixel up and two to the left; the other one at rest."""
    found = moved(IMAGES, torch.tensor([(1, PADDING + 1, PADDING + 2), AT_REST]))
    assert found[0, 0].tolist() == [[4, 0, 0], [0, 0, 0]]
    assert found[0, 1].tolist() == [[10, 0, 0], [0, 0, 0]]
    assert torch.equal(found[1], IMAGES[1])


def test_every_way_is_a_cut_of_the_padded_image():
    ways = torch.cartesian_prod(*map(torch.arange, SIZES))
    found = moved(IMAGES[:1].expand(len(ways), -1, -1, -1), ways)
    padded = torch.nn.functional.pad(IMAGES[0], (PADDING,) * 4)
    turned = torch.nn.functional.pad(IMAGES[0].flip(2), (PADDING,) * 4)
    for image, (flipped, down, right) in zip(found, ways.tolist(), strict=True):
        assert torch.equal(image, (turned if flipped else padded)[:, down : down + 2, right : right + 3])


def moving_split(count=3):
    x = torch.arange(count * 12, dtype=torch.uint8).view(count, 1, 3, 4)
    transform = Transform(0.5, shift=torch.tensor(2.0).view(1, 1, 1), deviation=torch.tensor(4.0).view(1, 1, 1))
    moves = torch.tensor([AT_REST, (1, PADDING, PADDING), (0, PADDING + 1, PADDING)], dtype=torch.int8)[:count]
    return Split(x, torch.arange(count), None, transform, moves)


def test_a_split_moves_its_samples_before_anything_is_subtracted_from_them():
    split = moving_split()
    x, _ = split.batch(slice(None))
    expected = moved(split.x.float(), split.moves)
    assert torch.allclose(x, (expected * 0.5 - 2) / 4)
    assert x[2, 0, 2].tolist() == [-0.5] * 4


def test_positions_moves_and_devices_go_together():
    split = moving_split()
    x, _ = split.batch(slice(None))
    assert torch.equal(split.take(torch.tensor([2, 1])).batch(slice(None))[0], x[[2, 1]])
    assert torch.equal(split.batch(torch.tensor([1]))[0], x[1:2])
    assert split.to("meta").batch(slice(None))[0].is_meta


def test_joined_they_are_as_batches_have_them():
    split = moving_split()
    joined = Split.join([split, moving_split(1)])
    x, _ = split.batch(slice(None))
    assert torch.equal(joined.batch(slice(None))[0], torch.cat([x, x[:1]]))
