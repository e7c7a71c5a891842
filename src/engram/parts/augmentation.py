"""Small random affine warps of images: rotation, scale, shear and shift."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

ROTATION, SCALE, SHEAR, SHIFT = math.radians(15), 0.12, 0.2, 0.1  # the largest; the shift as a share of the side


def affine_copies(images: Tensor, copies: int, generator: torch.Generator) -> Tensor:
    """`copies` warped versions of all images (count, channels, height, width), one set of them after another.

    What comes in from outside the image repeats its border.
    """
    images = images.repeat(copies, 1, 1, 1)
    grid = F.affine_grid(random_affine(len(images), generator), list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, padding_mode="border", align_corners=False)


def random_affine(count: int, generator: torch.Generator) -> Tensor:
    """(count, 2, 3): where each point of a warped image is looked up, in coordinates from −1 to 1."""
    angle, width, height, shear, right, down = torch.rand(6, count, generator=generator).mul_(2).sub_(1)
    cosine, sine = (ROTATION * angle).cos(), (ROTATION * angle).sin()
    width, height, shear = 1 / (1 + SCALE * width), 1 / (1 + SCALE * height), SHEAR * shear
    across = [cosine * width, cosine * shear - sine * height, 2 * SHIFT * right]
    along = [sine * width, sine * shear + cosine * height, 2 * SHIFT * down]
    return torch.stack([*across, *along], dim=1).view(count, 2, 3)
