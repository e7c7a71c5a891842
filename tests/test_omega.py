"""The accuracies of Ω from hand-made rows, one kind of stream each."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from engram.core import Cost, Row
from engram.record import Ideals, Record


def row(accuracy, per_class):
    by_class = {"single": per_class} if per_class else {}
    return Row(tuple(accuracy), tuple(accuracy), by_class, {}, {}, Cost({"total": 8}, 5, 0.25), "ab")


def record(rows, ideals=None):
    more = {"ideals": ideals}
    return Record("s", "l", "mlp", {}, "sequential", "single", 0, "k", "done", None, tuple(rows), ({},), **more)


PERMUTED = [
    row([0.9], {"0": 1.0, "1": 0.8}),
    row([0.7, 0.8], {"0": 0.7, "1": 0.8}),
    row([0.5, 0.6, 1.0], {"0": 0.7, "1": 0.7}),
]
# Two classes, then one at a time; class 0 has so many samples that accuracy on the first task is not their mean.
INCREMENTAL = [
    row([0.9], {"0": 1.0, "1": 0.8}),
    row([0.85, 0.6], {"0": 0.9, "1": 0.5, "2": 0.6}),
    row([0.75, 0.4, 0.9], {"0": 0.8, "1": 0.2, "2": 0.4, "3": 0.9}),
]


def test_sessions_of_the_same_classes_count_alike():
    found = record(PERMUTED).alphas
    assert found.base == (0.9, 0.7, 0.5)
    assert found.new == (0.9, 0.8, 1.0)
    assert found.all == pytest.approx((0.9, 0.75, 0.7))


def test_where_classes_are_added_classes_count_alike():
    found = record(INCREMENTAL).alphas
    assert found.base == pytest.approx((0.9, 0.7, 0.5))
    assert found.new == pytest.approx((0.9, 0.6, 0.9))
    assert found.all == pytest.approx((0.9, 2 / 3, 0.575))
    assert record(INCREMENTAL).metrics()["mean_class_accuracy"] == pytest.approx(0.575)


def test_the_paper_s_ideal_is_one_number_for_all_sessions():
    ideal = Ideals((row([0.85], {"0": 0.9, "1": 0.7}),))
    found = record(INCREMENTAL, ideal).metrics()
    assert found["omega_base"] == pytest.approx((0.7 / 0.8 + 0.5 / 0.8) / 2)
    assert found["omega_new"] == pytest.approx(0.75)
    assert found["omega_new_share"] == pytest.approx(0.75 / 0.8)
    assert found["omega_all"] == pytest.approx((2 / 3 / 0.8 + 0.575 / 0.8) / 2)
    assert not [name for name in found if "fair" in name]


def test_the_fair_ideal_has_a_number_for_each_session():
    base = row([0.85], {"0": 0.9, "1": 0.7})
    second = row([0.7, 0.7], {"0": 0.7, "1": 0.7, "2": 0.7})
    third = row([0.5, 0.5, 0.5], {"0": 0.5, "1": 0.5, "2": 0.5, "3": 0.5})
    shown = record(INCREMENTAL, Ideals((base,), (base, second, third)))
    found = shown.metrics()
    assert found["omega_base_fair"] == pytest.approx((0.7 / 0.7 + 0.5 / 0.5) / 2)
    assert found["omega_all_fair"] == pytest.approx((2 / 3 / 0.7 + 0.575 / 0.5) / 2)
    assert found["omega_all_fair_lowest"] == pytest.approx(2 / 3 / 0.7)
    assert found["omega_all"] == pytest.approx((2 / 3 / 0.8 + 0.575 / 0.8) / 2)
    kept = shown.to_json()["offline"]
    assert kept["alone"] == pytest.approx([0.8])
    assert kept["seen"]["all"] == pytest.approx([0.8, 0.7, 0.5])


def test_an_offline_model_has_omegas_of_one_against_itself():
    ideal = Ideals(tuple(PERMUTED[:1]), tuple(PERMUTED))
    found = record(PERMUTED, ideal).metrics()
    fair = ("omega_base_fair", "omega_all_fair", "omega_all_fair_lowest")
    assert [found[name] for name in fair] == [1.0, 1.0, 1.0]


def test_each_modality_has_its_own_ideal():
    """As EWC from birds to sounds in Kemker et al. 2018, tables S8 and 2."""
    rows = [row([0.643], {"0": 0.643}), row([0.586, 0.369], {"0": 0.586, "1": 0.369})]
    alone = (row([0.621], {"0": 0.621}), row([0.461], {"1": 0.461}))
    together = row([0.6, 0.4], {"0": 0.6, "1": 0.4})
    found = record(rows, Ideals(alone, (alone[0], together), modalities=True)).metrics()
    assert found["omega_base"] == pytest.approx(0.944, abs=6e-4)
    assert found["omega_new"] == 0.369
    assert found["omega_new_share"] == pytest.approx(0.369 / 0.461)
    assert found["omega_all"] == pytest.approx(0.872, abs=6e-4)
    assert found["omega_all_fair"] == pytest.approx((0.586 / 0.6 + 0.369 / 0.4) / 2)


@pytest.mark.parametrize(
    "rows, alone",
    [
        (INCREMENTAL[:1], {"0": 0.9, "1": 0.7}),  # one session
        (INCREMENTAL, {"0": 0.0, "1": 0.0}),  # an ideal of 0
        ([*INCREMENTAL[:2], row([0.8, 0.2, 0.9], {})], {"0": 0.9, "1": 0.7}),  # no accuracy by class
    ],
)
def test_what_is_undefined_is_nan(rows, alone):
    found = record(rows, Ideals((row([0.5], alone),))).metrics()
    assert math.isnan(found["omega_base"])
    assert math.isnan(found["omega_all"])


def test_what_was_not_measured_in_between_leaves_omega_undefined():
    thin = [row([], {}), row([0.5, 0.75], {"0": 0.5, "1": 0.75})]
    shown = record([replace(thin[0], places=()), thin[1]], Ideals((row([0.9], {"0": 0.9}),)))
    assert math.isnan(shown.metrics()["omega_all"])
    assert shown.metrics()["mean_class_accuracy"] == 0.625
    assert [math.isnan(value) for value in shown.offline()[0]] == [True]


def test_a_class_without_test_samples_is_not_among_the_classes():
    """Class 1 of the first task was learned, and nobody knows how well."""
    rows = [row([1.0], {"0": 1.0}), row([0.5, 0.25], {"0": 0.5, "2": 0.25})]
    found = record(rows).alphas
    assert (found.base, found.all) == ((1.0, 0.5), (1.0, 0.375))
