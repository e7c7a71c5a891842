"""Symmetric uncertainty and FCBF: cases by hand, against sums written out plainly, and what is refused."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
import torch

from engram import redundancy
from engram.core import Dataset
from engram.errors import BadData, BadSetting, TooLarge, UnknownName
from engram.redundancy import discretise, fcbf, of_dataset, symmetric_uncertainty


def entropy(values):
    counts = Counter(values).values()
    return -sum(n / len(values) * math.log2(n / len(values)) for n in counts)


def plain_uncertainty(x, y):
    """Equation 5, as it is written."""
    both = entropy(x) + entropy(y)
    return 0.0 if both == 0 else 2 * (both - entropy(list(zip(x, y, strict=True)))) / both


def toy(x, y):
    x, y = torch.as_tensor(x), torch.as_tensor(y)
    return Dataset("toy", x, y, x, y, tuple(map(str, range(int(y.max()) + 1))), 1.0, "")


def test_the_fixture_of_two_binary_variables():
    found = symmetric_uncertainty(np.array([[0], [0], [1], [1]]), np.array([[0], [0], [0], [1]]))
    assert found[0, 0] == pytest.approx(0.34371, abs=5e-6)


def test_equals_the_plain_sums(monkeypatch):
    """In blocks and chunks that do not divide the features and samples."""
    monkeypatch.setattr(redundancy, "_FEATURES", 3)
    monkeypatch.setattr(redundancy, "_SAMPLES", 7)
    levels = np.random.RandomState(0).randint(0, 4, (50, 8))
    levels[:, 4] = 0
    levels[:, 5] = levels[:, 2]
    found = symmetric_uncertainty(levels)
    plain = [[plain_uncertainty(list(a), list(b)) for b in levels.T] for a in levels.T]
    assert np.allclose(found, plain, atol=1e-11)
    assert (found == found.T).all()


def test_itself_a_copy_a_constant_and_something_independent():
    x = np.array([[0, 0, 0, 0], [0, 0, 1, 0], [1, 1, 0, 0], [1, 1, 1, 0]])
    expected = [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]
    assert symmetric_uncertainty(x).tolist() == expected


@pytest.mark.parametrize("samples", [3, 1442, 60_001])
def test_two_constants_say_nothing_however_their_entropies_round(samples):
    x = np.zeros((samples, 3), np.uint8)
    x[0, 2] = 1
    assert symmetric_uncertainty(x).tolist() == [[0, 0, 0], [0, 0, 0], [0, 0, 1]]


def test_the_filter_by_hand():
    """Feature 2 is the most relevant and takes 0 with it; 1 and 3 stay: each tells more about the class."""
    matrix = np.eye(4)
    matrix[2, 0] = matrix[0, 2] = 0.30
    matrix[2, 1] = matrix[1, 2] = 0.19
    relevance = np.array([0.3, 0.2, 0.4, 0.1])
    assert fcbf(matrix, relevance) == (2, 1, 3)
    assert fcbf(matrix, relevance, delta=0.1) == (2, 1)


def test_what_was_removed_removes_nothing():
    """0 removes 1; 1 would have removed 2."""
    matrix = np.array([[1, 0.9, 0.1], [0.9, 1, 0.9], [0.1, 0.9, 1]])
    assert fcbf(matrix, np.array([0.5, 0.4, 0.3])) == (0, 2)


def test_a_copy_of_a_feature_is_always_removed():
    rng = np.random.RandomState(1)
    y = rng.randint(0, 3, 300)
    x = rng.rand(300, 5) + y[:, None]
    found = of_dataset(toy(np.concatenate([x, x], axis=1), y))
    assert len(found.kept) == len(of_dataset(toy(x, y)).kept)
    assert not {k % 5 for k in found.kept if k >= 5} & {k for k in found.kept if k < 5}


def test_of_a_copy_of_the_class_nothing_else_is_left():
    rng = np.random.RandomState(2)
    y = rng.randint(0, 4, 200)
    x = np.concatenate([rng.rand(200, 40) + y[:, None], y[:, None]], axis=1)
    assert of_dataset(toy(x, y)).kept == (40,)


def test_bins_of_equal_frequency():
    assert np.bincount(discretise(np.random.RandomState(0).rand(1000, 1))[:, 0]).tolist() == [100] * 10


def test_equal_values_are_never_parted_and_rare_ones_stay():
    rare = np.array([[0.0]] * 99 + [[1.0]])
    assert discretise(rare).sum() == discretise(-rare)[:99].sum() / 99 == 1


def test_equal_steps_are_those_of_all_features():
    assert discretise(np.array([[0, 250], [60, 255], [190, 255]]), 4, "width").tolist() == [[0, 0], [0, 0], [1, 0]]


def test_digits():
    from engram import datasets

    found = of_dataset(datasets.load("digits"))
    assert found.features == 64
    assert 5 < len(found.kept) < 40
    assert found.relevance[list(found.kept)].tolist() == sorted(found.relevance[list(found.kept)], reverse=True)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"bins": 1}, "bins=1 is out of range; choose from 2 to 256"),
        ({"delta": 1.0}, "delta=1 is out of range"),
        ({"delta": math.nan}, "delta=nan is out of range"),
    ],
)
def test_settings_that_it_cannot_take(options, sentence):
    with pytest.raises(BadSetting, match=sentence):
        of_dataset(toy([[0.0], [1.0]], [0, 1]), **options)


def test_data_that_it_cannot_take(monkeypatch):
    with pytest.raises(BadData, match="one class"):
        of_dataset(toy([[0.0], [1.0]], [0, 0]))
    with pytest.raises(BadData, match="not finite"):
        of_dataset(toy([[0.0], [math.inf]], [0, 1]))
    with pytest.raises(UnknownName, match="cut called 'widht'; did you mean 'width'"):
        of_dataset(toy([[0.0], [1.0]], [0, 1]), cut="widht")
    monkeypatch.setenv("ENGRAM_MAX_BYTES", "10")
    with pytest.raises(TooLarge, match="the redundancy of 1 features"):
        of_dataset(toy([[0.0], [1.0]], [0, 1]))
