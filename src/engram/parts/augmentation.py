"""Small random changes of images that leave them what they are: shifts, mirror images and affine warps."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from engram.core import Split
from engram.errors import BadSetting
from engram.moves import PADDING, cut, mirrored
from engram.randomness import generator
from engram.settings import setting

Change = Callable[[Tensor, Tensor, int], Tensor]

ROTATION, SCALE, SHEAR, SHIFT = math.radians(15), 0.12, 0.2, 0.1  # the largest; the shift as a share of the side

BLACK_AROUND = "flip+crop"  # what comes in is black, where others let in what a stream's samples have for a zero
AUGMENTATIONS = {
    "no": "images as they are",
    "shift": f"cut at random after padding by {PADDING} pixels",
    "flip+shift": "the same, and half of them mirrored",
    BLACK_AROUND: "mirrored and cut before a stream subtracts anything, so that black comes in",
    "affine": "rotated, scaled, sheared and shifted a little",
}

AUGMENT = setting(
    "no",
    "of images while they are trained on: " + ", ".join(f"{name} ({words})" for name, words in AUGMENTATIONS.items()),
    choices=tuple(AUGMENTATIONS),
)


def require_images(kind: str, shape: tuple[int, ...]) -> None:
    """Refuse to augment samples that are none."""
    if kind != "no" and len(shape) != 3:
        raise BadSetting(
            f"augment={kind} needs images (channels, height, width), but samples have the shape {shape}; use augment=no"
        )


def augment(images: Tensor, kind: str, generator: torch.Generator) -> Tensor:
    """A training batch (count, channels, height, width), each image changed in its own way by a name in
    `AUGMENTATIONS`."""
    if kind == "affine":
        return affine_copies(images, 1, generator)
    if kind == "no":
        return images
    return shift(images if kind == "shift" else mirror(images, generator), generator)


def augmented(data: Split, kind: str, seed: int, task: int) -> Change | None:
    """What makes of a batch, at these positions in the data of a task, what a step learns from; None for no change."""

    def change(x: Tensor, index: Tensor, step: int) -> Tensor:
        drawn = partial(augment, kind=kind, generator=generator(seed, "augmentation", task, step))
        return data.restored(x, index, drawn) if kind == BLACK_AROUND else drawn(x)

    return None if kind == "no" else change


def mirror(images: Tensor, generator: torch.Generator) -> Tensor:
    """Each image as it is or from left to right, with equal chances."""
    return mirrored(images, torch.randint(2, (len(images), 1, 1, 1), generator=generator).to(images.device))


def shift(images: Tensor, generator: torch.Generator) -> Tensor:
    """A cut of the old size from each image, padded with zeros on all sides."""
    down, right = torch.randint(2 * PADDING + 1, (2, len(images), 1), generator=generator).to(images.device)
    return cut(images, down[:, 0], right[:, 0])


def affine_copies(images: Tensor, copies: int, generator: torch.Generator) -> Tensor:
    """`copies` warped versions of all images (count, channels, height, width), one set of them after another.

    What comes in from outside the image repeats its border.
    """
    images = images.repeat(copies, 1, 1, 1)
    grid = F.affine_grid(
        random_affine(len(images), generator).to(images.device), list(images.shape), align_corners=False
    )
    return F.grid_sample(images, grid, padding_mode="border", align_corners=False)


def random_affine(count: int, generator: torch.Generator) -> Tensor:
    """(count, 2, 3): where each point of a warped image is looked up, in coordinates from −1 to 1."""
    angle, width, height, shear, right, down = torch.rand(6, count, generator=generator).mul_(2).sub_(1)
    cosine, sine = (ROTATION * angle).cos(), (ROTATION * angle).sin()
    width, height, shear = 1 / (1 + SCALE * width), 1 / (1 + SCALE * height), SHEAR * shear
    across = [cosine * width, cosine * shear - sine * height, 2 * SHIFT * right]
    along = [sine * width, sine * shear + cosine * height, 2 * SHIFT * down]
    return torch.stack([*across, *along], dim=1).view(count, 2, 3)
