"""A library of modules: what it holds, weighs and computes, and how often."""

from __future__ import annotations

import pytest
import torch

from engram.errors import BadSetting
from engram.networks import HEAD, Blueprint
from engram.parts.library import Library
from engram.parts.walk import PathWalk
from engram.randomness import generator

SHAPE = (3, 32, 32)
TRUNK, HEAD_10, BUFFERS = 606_400, 650, 2_580  # of the paper's network, in numbers of four bytes
SMALL = Blueprint.of("ctrl-resnet", width=4, side=8)


def images(count=5):
    return torch.rand(count, *SHAPE, generator=generator(0, "images"))


def rows(outputs, features, seed=0):
    return torch.rand(outputs, features + 1, generator=generator(seed, "rows"))


def grown(blueprint, *paths, outputs=10):
    """A library whose tasks keep so many first modules of the first one, and the networks of their new ones."""
    library, networks = Library(blueprint, SHAPE, 0), []
    for task, kept in enumerate(paths):
        network = library.part(kept, None)
        network.append(rows(outputs, library.features, task))
        network.theta += task
        networks.append(network)
        library.add(task, library.paths.get(0, ())[:kept], network)
    return library, networks


@pytest.mark.parametrize("kept, counts", [(0, 3 * (TRUNK + HEAD_10 + BUFFERS)), (6, TRUNK + BUFFERS + 3 * HEAD_10)])
def test_bytes_are_those_of_the_published_formulas(kept, counts):
    library, _ = grown(Blueprint.of("ctrl-resnet"), 0, kept, kept)
    assert library.bytes == 4 * counts == sum(4 * value.numel() for value in library.tensors().values())
    assert library.new_parameters(10) == TRUNK + HEAD_10 + BUFFERS


def test_paths_number_the_modules_of_each_layer():
    library, _ = grown(SMALL, 0, 6, 2, 6)
    assert library.layers == ["stem", "group1", "group2", "group3", "group4a", "group4b", HEAD]
    assert list(library.paths.values()) == [(0,) * 7, (0,) * 6 + (1,), (0, 0, 1, 1, 1, 1, 2), (0,) * 6 + (3,)]
    assert [len(modules) for modules in library.modules] == [1, 1, 2, 2, 2, 2, 4]


@pytest.mark.parametrize("blueprint", [SMALL, Blueprint.of("ctrl-alexnet", width=2), Blueprint.of("mlp", widths="9-7")])
def test_a_path_predicts_what_its_network_did(blueprint):
    library, networks = grown(blueprint, 0, 0, outputs=3)
    for task, network in [*enumerate(networks), (0, networks[0])]:
        expected = network.scores(network.features(images()))
        assert torch.equal(library.predict(library.paths[task], images()), expected)
    assert [library.outputs(path) for path in library.paths.values()] == [3, 3]


def test_a_path_needs_no_modules_but_its_own():
    library, _ = grown(SMALL, 0, 2, 4)
    for path in library.paths.values():
        expected = library.predict(path, images())
        alone, _ = grown(SMALL, 0, 2, 4)
        alone.modules = [{number: modules[number]} for number, modules in zip(path, alone.modules, strict=True)]
        assert torch.equal(alone.predict(path, images()), expected)


def test_running_statistics_are_part_of_a_module():
    library = Library(SMALL, SHAPE, 0)
    network = library.fresh(rows(2, 4))
    for _ in range(3):
        network.features(images(), training=True)
    library.add(0, (), network)
    plain = network.scores(network.features(images()))
    assert torch.equal(library.predict(library.paths[0], images()), plain)
    assert library.modules[0][0][-1] == 3  # batches that were seen


def test_new_modules_begin_as_those_of_the_whole_network_do():
    library, whole = Library(SMALL, SHAPE, 7), SMALL.build(SHAPE, 7)
    for start in range(7):
        fresh = library.part(start, None)
        assert torch.equal(fresh.theta, whole.theta[len(whole.theta) - len(fresh.theta) :])


def test_a_walk_computes_every_distinct_beginning_once(monkeypatch):
    library, _ = grown(SMALL, 0, 6, 2, 4)
    applied, apply = [], Library.apply
    monkeypatch.setattr(Library, "apply", lambda self, *args: applied.append(args[:2]) or apply(self, *args))
    walk, x = PathWalk(library), images()
    found = {path: walk.at(x, path[:-1]) for path in sorted(library.paths.values())}
    assert len(applied) == 6 + 4 + 2
    assert walk.operations == 5 * sum(library.flops(layer) for layer, _ in applied)
    del applied[:]
    assert walk.at(x, library.paths[2][:3]) is not None
    assert len(applied) == 0  # it lies on the last path
    walk.at(images(), (0,))
    assert len(applied) == 1
    for path, features in found.items():
        assert torch.equal(library.scores(path[-1], features), library.predict(path, x))


def test_it_comes_back_from_its_tensors():
    library, _ = grown(SMALL, 0, 3, 6)
    other = Library(SMALL, SHAPE, 5)
    tensors = {name.removeprefix("modules."): value for name, value in reversed(library.tensors().items())}
    other.load(tensors, library.plain())
    assert other.plain() == library.plain()
    assert torch.equal(other.parameters(), library.parameters())
    assert all(torch.equal(other.predict(p, images()), library.predict(p, images())) for p in library.paths.values())
    tensors["0.0"].zero_()
    assert other.modules[0][0].any()


def test_networks_without_modules_or_with_other_numbers_are_refused():
    with pytest.raises(BadSetting, match="no modules to share in network 'mlp', which has none before its outputs"):
        Library(Blueprint.of("mlp", widths=()), (8,), 0)
