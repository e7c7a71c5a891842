"""bf16 is asked for, part of the key only then, near float32, and the same bits each time."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import engram
from engram.core import Lesson, Outline, Split
from engram.errors import BadSetting
from engram.learners import create
from engram.networks import Blueprint
from engram.nodes import Node
from engram.parts.library import Library

WITH_PRECISION = ["ctrl-alexnet", "ctrl-resnet", "resnet18-reduced", "rwalk-cnn"]
SMALL = {"ctrl-alexnet": {"width": 4}, "ctrl-resnet": {"width": 4}, "resnet18-reduced": {"width": 4}, "rwalk-cnn": {}}


def images(count=8, side=20):
    return torch.randn(count, 3, side, side, generator=torch.Generator().manual_seed(0))


def lesson(index=0):
    x, y = images(24), torch.arange(24) % 2
    return Lesson("images", index, (2 * index, 2 * index + 1), Split(x, y + 2 * index), Split(x, y + 2 * index))


@pytest.mark.parametrize("name", WITH_PRECISION)
def test_it_is_near_float32_and_nothing_but_the_layers_differs(name):
    half, whole = (
        Blueprint.of(name, **SMALL[name], precision=precision).build((3, 20, 20), 0)
        for precision in ("bf16", "float32")
    )
    assert torch.equal(half.theta, whole.theta)
    with torch.no_grad():
        one, other = half.features(images()), whole.features(images())
    assert one.dtype == torch.float32
    assert not torch.equal(one, other)
    assert (one - other).norm() < 0.03 * other.norm()


def test_it_is_part_of_the_key_only_where_it_is_not_float32():
    def key(**settings):
        return Node("finetune", Blueprint.of("ctrl-resnet", **settings), 0, {"name": "s"}, 0.1).key

    assert key() == key(precision="float32") != key(precision="bf16")


@pytest.mark.parametrize("name", ["finetune", "ewc", "er", "hat", "pnn", "mntdp-d", "mntdp-s"])
def test_every_kind_of_learner_can_be_trained_with_it(name, teach):
    """Two lessons, twice: the same bits."""
    network = Blueprint.of("ctrl-alexnet", width=2, precision="bf16")
    settings = {"batch": 8, "epochs": 2}

    def learned():
        return teach(create(name, Outline((3, 20, 20), (0, 1, 2, 3)), 0, network, settings), [lesson(0), lesson(1)])

    one, other = learned(), learned()
    assert one.parameters().dtype == torch.float32
    assert torch.equal(one.parameters(), other.parameters())
    network = replace(network, settings={**network.settings, "precision": "float32"})
    assert not torch.equal(learned().parameters(), one.parameters())


@pytest.mark.parametrize("name", ["ctrl-resnet", "ctrl-alexnet"])
def test_a_path_computes_what_the_network_computed_that_it_was_made_from(name):
    """In its own precision between modules too, where a library joins them one by one."""
    blueprint, x = Blueprint.of(name, **SMALL[name], precision="bf16"), images()
    library = Library(blueprint, (3, 20, 20), 0)
    rows = torch.randn(2, library.features + 1, generator=torch.Generator().manual_seed(1))
    network = library.fresh(rows)
    path = library.add(0, (), network)
    with torch.no_grad():
        expected = network.scores(network.features(x))
        assert torch.equal(library.predict(path, x), expected)
        for cut in range(1, len(library.layers) - 1):
            first, later = library.part(0, cut, path), library.part(cut, None, path)
            later.append(rows)
            assert torch.equal(later.scores(later.features(first.features(x))), expected)


def test_a_network_without_it_says_so():
    with pytest.raises(BadSetting, match="precision is a setting of ctrl-alexnet, ctrl-resnet, .* not of the network"):
        engram.run("split-digits", "finetune", tasks=1, precision="bf16")
