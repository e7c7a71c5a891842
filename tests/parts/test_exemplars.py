"""Choosing exemplars, and the memory that keeps them."""

from __future__ import annotations

import time

import pytest
import torch

from engram.core import Split
from engram.errors import Diverged
from engram.parts.exemplars import SAMPLING, ExemplarMemory, entropy, mof, plane_distance, select, uniform
from engram.transform import Transform


def draw(seed=0):
    return torch.Generator().manual_seed(seed)


def brute_force_herding(features, m):
    """The definition, word for word: nearest mean of the picks to the mean, what is picked left out."""
    mean, picked = features.mean(0), []
    for k in range(1, m + 1):
        away = [
            float("inf") if i in picked else float((mean - (x + features[picked].sum(0)) / k).norm())
            for i, x in enumerate(features)
        ]
        picked.append(away.index(min(away)))
    return picked


def test_herding_order_of_the_fixture():
    assert mof(torch.tensor([[0.0], [1.0], [2.0], [7.0]]), 4).tolist() == [2, 1, 3, 0]


def test_herding_is_its_definition():
    features = torch.randn(40, 5, generator=draw(), dtype=torch.float64)
    assert mof(features, 12).tolist() == brute_force_herding(features, 12)


def test_a_shorter_herding_is_the_beginning_of_a_longer_one():
    features = torch.randn(60, 7, generator=draw())
    longest = mof(features, 60).tolist()
    assert sorted(longest) == list(range(60))
    assert all(mof(features, m).tolist() == longest[:m] for m in (0, 1, 2, 13, 59))


def test_equal_points_are_picked_by_position():
    twins = torch.randn(4, 33, generator=draw()).repeat(5, 1)
    first = mof(twins, 20).tolist()
    for point in range(4):
        copies = [place for place in first if place % 4 == point]
        assert copies == sorted(copies)
    assert mof(torch.ones(6, 3), 6).tolist() == [0, 1, 2, 3, 4, 5]


def test_normalised_herding_sees_directions_only():
    features = torch.randn(30, 4, generator=draw())
    stretched = features * torch.linspace(1, 9, 30)[:, None]
    assert mof(stretched, 9, normalise=True).tolist() == mof(features, 9, normalise=True).tolist()
    assert mof(stretched, 9).tolist() != mof(features, 9).tolist()


def test_herding_is_fast():
    features = torch.randn(6000, 256, generator=draw())
    mof(features, 2)
    spent = []
    for _ in range(3):
        start = time.process_time()
        mof(features, 10)
        spent.append(time.process_time() - start)
    assert min(spent) <= 0.05


def test_uniform_is_without_replacement_and_depends_on_the_generator():
    assert sorted(uniform(9, 9, draw()).tolist()) == list(range(9))
    assert uniform(50, 5, draw(1)).tolist() == uniform(50, 5, draw(1)).tolist() != uniform(50, 5, draw(2)).tolist()


def test_plane_distance_prefers_what_is_near_the_plane():
    """Distances 1 and 3 on either side: chances 3/4 and 1/4."""
    features, weights = torch.tensor([[1.0, 5.0], [-3.0, 5.0]]), torch.tensor([1.0, 0.0])
    first = [int(plane_distance(features, weights, 1, draw(seed))[0]) for seed in range(2000)]
    assert first.count(0) / 2000 == pytest.approx(0.75, abs=0.03)


def test_a_point_on_the_plane_is_certain_but_finite():
    features, weights = torch.tensor([[0.0], [1.0], [2.0]]), torch.tensor([1.0])
    assert all(int(plane_distance(features, weights, 1, draw(seed))[0]) == 0 for seed in range(50))
    assert sorted(plane_distance(features, weights, 3, draw()).tolist()) == [0, 1, 2]


def test_entropy_prefers_uncertain_samples():
    """Entropies log 2 and log 2, then about 0: the last is never first; −∞ takes no part."""
    scores = torch.tensor([[0.0, 0.0, float("-inf")], [3.0, 3.0, float("-inf")], [0.0, 60.0, float("-inf")]])
    first = [int(entropy(scores, 1, draw(seed))[0]) for seed in range(1000)]
    assert first.count(2) == 0
    assert first.count(0) / 1000 == pytest.approx(0.5, abs=0.05)


def test_certain_samples_can_still_be_drawn():
    certain = torch.tensor([[0.0, 900.0]]).repeat(4, 1)
    assert sorted(entropy(certain, 4, draw()).tolist()) == [0, 1, 2, 3]
    assert sorted(entropy(torch.zeros(5, 1), 5, draw()).tolist()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("kind", SAMPLING)
@pytest.mark.parametrize("m", [0, 3, 8, 50])
def test_every_kind_gives_distinct_positions_and_never_more_than_there_are(kind, m):
    features = torch.randn(8, 4, generator=draw())
    known = {"features": features, "scores": features[:, :3], "weights": features[0]}
    chosen = select(kind, m, **known, generator=draw())
    assert chosen.dtype == torch.int64
    assert len(set(chosen.tolist())) == len(chosen) == min(m, 8)
    assert all(0 <= place < 8 for place in chosen.tolist())


def samples(label, x, scale=0.5, **more):
    return Split(x, torch.full((len(x),), label), transform=Transform(scale, **more))


def filled():
    memory = ExemplarMemory()
    memory.add(samples(7, torch.arange(12, dtype=torch.uint8).view(3, 4)))
    memory.add(samples(2, torch.arange(100, 108, dtype=torch.uint8).view(2, 4)))
    return memory


def test_a_memory_keeps_bytes_as_bytes_in_order_of_selection():
    kept = filled().split()
    assert kept.x.dtype == torch.uint8
    assert kept.y.tolist() == [7, 7, 7, 2, 2]
    x, _ = kept.batch(slice(None))
    assert torch.equal(x[:3], torch.arange(12.0).view(3, 4) / 2)
    assert filled().counts() == {7: 3, 2: 2}
    assert len(filled()) == 5


def test_its_bytes_are_those_of_samples_and_labels():
    assert {n: t.numel() * t.element_size() for n, t in filled().tensors().items()} == {
        "exemplars.x": 5 * 4,
        "exemplars.y": 5 * 8,
    }
    assert ExemplarMemory().tensors() == {}


def test_reducing_keeps_the_first_of_every_set():
    memory = filled()
    memory.reduce([2, 2])
    assert memory.split().x[:, 0].tolist() == [0, 4, 100, 104]
    memory.reduce([1, 1])
    assert memory.split().x[:, 0].tolist() == [0, 100]
    assert memory.sizes == [1, 1]
    memory.reduce([5, 5])
    assert len(memory) == 2
    ExemplarMemory().reduce([])


def test_reducing_frees_what_is_cut():
    memory = filled()
    memory.reduce([1, 1])
    assert memory.tensors()["exemplars.x"].untyped_storage().nbytes() == 2 * 4


def test_a_class_that_comes_back_gets_another_set():
    memory = filled()
    memory.add(samples(7, torch.full((2, 4), 200, dtype=torch.uint8)))
    assert memory.sizes == [3, 2, 2]
    assert memory.of(7).raw(slice(None))[:, 0].tolist() == [0, 4, 8, 200, 200]
    memory.reduce([1, 1, 1])
    assert memory.of(7).raw(slice(None))[:, 0].tolist() == [0, 200]


def test_sets_know_their_task_and_class_and_are_gone_when_empty():
    memory = filled()
    memory.add(samples(7, torch.full((2, 4), 200, dtype=torch.uint8)), 4)
    assert memory.sets() == [(None, 7), (None, 2), (4, 7)]
    memory.reduce([0, 2, 1])
    assert memory.sets() == [(None, 2), (4, 7)]
    assert memory.sizes == [2, 1]
    other = ExemplarMemory()
    other.load(memory.tensors(), memory.plain())
    assert other.sets() == memory.sets()
    assert ExemplarMemory().sets() == []


def test_other_formats_become_what_batches_hold():
    memory = filled()
    memory.add(samples(3, torch.full((1, 4), 0.25), scale=1.0))
    x, y = memory.split().batch(slice(None))
    assert y.tolist() == [7, 7, 7, 2, 2, 3]
    assert torch.equal(x[0], torch.arange(4.0) / 2)
    assert torch.equal(x[-1], torch.full((4,), 0.25))


@pytest.mark.parametrize("shift", [None, torch.tensor([1.0, 2, 3, 4])])
def test_a_memory_survives_its_state(shift):
    memory = ExemplarMemory()
    memory.add(samples(1, torch.arange(8, dtype=torch.uint8).view(2, 4), shift=shift))
    memory.add(samples(0, torch.arange(4, dtype=torch.uint8).view(1, 4), shift=shift))
    other = ExemplarMemory()
    other.load({**memory.tensors(), "parameters": torch.zeros(3)}, memory.plain())
    for mine, its in zip(memory.split().batch(slice(None)), other.split().batch(slice(None)), strict=True):
        assert torch.equal(mine, its)
    assert other.sizes == memory.sizes
    assert other.split().x.dtype == torch.uint8


def test_an_empty_memory_survives_its_state():
    other = ExemplarMemory()
    other.load({}, ExemplarMemory().plain())
    assert len(other) == 0
    assert other.counts() == {}


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_features_that_are_spoilt_are_a_sentence(value):
    features, generator = torch.full((4, 3), value), torch.Generator()
    for choose in (lambda: mof(features, 2, normalise=True), lambda: entropy(features, 2, generator)):
        with pytest.raises(Diverged, match="what exemplars are chosen by became nan; lower the rate"):
            choose()
