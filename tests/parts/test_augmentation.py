"""Affine warps are small, and follow from their generator."""

from __future__ import annotations

import torch

from engram.parts.augmentation import ROTATION, SCALE, SHEAR, SHIFT, affine_copies, random_affine


def _draw(seed=0):
    return torch.Generator().manual_seed(seed)


def test_warps_stay_within_their_limits():
    maps = random_affine(5000, _draw())
    assert (maps[:, :, 2].abs() <= 2 * SHIFT).all()
    across, along = maps[:, :, 0].norm(dim=1), torch.atan2(maps[:, 1, 0], maps[:, 0, 0])
    assert across.min() >= 1 / (1 + SCALE) - 1e-6
    assert across.max() <= 1 / (1 - SCALE) + 1e-6
    assert along.abs().max() <= ROTATION + 1e-6
    turned_back = along.cos() * maps[:, 0, 1] + along.sin() * maps[:, 1, 1]
    assert 0.9 * SHEAR < turned_back.abs().max() <= SHEAR + 1e-6


def test_no_warp_gives_the_image_back(monkeypatch):
    for name in ("ROTATION", "SCALE", "SHEAR", "SHIFT"):
        monkeypatch.setattr(f"engram.parts.augmentation.{name}", 0.0)
    images = torch.rand(3, 2, 6, 5, generator=_draw())
    assert torch.allclose(affine_copies(images, 2, _draw()), images.repeat(2, 1, 1, 1), atol=1e-5)


def test_copies_come_one_set_after_another_and_differ():
    images = torch.zeros(2, 1, 8, 8)
    images[1] = 1
    copies = affine_copies(images, 3, _draw())
    assert copies.mean((1, 2, 3)).round().tolist() == [0, 1] * 3
    bar = torch.zeros(1, 1, 8, 8)
    bar[..., 4] = 1
    first, second = affine_copies(bar, 2, _draw())
    assert not torch.equal(first, second)
    assert torch.equal(affine_copies(bar, 2, _draw()), torch.stack([first, second]))


def test_the_border_goes_on_outside():
    assert torch.allclose(affine_copies(torch.full((1, 3, 9, 9), 0.7), 20, _draw()), torch.tensor(0.7))
