from __future__ import annotations

import json
import math

import pytest

from engram.exports.means import mean_rows
from engram.reports.summary import by_method, cost_spreads, done, metric_spreads, plain


def test_mean_and_deviation_over_seeds(record):
    records = [record((0.4, 0.8), seed=0), record((0.6, 1.0), seed=1)]
    found = metric_spreads(records)["average_accuracy"]
    assert found == {"mean": pytest.approx(0.7), "std": pytest.approx(math.sqrt(0.02)), "n": 2}
    assert metric_spreads(records)["forgetting_rwalk"]["mean"] == pytest.approx(0.5)


def test_a_failed_run_counts_nowhere(record, failed):
    records = [record(seed=0), failed(seed=1)]
    assert metric_spreads(records)["average_accuracy"]["n"] == 1
    assert cost_spreads(records)["seconds"]["mean"] == 1.0
    assert done(records) == records[:1]


def test_nothing_finished_means_no_metrics(failed):
    assert metric_spreads([failed()]) == {}


def test_methods_are_told_apart_by_all_but_the_seed(record):
    a, b = record(seed=0), record(seed=1)
    others = [
        record(learner="si"),
        record(head="multi"),
        record(protocol="task-level"),
        record(network="rwalk-cnn"),
        record(settings={"rate": 0.2, "widths": [256, 256]}),
        record(stream="permuted-digits@1"),
        record(beside={"validation": 0.5}),
        record(beside={"learner code": "ab"}),
    ]
    groups = by_method([a, *others, b])
    assert groups[0] == [a, b]
    assert [group[0] for group in groups[1:]] == others


def test_settings_in_another_order_are_the_same_method(record):
    assert len(by_method([record(), record(settings={"widths": [256, 256], "rate": 0.1})])) == 1


def test_a_seed_counts_once_with_all_that_was_measured(record, failed):
    """It is asked for again with a learning curve or references: the nodes are the same."""
    seeds = [record(seed=seed) for seed in (0, 1, 2)]
    again = [record(seed=0, moments=(0, 1)), record(seed=1, joint=(0.9, 0.9)), failed(seed=2)]
    (group,) = by_method([*seeds, *again])
    assert group == [again[0], again[1], seeds[2]]
    (both,) = by_method([*seeds[:1], record(seed=0, joint=(0.9, 0.9)), again[0]])
    assert (both[0].joint, both[0].moments) == ((0.9, 0.9), (0, 1))
    assert metric_spreads(by_method([*seeds, *again])[0])["average_accuracy"]["n"] == 3


def test_a_stream_of_its_own_and_one_that_seeds_share_are_two_rows(record):
    def of(seed, drawn):
        return record(seed=seed, key=f"{seed} {drawn}", stream_spec={"seed": drawn})

    own, shared = [of(seed, seed) for seed in (0, 1, 2)], [of(seed, 1) for seed in (0, 2)]
    groups = by_method([*own, *shared])
    assert [[each.key for each in group] for group in groups] == [["0 0", "1 1", "2 2"], ["1 1", "0 1", "2 1"]]
    assert [{each.beside["stream_seed"] for each in group} for group in groups] == [{"own"}, {"1"}]
    assert [[each.key for each in group] for group in by_method([own[1], *shared])] == [["1 1", "0 1", "2 1"]]
    assert by_method([own[1], *shared])[0][0].beside == {}
    of_seed_0 = [of(seed, 0) for seed in (1, 2)]
    assert [row["settings"] for row in mean_rows([*own, *of_seed_0])] == ["stream_seed=own", "stream_seed=0"]


def test_plain_is_strict_json():
    value = {"a": float("nan"), 1: (float("inf"), 0.5), "deep": [{"b": float("-inf")}]}
    assert plain(value) == {"a": None, "1": [None, 0.5], "deep": [{"b": None}]}
    json.dumps(plain(value), allow_nan=False)
