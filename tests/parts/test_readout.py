"""Activity and readout by hand, and one sample against many."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from engram.parts.readout import Readout
from engram.settings import declared


def readout(units, **settings):
    values = {name: setting.default for name, setting in declared(Readout).items()}
    return Readout(units, **{**values, **settings})


@pytest.mark.parametrize("peak", ["best", "one"])
def test_the_largest_activity_is_kept_and_weak_ones_are_silent(peak):
    part = readout(4, theta=0.7, power=10.0, peak=peak)
    part.kappa = 2.0
    squares = np.array([[1.0, 2.0, 3.0, 30.0], [9.0, 9.1, 8.0, 11.0]])
    g = np.exp(-squares / 8)
    largest = g.max(1, keepdims=True)
    z = np.where(g / largest > 0.7, g**10 / largest**9, 0)
    assert (z > 0).sum(1).tolist() == [3, 3]
    assert part.activity(torch.from_numpy(squares)).numpy() == pytest.approx(z / largest if peak == "one" else z)
    assert part.activity(torch.from_numpy(squares)).numpy().max(1) == pytest.approx(
        np.ones(2) if peak == "one" else g.max(1)
    )


@pytest.mark.parametrize("peak", ["best", "one"])
def test_one_sample_is_as_active_as_among_many(peak):
    part = readout(50, peak=peak)
    part.kappa = 1.5
    squares = np.random.default_rng(0).uniform(1, 9, (20, 50)).astype(np.float32)
    together = part.activity(torch.from_numpy(squares)).numpy()
    for row, expected in zip(squares, together):
        units, z = part.active(row, int(row.argmin()))
        assert units.tolist() == expected.nonzero()[0].tolist()
        assert z == pytest.approx(expected[units], rel=1e-5)


def test_one_step_by_hand():
    """z = (1, 0), target 1, ε = 0.5, from zero: W = (1, 0)."""
    part = readout(2, rate=0.5)
    part.grow(1)
    part.kappa = 1.0
    assert part.correct(np.array([0.25, 99.0], np.float32), 0, 0, math.inf)
    assert part.weights.tolist() == [[1.0], [0.0]]


def test_a_step_does_not_go_beyond_its_target():
    part = readout(3, rate=0.1)
    part.grow(2)
    part.kappa = 1.0
    squares = np.full(3, 0.5, np.float32)
    part.correct(squares, 0, 1, math.inf)
    assert part.weights[:, 1].tolist() == pytest.approx([0.2] * 3)
    part.rate = 7.0
    part.correct(squares, 0, 1, math.inf)
    assert part.outputs(torch.from_numpy(squares).unsqueeze(0))[0].tolist() == pytest.approx([0.0, 1.0])


@pytest.mark.parametrize("threshold, novel", [(0.1, False), (0.3, True)])
def test_only_what_is_novel_is_learned(threshold, novel):
    part = readout(2)
    part.grow(2)
    part.kappa = 1.0
    part.weights[0] = torch.tensor([0.25, 0.5])
    before = part.weights.clone()
    assert part.correct(np.array([0.0, 50.0], np.float32), 0, 1, threshold) is novel
    assert torch.equal(part.weights, before) is not novel
    assert part.correct(np.array([0.0, 50.0], np.float32), 0, 0, -0.2), "told wrong by 0.25"


def test_kappa_is_the_running_mean_of_distances():
    part = readout(1, kappa_rate=0.1)
    part.notice(4.0)
    assert part.kappa == 2.0
    part.notice(9.0)
    assert part.kappa == pytest.approx(2.1)
