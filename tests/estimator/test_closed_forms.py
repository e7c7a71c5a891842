"""The closed forms against what they are, computed plainly; numbers that vary little around a large mean."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.covariance import oas
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge

from engram import ContinualClassifier
from engram.estimator.closed_forms import RidgeForm, SLDAForm
from engram.estimator.moments import Moments
from engram.estimator.sums import Sums


def moments(x, y):
    sums = Sums(x.shape[1])
    sums.order(np.full(y.max() + 1, -1))
    sums.add(x.astype(np.float32), y)
    return Moments.of(sums)


@pytest.fixture(scope="module")
def wine():
    x, y = load_wine(return_X_y=True)
    return x.astype(np.float32).astype(float), y


def test_moments_by_hand():
    found = moments(np.array([[1.0, 5.0], [3.0, 5.0], [8.0, 5.0]]), np.array([0, 0, 1]))
    assert found.mean.tolist() == [4.0, 5.0]
    assert found.deviation == pytest.approx([np.sqrt(26 / 3), 1.0])
    assert found.apart * found.deviation == pytest.approx(np.array([[-2.0, 0.0], [4.0, 0.0]]))
    assert found.correlation.tolist() == pytest.approx(np.array([[1.0, 0.0], [0.0, 0.0]]))


def test_a_small_spread_around_a_large_mean_keeps_its_digits():
    x = np.random.default_rng(0).integers(0, 9, size=(500, 3)) + np.array([2e6, 1.6e7, -5e6])
    found = moments(x, np.zeros(500, dtype=int))
    assert found.deviation == pytest.approx(x.std(axis=0), rel=1e-12)
    assert found.correlation == pytest.approx(np.corrcoef(x.T), abs=1e-12)


def test_ridge_is_least_squares_with_a_penalty(wine):
    x, y = wine
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    plain = Ridge(alpha=7.0).fit(z, np.eye(3)[y])
    scores = RidgeForm(strength=7.0).solve(moments(x, y)).of(x)
    assert scores == pytest.approx(plain.predict(z), abs=1e-9)


def test_the_penalty_has_the_least_error_of_cross_validation(wine):
    """By the definition, with the matrix that makes predictions of targets."""
    x, y = wine
    z, targets = (x - x.mean(axis=0)) / x.std(axis=0), np.eye(3)[y]
    chosen = RidgeForm().solve(moments(x, y)).chosen["strength"]

    def error(strength):
        hat = z @ np.linalg.solve(z.T @ z + strength * np.eye(13), z.T) + 1 / len(z)
        missed = ((targets - hat @ targets) ** 2).sum() / len(z)
        return missed / (1 - np.trace(hat) / len(z)) ** 2

    assert all(error(chosen) <= error(chosen * factor) for factor in (0.1, 0.5, 2, 10))


def test_slda_is_linear_discriminant_analysis(wine):
    x, y = wine
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    form = SLDAForm(shrinkage=0.3)
    ours = form.probabilities(form.solve(moments(x, y)).of(x))
    theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.3).fit(z, y).predict_proba(z)
    assert np.abs(ours - theirs).max() < 0.02  # theirs scales each class's covariance before it shrinks it
    assert (ours.argmax(1) == theirs.argmax(1)).all()


def test_the_shrinkage_is_the_published_one(wine):
    x, y = wine
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    around = z - np.stack([z[y == label].mean(axis=0) for label in range(3)])[y]
    chosen = SLDAForm().solve(moments(x, y)).chosen["shrinkage"]
    size, count = 13, len(z)
    covariance = around.T @ around / count
    squares, trace = (covariance**2).sum(), np.trace(covariance)
    above = (1 - 2 / size) * squares + trace**2
    assert chosen == pytest.approx(above / ((count + 1 - 2 / size) * (squares - trace**2 / size)))
    assert chosen == pytest.approx(oas(around, assume_centered=True)[1], rel=0.2)  # scikit-learn leaves out 2 / size


def test_equal_priors_favour_the_rare_class():
    x = np.array([[0.0], [0.2], [0.1], [0.3], [0.2], [1.0], [1.4]])
    y = np.array([0, 0, 0, 0, 0, 1, 1])
    counts, equal = (ContinualClassifier("slda", prior=prior).fit(x, y) for prior in ("counts", "equal"))
    x = x[:5]
    assert (equal.predict_proba(x)[:, 1] > counts.predict_proba(x)[:, 1]).all()


@pytest.mark.parametrize("learner", ["ridge", "slda"])
def test_columns_that_never_vary_and_rows_that_are_all_the_same_do_no_harm(learner):
    x = np.column_stack([np.full(6, 1e6 / 3), [0.0, 0, 0, 1, 1, 1]])
    model = ContinualClassifier(learner).fit(x, [0, 0, 0, 1, 1, 1])
    assert model.predict([[7.0, 0.1], [-7.0, 0.9]]).tolist() == [0, 1]
    flat = ContinualClassifier(learner).fit(np.ones((3, 2)), [0, 1, 1])
    assert flat.predict([[1.0, 1.0]]).tolist() == [1]
