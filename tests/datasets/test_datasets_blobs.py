import pytest
import torch

from engram import datasets
from engram.errors import BadSetting, TooLarge, UnknownName


def test_blobs_have_the_size_that_was_asked_for():
    blobs = datasets.load("blobs", classes=3, features=5, samples=7, test=2)
    assert blobs.x_train.shape == (21, 5)
    assert blobs.x_test.shape == (6, 5)
    assert torch.bincount(blobs.y_train).tolist() == [7, 7, 7]
    assert blobs.classes == ("blob 0", "blob 1", "blob 2")


def test_the_same_settings_give_the_same_object_and_text_is_understood():
    assert datasets.load("blobs", classes=3) is datasets.load("blobs", classes="3", seed=0)


def test_seeds_differ():
    first, second = datasets.load("blobs", seed=1), datasets.load("blobs", seed=2)
    assert not torch.equal(first.x_train, second.x_train)
    assert first.digest != second.digest


def test_bits_are_frozen():
    x = datasets.load("blobs", classes=2, features=2, samples=1, test=1, seed=7).x_train
    assert x.tolist() == [[0.9016026258468628, -0.4638718068599701], [0.031929779797792435, -1.347208023071289]]


def test_spread_is_the_standard_deviation_within_a_class():
    blobs = datasets.load("blobs", classes=2, features=50, samples=400, spread=0.5)
    first = blobs.x_train[blobs.y_train == 0]
    assert first.std(0).mean().item() == pytest.approx(0.5, abs=0.02)
    assert datasets.load("blobs", spread=0).x_train.unique(dim=0).shape == (10, 20)


@pytest.mark.parametrize(
    "options", [{"classes": 1}, {"features": 0}, {"spread": -1}, {"samples": "many"}, {"seed": -1}]
)
def test_impossible_settings(options):
    with pytest.raises(BadSetting, match=next(iter(options))):
        datasets.load("blobs", **options)


def test_an_unknown_setting():
    with pytest.raises(UnknownName, match="did you mean 'samples'"):
        datasets.load("blobs", sample=3)


def test_more_than_the_memory():
    with pytest.raises(
        TooLarge, match="blobs of classes=10, samples=200, test=50, features=1000000000 would take .* GB"
    ):
        datasets.load("blobs", features=10**9)
