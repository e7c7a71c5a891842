"""Every expected number here was computed by hand from the formulas of the papers."""

import doctest
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram import metrics
from engram.errors import BadRecord

TRIANGLE = [[0.7], [0.8, 0.85], [0.6, 0.7, 0.95]]
OF_A_MATRIX = (
    metrics.average_accuracy,
    metrics.forgetting_rwalk,
    metrics.forgetting_ctrl,
    metrics.backward_transfer,
    lambda a: metrics.forward_transfer(a, 0.1),
    lambda a: metrics.intransigence(a, 0.9),
    lambda a: metrics.transfer(a, 0.9),
)
OF_TWO_TASKS = OF_A_MATRIX[1:5]

accuracy = st.floats(0, 1)


@st.composite
def triangles(draw):
    size = draw(st.integers(2, 6))
    return [draw(st.lists(accuracy, min_size=k, max_size=k)) for k in range(1, size + 1)]


def square(rows, above):
    return [list(row) + [above] * (len(rows) - len(row)) for row in rows]


def same(one, other):
    return one == other or (math.isnan(one) and math.isnan(other))


def test_examples_in_docstrings_hold():
    failed, attempted = doctest.testmod(metrics)
    assert failed == 0
    assert attempted >= len(metrics.METRICS)


def test_every_metric_has_a_line_of_help():
    assert all(text and "\n" not in text for text in metrics.METRICS.values())


def test_metrics_do_not_wait_for_torch():
    code = "import sys, engram.metrics; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_matrix_metrics_by_hand():
    assert metrics.average_accuracy(TRIANGLE) == pytest.approx(0.75)
    # Task 1 falls from its best 0.8 to 0.6, task 2 from 0.85 to 0.7.
    assert metrics.forgetting_rwalk(TRIANGLE) == pytest.approx((0.2 + 0.15) / 2)
    # Task 1 falls from 0.7 when just learned to 0.6.
    assert metrics.forgetting_ctrl(TRIANGLE) == pytest.approx((-0.1 - 0.15) / 2)
    assert metrics.backward_transfer(TRIANGLE) == pytest.approx((-0.1 - 0.15 + 0) / 3)
    assert metrics.intransigence(TRIANGLE, 0.97) == pytest.approx(0.02)
    assert metrics.intransigence(TRIANGLE, [0.1, 0.2, 0.97]) == pytest.approx(0.02)
    assert metrics.transfer(TRIANGLE, 0.9) == pytest.approx(0.05)
    assert metrics.transfer(TRIANGLE, [0.3, 0.9]) == pytest.approx(0.05)


def test_rwalk_takes_the_best_of_the_past_where_ctrl_takes_the_first():
    # The history 0.7, 0.8, 0.6, 0.5 of task 1 is the example of the RWalk paper; the other tasks do not change.
    a = [[0.7], [0.8, 1], [0.6, 1, 1], [0.5, 1, 1, 1]]
    assert metrics.forgetting_rwalk(a) == pytest.approx(0.3 / 3)
    assert metrics.forgetting_ctrl(a) == pytest.approx(-0.2 / 3)


def test_rwalk_forgetting_leaves_the_last_row_out_of_the_maximum():
    assert metrics.forgetting_rwalk([[0.5], [0.9, 0.9]]) == pytest.approx(-0.4)


def test_rwalk_forgetting_ignores_accuracies_from_before_a_task_was_learned():
    a = [[0.5, 1.0, 1.0], [0.5, 0.6, 1.0], [0.5, 0.4, 0.9]]
    assert metrics.forgetting_rwalk(a) == pytest.approx(0.1)


def test_forward_transfer_by_hand():
    a = [[0.7, 0.3, 0.2], [0.8, 0.85, 0.4], [0.6, 0.7, 0.95]]
    # (0.3 - 0.2) and (0.4 - 0.1); the first task has no before.
    assert metrics.forward_transfer(a, [0.5, 0.2, 0.1]) == pytest.approx(0.2)
    assert metrics.forward_transfer(a, 0.1) == pytest.approx(0.25)


def test_forward_transfer_of_a_triangle_is_undefined():
    assert math.isnan(metrics.forward_transfer(TRIANGLE, 0.1))


def test_lca_by_hand():
    assert metrics.lca([[0.1, 0.3, 0.5]], 2) == pytest.approx(0.3)
    assert metrics.lca([[0.1, 0.3, 0.5], [0.2, 0.4, 0.6]], 2) == pytest.approx(0.35)
    assert metrics.lca([[0.1, 0.3, 0.5]], 0) == pytest.approx(0.1)
    assert metrics.lca([[0.1, 0.3, 0.5]], 1) == pytest.approx(0.2)


def test_lca_keeps_the_last_value_of_a_curve_that_stopped_early():
    assert metrics.lca([[0.1, 0.5]], 3) == pytest.approx((0.1 + 0.5 * 3) / 4)


def test_omegas_by_hand():
    assert metrics.omega_base([0.8, 0.6, 0.4], 0.9) == pytest.approx(0.666667, abs=1e-6)
    assert metrics.omega_new([0.9, 0.85, 0.8]) == pytest.approx(0.85)
    assert metrics.omega_new([0.9, 0.85, 0.8], 0.9) == pytest.approx(0.944444, abs=1e-6)
    assert metrics.omega_all([0.85, 0.7, 0.6], 0.9) == pytest.approx(0.796296, abs=1e-6)
    assert metrics.omega_all([0.8, 0.6], [0.8, 0.3]) == pytest.approx(1.5)


CUB, AUDIOSET = 0.621, 0.461


@pytest.mark.parametrize(
    ("first", "second", "final_first", "final_second", "published"),
    [
        (CUB, AUDIOSET, 0.203, 0.412, (0.327, 0.412, 0.610)),  # MLP
        (AUDIOSET, CUB, 0.091, 0.609, (0.197, 0.609, 0.589)),
        (CUB, AUDIOSET, 0.586, 0.369, (0.944, 0.369, 0.872)),  # EWC; for the other order see below
        (CUB, AUDIOSET, 0.564, 0.376, (0.908, 0.376, 0.862)),  # PathNet
        (AUDIOSET, CUB, 0.032, 0.540, (0.069, 0.540, 0.469)),
        (CUB, AUDIOSET, 0.097, 0.010, (0.156, 0.010, 0.089)),  # GeppNet
        (AUDIOSET, CUB, 0.421, 0.005, (0.913, 0.005, 0.461)),
        (AUDIOSET, CUB, 0.382, 0.005, (0.829, 0.005, 0.418)),  # GeppNet+STM; for the other order see below
        (CUB, AUDIOSET, 0.068, 0.329, (0.110, 0.329, 0.412)),  # FEL
        (AUDIOSET, CUB, 0.218, 0.320, (0.473, 0.320, 0.494)),
    ],
)
def test_omegas_of_two_modalities_follow_from_published_accuracies(first, second, final_first, final_second, published):
    """Kemker et al. 2018: Table 2 from the accuracies of Table S8 and the ideals of the text."""
    base, new = metrics.omega_base([final_first], first), metrics.omega_new([final_second])
    both = metrics.omega_modalities([[final_first, final_second]], [[first, second]])
    assert (base, new, both) == pytest.approx(published, abs=6e-4)


@pytest.mark.parametrize(
    ("first", "second", "final_first", "final_second", "base", "both"),
    [
        (AUDIOSET, CUB, 0.471, 0.588, 1.022, 0.984),  # EWC: its base is printed as 1.000
        (CUB, AUDIOSET, 0.019, 0.010, 0.031, 0.026),  # GeppNet+STM: its new, 0.010, is printed as 0.329
    ],
)
def test_where_the_published_table_contradicts_itself(first, second, final_first, final_second, base, both):
    assert metrics.omega_base([final_first], first) == pytest.approx(base, abs=6e-4)
    found = metrics.omega_modalities([[final_first, final_second]], [[first, second]])
    assert found == pytest.approx(both, abs=6e-4)


def test_shares_of_modalities_by_hand():
    sessions, ideals = [[0.3, 0.4], [0.3, 0.2, 0.5]], [[0.6, 0.4], [0.6, 0.4, 0.5]]
    assert metrics.omega_modalities(sessions, ideals) == pytest.approx((0.75 + 2 / 3) / 2)
    assert metrics.omega_lowest(sessions, ideals) == pytest.approx(2 / 3)
    assert math.isnan(metrics.omega_lowest([[0.3], [0.1]], [[0.0], [0.1]]))
    assert math.isnan(metrics.omega_lowest([], []))
    with pytest.raises(BadRecord, match="1 sessions came with the ideals of 2"):
        metrics.omega_modalities([[0.5]], [[0.5], [0.6]])


def test_mean_class_accuracy_counts_classes_not_samples():
    assert metrics.mean_class_accuracy([1.0, 0.5, 0.0]) == pytest.approx(0.5)
    assert math.isnan(metrics.mean_class_accuracy([]))
    assert metrics.summary(TRIANGLE, per_class=[0.25, 0.75])["mean_class_accuracy"] == 0.5


@pytest.mark.parametrize("metric", OF_A_MATRIX)
def test_nothing_gives_nan(metric):
    assert math.isnan(metric([]))


@pytest.mark.parametrize("metric", OF_TWO_TASKS)
def test_one_task_cannot_be_forgotten(metric):
    assert math.isnan(metric([[0.7]]))


def test_one_task_has_an_average_and_references():
    assert metrics.average_accuracy([[0.7]]) == 0.7
    assert metrics.intransigence([[0.7]], 0.8) == pytest.approx(0.1)
    assert metrics.transfer([[0.7]], 0.6) == pytest.approx(0.1)


def test_undefined_shares_and_curves_are_nan():
    assert math.isnan(metrics.omega_base([0.5], 0))
    assert math.isnan(metrics.omega_all([0.5, 0.5], [0.5, 0.0]))
    assert math.isnan(metrics.omega_new([0.5], 0))
    for empty in (metrics.omega_base([], 0.9), metrics.omega_new([]), metrics.omega_all([], 0.9)):
        assert math.isnan(empty)
    assert math.isnan(metrics.lca([], 5))
    assert math.isnan(metrics.lca([[0.5], []], 5))
    assert math.isnan(metrics.transfer([[0.7]], []))


@pytest.mark.parametrize("place", [(0, 0), (1, 0), (2, 0)])
def test_nan_in_the_history_of_a_task_makes_its_forgetting_nan(place):
    a = [list(row) for row in TRIANGLE]
    a[place[0]][place[1]] = math.nan
    assert math.isnan(metrics.forgetting_rwalk(a))


def test_nan_goes_through_every_metric_that_depends_on_it():
    a = [[0.7], [math.nan, math.nan]]
    for metric in OF_A_MATRIX:
        assert math.isnan(metric(a))
    assert math.isnan(metrics.intransigence(TRIANGLE, math.nan))
    assert math.isnan(metrics.omega_base([math.nan], 0.9))
    assert math.isnan(metrics.lca([[math.nan, 0.5]], 1))


@pytest.mark.parametrize(
    ("a", "said"),
    [
        ([[0.7], [0.8]], "row 2 .* length 1"),
        ([[0.7], [0.8, 85]], "row 2 holds 85.*percentages"),
        ([[0.7], [-0.25, 0.8]], r"row 2 holds -0\.25"),
        ([[math.inf]], "row 1 holds inf"),
        ([[0.7], ["0.8", 0.9]], "row 2 holds '0.8', which is not a number"),
        ([[None]], "row 1 holds None"),
        ([[True]], "row 1 holds True"),
        ([0.7, 0.8], r"row 1 is 0\.7"),
        (["high"], "row 1 is 'high'"),
        ([{0: 0.7}], "row 1 is {0: 0.7}"),
        (0.7, r"the accuracy matrix is 0\.7"),
        (None, "the accuracy matrix is None"),
    ],
)
@pytest.mark.parametrize("metric", OF_A_MATRIX)
def test_malformed_matrices_are_named(metric, a, said):
    with pytest.raises(BadRecord, match=said):
        metric(a)


def test_malformed_companions_are_named():
    with pytest.raises(BadRecord, match="reference of intransigence has length 2; give one accuracy, or 3"):
        metrics.intransigence(TRIANGLE, [0.9, 0.9])
    with pytest.raises(BadRecord, match="reference of intransigence holds 97"):
        metrics.intransigence(TRIANGLE, 97)
    with pytest.raises(BadRecord, match="isolated accuracies is 'good'"):
        metrics.transfer(TRIANGLE, "good")
    with pytest.raises(BadRecord, match="baseline has length 2"):
        metrics.forward_transfer(TRIANGLE, [0.1, 0.1])
    with pytest.raises(BadRecord, match="row 1 holds 30"):
        metrics.forward_transfer([[0.7, 30], [0.8, 0.9]], 0.1)
    with pytest.raises(BadRecord, match="ideal accuracies has length 1"):
        metrics.omega_base([0.5, 0.6], [0.9])
    with pytest.raises(BadRecord, match="base accuracies holds 80"):
        metrics.omega_base([80], 0.9)
    with pytest.raises(BadRecord, match="curve 2 holds 1.5"):
        metrics.lca([[0.5], [1.5]], 1)


@pytest.mark.parametrize("beta", [-1, 1.5, "2", True, None])
def test_lca_wants_a_number_of_batches(beta):
    with pytest.raises(BadRecord, match="beta="):
        metrics.lca([[0.5]], beta)


def test_summary_holds_what_the_record_allows():
    always = ["average_accuracy", "first_task_accuracy", "forgetting_rwalk", "forgetting_ctrl", "backward_transfer"]
    assert list(metrics.summary(TRIANGLE)) == always
    full = metrics.summary(
        TRIANGLE, intransigence_reference=0.97, isolated=0.9, curves=[[0.1, 0.3, 0.5], [0.5], [0.2, 0.4]], beta=2
    )
    assert list(full) == [*always, "intransigence", "transfer", "lca"]
    assert full["forgetting_rwalk"] == pytest.approx(0.175)
    assert full["lca"] == pytest.approx((0.3 + 0.5 + 1 / 3) / 3)
    assert set(full) <= set(metrics.METRICS)


def test_union_accuracy_counts_samples_not_tasks():
    assert metrics.union_accuracy([1.0, 0.0], [1009, 8991]) == pytest.approx(0.1009)
    assert math.isnan(metrics.union_accuracy([], []))
    with pytest.raises(BadRecord, match="2 accuracies came with 1 numbers of samples"):
        metrics.union_accuracy([0.5, 0.5], [10])
    assert metrics.summary(TRIANGLE, union=0.4)["union_accuracy"] == 0.4


def test_summary_of_nothing_is_nan():
    assert all(math.isnan(value) for value in metrics.summary([]).values())


def test_spread_by_hand():
    found = metrics.spread([0.2, 0.4, 0.9])
    assert found["mean"] == pytest.approx(0.5)
    assert found["std"] == pytest.approx(math.sqrt((0.09 + 0.01 + 0.16) / 2))
    assert found["n"] == 3


def test_spread_of_few_or_missing_values():
    assert metrics.spread([0.2])["mean"] == 0.2
    assert math.isnan(metrics.spread([0.2])["std"])
    assert math.isnan(metrics.spread([])["mean"])
    assert metrics.spread([])["n"] == 0
    holed = metrics.spread([0.2, math.nan, 0.4])
    assert math.isnan(holed["mean"])
    assert math.isnan(holed["std"])
    assert holed["n"] == 3


@pytest.mark.parametrize("value", [math.inf, "0.5", None])
def test_spread_wants_finite_numbers(value):
    with pytest.raises(BadRecord, match="not a finite number"):
        metrics.spread([0.5, value])


@given(st.lists(accuracy, min_size=2, max_size=8))
def test_a_constant_predictor_forgets_nothing(accuracies):
    a = [accuracies[:k] for k in range(1, len(accuracies) + 1)]
    assert metrics.forgetting_rwalk(a) == 0
    assert metrics.forgetting_ctrl(a) == 0
    assert metrics.backward_transfer(a) == 0


@given(triangles())
def test_lists_and_arrays_give_the_same(a):
    filled = square(a, 0.5)
    for metric in OF_A_MATRIX:
        assert same(metric(filled), metric(np.array(filled)))
        assert same(metric(a), metric([np.array(row) for row in a]))


@given(triangles(), accuracy)
def test_what_lies_above_the_diagonal_does_not_matter(a, above):
    for metric in (f for f in OF_A_MATRIX if f is not OF_A_MATRIX[4]):
        assert metric(a) == metric(square(a, above)) == metric(square(a, math.nan))


@given(triangles())
def test_metrics_stay_in_their_range_and_order(a):
    assert 0 <= metrics.average_accuracy(a) <= 1
    assert -1 <= metrics.forgetting_ctrl(a) <= 1
    # The best of the past is at least the accuracy when just learned.
    assert metrics.forgetting_rwalk(a) >= -metrics.forgetting_ctrl(a) - 1e-12


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=20))
def test_spread_agrees_with_numpy(values):
    found = metrics.spread(np.array(values))
    assert found["mean"] == pytest.approx(np.mean(values), abs=1e-6)
    assert found["std"] == pytest.approx(np.std(values, ddof=1), abs=1e-6)


@given(accuracy, st.integers(2, 50))
def test_equal_values_have_no_spread(value, count):
    assert metrics.spread([value] * count) == {"mean": value, "std": 0, "n": count}
