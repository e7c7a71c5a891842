"""Images that are mirrored and shifted by a few pixels, each in its own way."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

PADDING = 4  # pixels on each side, from which an image of the old size is cut
SIZES = (2, 2 * PADDING + 1, 2 * PADDING + 1)  # how many ways there are to mirror an image, to go down, to go right
AT_REST = (0, PADDING, PADDING)


def moved(images: Tensor, moves: Tensor) -> Tensor:
    """Each image by its row of `moves`: whether it is mirrored, and where the cut begins, down and to the right."""
    flipped, down, right = moves.long().unbind(1)
    return cut(mirrored(images, flipped), down, right)


def mirrored(images: Tensor, flipped: Tensor) -> Tensor:
    """Those that are `flipped` from left to right, the others as they are."""
    return torch.where(flipped.bool().view(-1, 1, 1, 1), images.flip(3), images)


def cut(images: Tensor, down: Tensor, right: Tensor) -> Tensor:
    """A cut of the old size from each image, padded with zeros on all sides."""
    _, channels, height, width = images.shape
    rows, columns = (torch.arange(size, device=images.device) for size in (height, width))
    padded = F.pad(images, (PADDING,) * 4)
    places = ((down[:, None] + rows)[:, :, None] * padded.shape[3] + (right[:, None] + columns)[:, None, :]).flatten(1)
    return padded.flatten(2).gather(2, places[:, None].expand(-1, channels, -1)).view(images.shape)
