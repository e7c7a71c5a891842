"""Changes of images are small, and follow from their generator."""

from __future__ import annotations

import pytest
import torch

from engram.core import Outline
from engram.errors import BadSetting
from engram.learners import learners
from engram.parts.augmentation import (
    AUGMENTATIONS,
    PADDING,
    ROTATION,
    SCALE,
    SHEAR,
    SHIFT,
    affine_copies,
    augment,
    augmented,
    mirror,
    random_affine,
    shift,
)
from engram.randomness import generator
from engram.streams import stream


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


def test_a_shifted_image_is_a_cut_of_the_padded_one():
    images = torch.rand(200, 2, 6, 5, generator=_draw()) + 1
    padded = torch.nn.functional.pad(images, (PADDING,) * 4)
    places = set()
    for image, cut in zip(padded, shift(images, _draw()), strict=True):
        found = [
            (i, j)
            for i in range(2 * PADDING + 1)
            for j in range(2 * PADDING + 1)
            if torch.equal(image[:, i : i + 6, j : j + 5], cut)
        ]
        places |= set(found)
        assert found
    assert len(places) > 60  # of 81


def test_about_half_of_the_images_are_mirrored():
    images = torch.rand(400, 1, 3, 4, generator=_draw())
    changed = mirror(images, _draw(1))
    mirrored = [torch.equal(a.flip(2), b) for a, b in zip(images, changed, strict=True)]
    assert 150 < sum(mirrored) < 250
    assert all(flipped or torch.equal(a, b) for a, b, flipped in zip(images, changed, mirrored, strict=True))


@pytest.mark.parametrize("kind", AUGMENTATIONS)
def test_every_kind_follows_from_its_generator_and_leaves_the_batch_alone(kind):
    images = torch.rand(8, 3, 6, 6, generator=_draw())
    before = images.clone()
    first, again, other = (augment(images, kind, _draw(seed)) for seed in (0, 0, 1))
    assert torch.equal(images, before)
    assert first.shape == images.shape
    assert torch.equal(first, again)
    assert torch.equal(first, other) == (kind == "no")


SHIFTED = {"augment": "flip+shift"}
TRAINED = [name for name, cls in learners().items() if hasattr(cls, "epochs")]


@pytest.mark.parametrize("name", TRAINED)
def test_every_gradient_learner_has_it_for_training_only(name, make, teach, snapshot, same_state, digits_lessons):
    plain, off, changed = (teach(make(name, **given), digits_lessons[:1]) for given in ({}, {"augment": "no"}, SHIFTED))
    assert torch.equal(plain.parameters(), off.parameters())
    assert not torch.equal(plain.parameters(), changed.parameters())
    x, _ = digits_lessons[0].validation.batch(slice(None))
    assert torch.equal(changed.predict(x, 0), changed.predict(x, 0))
    stopped, heir = make(name, **SHIFTED), make(name, **SHIFTED)
    for step in stopped.learn(digits_lessons[0]):
        if step.done == 2:
            break
    heir.load(snapshot(stopped))
    assert same_state(snapshot(teach(heir, digits_lessons[:1])), snapshot(changed))


def test_black_comes_in_whatever_a_stream_subtracts():
    """With flip+crop a batch is what it would be had its images been mirrored and cut before they were normalised; with
    flip+shift zeros come in, which are the mean."""
    task = stream("rotated-digits", tasks=2, normalised=True, degrees=90)[1]
    index, found = torch.arange(40), {}
    for kind in ("flip+crop", "flip+shift"):
        found[kind] = augmented(task.train, kind, 0, task.index)(task.train.batch(index)[0], index, 3)
    transform = task.train.transform
    raw = task.train.raw(index).float() * transform.scale
    cut = augment(raw, "flip+shift", generator(0, "augmentation", 1, 3))
    assert torch.allclose(found["flip+crop"], (cut - transform.shift) / transform.deviation, atol=1e-5)
    assert not torch.allclose(found["flip+crop"], found["flip+shift"], atol=0.1)


def test_samples_that_are_no_images_are_refused():
    with pytest.raises(BadSetting, match=r"augment=affine needs images .*, but samples have the shape \(8,\); use"):
        learners()["finetune"](Outline((8,), (0, 1)), augment="affine")
