"""Random features and kernel ridge regression."""

from __future__ import annotations

import pytest
import torch

from engram.parts.kernel import KernelRidge, RandomFeatures, median_distance


def _features(shape, seed=0):
    return RandomFeatures(shape, 6, 20, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("shape", [(9,), (2, 2, 2), (1, 4, 4), (3, 28, 28)])
def test_features_are_unit_vectors_that_do_not_depend_on_their_neighbours(shape):
    x = torch.rand(7, *shape, generator=torch.Generator().manual_seed(3))
    found = _features(shape)(x)
    assert torch.allclose(found.norm(dim=1), torch.ones(7), atol=1e-5)
    assert torch.allclose(_features(shape)(x[:1]), found[:1], atol=1e-5)
    assert not torch.allclose(_features(shape, 1)(x), found, atol=1e-2)


def test_filters_do_not_see_brightness():
    features = _features((1, 28, 28))
    assert features.weights.mean((1, 2, 3)).abs().max() < 1e-6


def test_operations_are_those_of_the_layers():
    assert _features((3, 28, 28)).flops() == 2 * 6 * 3 * 49 * 14 * 14
    assert _features((9,)).flops() == 2 * 9 * 20


def test_two_points_by_hand():
    """Squared distance 2 is the median, so K = [[1, 1/e], [1/e, 1]]."""
    ridge = KernelRidge(torch.eye(2), torch.tensor([0, 1]), 2, 1.0)
    kernel = torch.tensor([[1.0, 0.36787944], [0.36787944, 1.0]])
    assert ridge.solved
    assert torch.allclose(ridge.coefficients, torch.linalg.inv(kernel + torch.eye(2)), atol=1e-6)
    assert torch.allclose(ridge.scores(torch.eye(2)), kernel @ ridge.coefficients, atol=1e-6)


def test_one_point_and_equal_points_have_a_width():
    assert median_distance(torch.zeros(1, 1)) == 1.0
    assert median_distance(torch.zeros(5, 5)) == 1.0


def test_the_median_of_many_points_is_taken_over_some():
    points = torch.rand(2500, 1, generator=torch.Generator().manual_seed(0))
    distances = (points - points.t()).square()
    assert median_distance(distances) == pytest.approx(float(distances.median()), rel=0.1)
