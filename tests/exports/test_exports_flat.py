from __future__ import annotations

import math

from made_up_records import made_up, made_up_failure

from engram.exports.flat import columns, flat
from engram.exports.means import mean_rows
from engram.metrics import METRICS


def test_a_run_in_a_row():
    row = flat(made_up(stream_spec={"dataset": "digits", "seed": 3, "options": {"sizes": [2, 2]}}))
    assert (row["learner"], row["seed"], row["status"], row["tasks_learned"]) == ("ewc", 0, "done", 2)
    assert math.isclose(row["average_accuracy"], 0.7)
    assert math.isclose(row["forgetting_rwalk"], 0.5)
    assert (row["bytes"], row["flops"], row["seconds"]) == (1000, 2_000_000, 1.0)
    assert (row["setting_rate"], row["setting_widths"]) == (0.1, "256-256")
    assert (row["stream_dataset"], row["stream_seed"], row["stream_sizes"]) == ("digits", 3, "2-2")
    assert row["intransigence"] is None
    assert set(METRICS) <= row.keys()


def test_a_run_that_failed_has_no_metrics():
    row = flat(made_up_failure())
    assert (row["status"], row["error"], row["average_accuracy"], row["bytes"]) == (
        "failed", "the loss became nan", None, None
    )  # fmt: skip


def test_results_chosen_by_test_data_say_so():
    assert [flat(made_up(warning=warning))["chosen_by_test_data"] for warning in ("", "it looked")] == [False, True]


def test_a_column_is_of_one_kind():
    rows = [{"a": 1, "b": True, "c": 0.1, "d": "x"}, {"a": 0.5, "c": "0.1,0.01", "e": 2**70}]
    assert columns(rows) == {
        "a": [1.0, 0.5], "b": [True, None], "c": ["0.1", "0.1,0.01"], "d": ["x", None], "e": [None, float(2**70)]
    }  # fmt: skip


def test_means_of_methods_count_who_is_not_done():
    records = [made_up((0.4, 0.8)), made_up((0.6, 1.0), seed=1), made_up_failure(seed=2)]
    (row,) = mean_rows(records, ["average_accuracy", "lca"])
    assert (row["n"], row["not_done"], row["lca_mean"]) == (2, 1, None)
    assert math.isclose(row["average_accuracy_mean"], 0.7)
    assert math.isclose(row["average_accuracy_std"], math.sqrt(0.02))
