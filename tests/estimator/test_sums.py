"""Sums are exact, whatever the order and the parts; what is forgotten leaves nothing."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from engram.errors import BadInput
from engram.estimator.fixed_point import FixedPoint, two_product
from engram.estimator.limbs import BLOCK, GROUP
from engram.estimator.sums import Sums


def summed(x, y, parts=1, classes=3):
    sums = Sums(x.shape[1])
    sums.order(np.full(classes, -1))
    for rows in np.array_split(np.arange(len(x)), parts):
        sums.add(x[rows], y[rows])
    return sums


def same(one, other):
    return all(a.tobytes() == b.tobytes() for a, b in zip(one.tensors().values(), other.tensors().values()))


def exact(numbers, *place):
    """One of them as a fraction."""
    tidy = numbers.copy().tidy()
    return sum(Fraction(int(d[place])) * Fraction(2) ** (32 * (tidy.low + k)) for k, d in enumerate(tidy.digits))


@pytest.fixture
def rows():
    """Numbers of very different sizes, and none at all."""
    draw = np.random.default_rng(0)
    x = draw.normal(size=(60, 3)) * 10.0 ** draw.integers(-30, 30, size=(60, 3))
    x[7] = 0
    return x.astype(np.float32), draw.integers(0, 3, 60)


def test_they_are_those_of_fractions(rows):
    x, y = rows
    sums = summed(x, y)
    wide = [[Fraction(float(value)) for value in row] for row in x]
    for i in range(3):
        assert exact(sums.totals, 2, i) == sum(row[i] for row, label in zip(wide, y) if label == 2)
        for j in range(3):
            truth = sum(row[i] * row[j] for row in wide)
            assert exact(sums.squares, i, j) == truth
            assert sums.squares.pair()[0][i, j] == float(truth)


def test_order_and_parts_do_not_matter(rows):
    x, y = rows
    other = np.random.default_rng(1).permutation(len(x))
    assert same(summed(x, y), summed(x[other], y[other], parts=17))


@pytest.mark.parametrize("count", [BLOCK + 5, 2 * GROUP + 5])
def test_blocks_and_groups_are_added_up_exactly(count):
    draw = np.random.default_rng(2)
    x, y = draw.normal(size=(count, 2)).astype(np.float32), np.zeros(count, dtype=int)
    truth = sum(Fraction(float(a)) * Fraction(float(b)) for a, b in x)
    assert exact(summed(x, y, classes=1).squares, 0, 1) == truth


def test_the_largest_sums_that_a_group_can_have_are_exact():
    """All numbers of a column as large as its exponent allows, and with every bit set."""
    x = np.full((GROUP, 2), 2 - 2.0**-23, dtype=np.float32)
    x[:, 1] = 1.0
    sums = summed(x, np.zeros(GROUP, dtype=int), classes=1)
    largest = Fraction(2) - Fraction(1, 2**23)
    assert exact(sums.squares, 0, 0) == GROUP * largest**2
    assert exact(sums.squares, 0, 1) == GROUP * largest
    assert exact(sums.totals, 0, 0) == GROUP * largest


def test_what_is_forgotten_leaves_nothing(rows):
    x, y = rows
    sums = summed(x, y)
    sums.add(x[20:], y[20:], -1)
    assert same(sums, summed(x[:20], y[:20]))
    sums.add(x[:20], y[:20], -1)
    assert same(sums, summed(x[:0], y[:0]))


def test_more_rows_than_were_learned_cannot_be_forgotten(rows):
    x, y = rows
    sums = summed(x[:2], y[:2])
    before = sums.copy()
    with pytest.raises(BadInput, match="more rows to forget"):
        sums.add(x, y, -1)
    assert same(sums, before)


def test_classes_that_move_take_their_sums_along(rows):
    x, y = rows
    sums = summed(x, y)
    sums.order(np.array([2, -1, 0, 1]))
    assert sums.counts.tolist() == [*np.bincount(y)[[2]], 0, *np.bincount(y)[[0, 1]]]
    assert exact(sums.totals, 2, 1) == exact(summed(x, y).totals, 0, 1)
    assert exact(sums.totals, 1, 1) == 0


def test_numbers_have_one_tidy_form():
    one, other = FixedPoint((1,)), FixedPoint((1,))
    one.add(np.array([2.0**40]), np.array([0]))
    one.add(np.array([-1.0]), np.array([0]))
    for _ in range(3):
        other.add(np.array([2.0**52]), np.array([-14]))
    other.add(np.array([2.0**38 - 1]), np.array([0]))
    assert one.tidy().low == other.tidy().low
    assert one.digits.tolist() == other.digits.tolist()


def test_a_product_and_what_it_leaves():
    a, b = np.array([1 / 3]), np.array([0.1])
    high, low = two_product(a, b)
    assert Fraction(float(high[0])) + Fraction(float(low[0])) == Fraction(1 / 3) * Fraction(0.1)
