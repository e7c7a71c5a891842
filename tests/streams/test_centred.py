"""The option `centred`: the mean training image of the whole dataset is subtracted from every sample."""

import pytest
import torch

from engram.learners import create
from engram.networks import Blueprint
from engram.streams import kinds, rebuild, stream

from .toys import toy


def mean_of(dataset):
    return (dataset.x_train.double().mean(0) * dataset.scale).float()


def made(kind, **options):
    several = [toy("one"), toy("two", classes=3, shape=(4,), seed=1)]
    one = toy(shape=(1, 2, 3)) if kind == "rotated" else toy()
    return stream(kind, dataset=several if kind == "concat" else one, **options)


@pytest.mark.parametrize("kind", [name for name, kind in kinds().items() if "centred" in kind.options])
def test_every_kind_that_offers_it_is_as_before_without(kind):
    plain, without, centred = made(kind), made(kind, centred=False), made(kind, centred=True)
    assert plain.digest() == without.digest() != centred.digest()
    assert (without.spec["options"]["centred"], centred.spec["options"]["centred"]) == (False, True)
    assert all(split.transform.shift is None for task in plain for split in (task.train, task.validation, task.test))


@pytest.mark.parametrize("kind", ["split", "incremental", "pair"])
def test_the_mean_is_that_of_all_training_samples_in_every_split(kind):
    mean = mean_of(toy())
    for before, after in zip(made(kind), made(kind, centred=True), strict=True):
        for part in ("train", "validation", "test"):
            x, y = getattr(before, part).batch(slice(None))
            shifted, labels = getattr(after, part).batch(slice(None))
            assert torch.equal(labels, y)
            assert torch.allclose(shifted, x - mean, atol=1e-6)


def test_all_training_samples_together_have_a_mean_of_zero():
    parts = [task.train.batch(slice(None))[0] for task in made("split", centred=True, validation=0.0)]
    assert torch.cat(parts).mean(0).abs().max() < 1e-6


def test_a_permuted_sample_loses_its_own_mean():
    mean = mean_of(toy()).flatten()
    for before, after in zip(made("permuted", tasks=3), made("permuted", tasks=3, centred=True), strict=True):
        x, _ = before.train.batch(slice(None))
        shifted, _ = after.train.batch(slice(None))
        assert torch.allclose(shifted.flatten(1), x.flatten(1) - mean[before.train.transform.permutation], atol=1e-6)


def test_every_dataset_of_a_concatenation_has_its_own_mean_and_padding_stays_zero():
    one, two = made("concat", centred=True, validation=0.0)
    assert one.train.batch(slice(None))[0].mean(0).abs().max() < 1e-6
    x, _ = two.train.batch(slice(None))
    assert x.mean(0).abs().max() < 1e-6
    assert not x[:, 4:].any()


def test_a_spec_brings_it_back_and_one_from_before_the_option_is_understood():
    centred = stream("split-digits", centred=True)
    assert rebuild(centred.spec).digest() == centred.digest()
    old = {**centred.spec, "options": {n: v for n, v in centred.spec["options"].items() if n != "centred"}}
    assert rebuild(old).digest() == stream("split-digits").digest()


@pytest.mark.parametrize("kind", ["split", "permuted"])
def test_joint_training_keeps_centred_samples_as_they_are(kind):
    tasks = stream(kind, dataset=toy(), tasks=2, centred=True)
    learner = create("joint", tasks.outline, 0, Blueprint.of("mlp", widths="4"), {})
    for task in tasks:
        for _ in learner.learn(task.lesson()):
            pass
    heir = create("joint", tasks.outline, 0, Blueprint.of("mlp", widths="4"), {})
    heir.load(learner.state())
    expected = torch.cat([task.train.batch(slice(None))[0] for task in tasks])
    assert torch.equal(heir.samples.batch(slice(None))[0], expected)
