"""Rows survive JSON; a record reads them with its head."""

from __future__ import annotations

import json
import math

import pytest

from engram import metrics
from engram.core import Cost, Curve, Machine, Row
from engram.record import Record, at_stop, curve_by_step, row_from_json, row_to_json

NARROW = Curve((0, 5), (0.0, 2 / 3))
WIDE = Curve((0, 5), (0.1, 0.9), ((0.1,), (0.9,)), (0.1, 0.9))
BOTH = {"single": Curve((0, 1), (0.0, 0.25)), "multi": Curve((0, 1), (0.5, 0.75))}


def make_row(single, multi, curves=None, **more):
    per_class = {"single": {"0": 1.0}, "multi": {"0": 0.5}}
    validation = {"single": multi, "multi": multi}
    return Row(single, multi, per_class, validation, curves or {}, Cost({"total": 8}, 5, 0.25), "ab", **more)


def make_record(rows, head="single", **more):
    return Record("s", "l", "mlp", {}, "sequential", head, 0, "k", "done", None, tuple(rows), ({},) * len(rows), **more)


@pytest.mark.parametrize("single", [None, (0.1, 1 / 3)])
@pytest.mark.parametrize("curves", [{}, {"multi": NARROW}, {"single": NARROW, "multi": WIDE}])
@pytest.mark.parametrize("places", [None, (), (0, 3)])
@pytest.mark.parametrize(
    "more", [{}, {"machine": Machine("AVX2", "2.13.0", "x86_64")}, {"notes": {"path": [0, 0, 1], "source": None}}]
)
def test_a_row_comes_back_from_json_exactly(single, curves, places, more):
    row = make_row(single, (0.1, 0.7), curves, union={"multi": 1 / 3}, places=places, **more)
    assert row_from_json(json.loads(json.dumps(row_to_json(row)))) == row


def test_the_head_decides_which_accuracy_is_read():
    rows = [make_row((0.5,), (0.6,)), make_row((0.4, 0.3), (0.9, 0.8))]
    assert make_record(rows).accuracy == [[0.5], [0.4, 0.3]]
    assert make_record(rows, "multi").accuracy == [[0.6], [0.9, 0.8]]


def test_a_learner_that_is_told_the_task_has_only_multi_head_accuracy():
    assert make_record([make_row(None, (0.6,))]).accuracy == [[0.6]]


def test_an_empty_record_has_no_cost_and_no_parameters():
    record = make_record([])
    assert (record.bytes, record.flops, record.seconds, record.parameters_sha256) == ({"total": 0}, 0, 0, None)


def test_costs_are_the_last_row_s_and_time_adds_up():
    record = make_record([make_row((1.0,), (1.0,)), make_row((1.0, 1.0), (1.0, 1.0))])
    assert (record.bytes, record.flops, record.seconds) == ({"total": 8}, 5, 0.5)


def test_json_holds_every_number():
    row = make_row((0.5,), (0.6,), {"single": Curve((0,), (0.25,))})
    shown = json.loads(json.dumps(make_record([row], joint=(0.9,), isolated=(0.8,)).to_json()))
    assert shown["accuracy"] == [[0.5]]
    assert shown["curves"] == [{"steps": [0], "accuracy": [0.25]}]
    assert (shown["joint"], shown["isolated"], shown["flops"]) == ([0.9], [0.8], 5)


@pytest.mark.parametrize("head, last, of_class", [("single", 0.25, 1.0), ("multi", 0.75, 0.5)])
def test_the_head_decides_which_curve_and_which_classes_are_read(head, last, of_class):
    union = {"single": 0.3, "multi": 0.6}
    record = make_record([make_row((0.25,), (0.75,), BOTH, union=union)], head)
    assert record.curves == [BOTH[head]]
    assert record.metrics()["lca"] == pytest.approx((last - 0.25 + 5 * last) / 6)
    assert (record.per_class, record.union) == ([{"0": of_class}], union[head])
    shown = record.to_json()
    assert (shown["head"], shown["per_class"]) == (head, [{"0": of_class}])
    assert shown["curves"] == [{"steps": (0, 1), "accuracy": BOTH[head].accuracy}]


def old_row(single=(0.25,)):
    """As a store has it that was written before rows named their readings."""
    return row_from_json(
        {
            "single": single,
            "multi": [0.75],
            "per_class": {"0": 0.25},
            "validation": {"single": [0.5], "multi": [0.5]},
            "curve": {"steps": [0, 1], "accuracy": [0.0, 0.25], "tasks": (), "union": [], "validation": []},
            "cost": {"bytes": {"total": 8}, "flops": 5, "seconds": 0.25},
            "parameters_sha256": "ab",
            "union": 0.25,
        }
    )


def test_an_older_row_keeps_what_it_has_under_its_name():
    record = make_record([old_row()])
    assert record.curves == [Curve((0, 1), (0.0, 0.25))]
    assert (record.per_class, record.union, record.accuracy) == ([{"0": 0.25}], 0.25, [[0.25]])
    assert old_row().validation == {"single": (0.5,), "multi": (0.5,)}


def test_what_an_older_row_has_in_the_other_reading_only_is_not_shown():
    record = make_record([old_row()], "multi")
    assert (record.accuracy, record.curves, record.per_class, record.union) == ([[0.75]], [None], [{}], None)
    assert math.isnan(record.metrics()["lca"])


def test_lca_of_a_curve_that_was_asked_for_no_further_is_unknown():
    """It may have gone on; one that ended before the last step that was asked for had no more."""
    row = make_row((0.5,), (0.6,), {"single": Curve((0, 1, 2), (0.1, 0.2, 0.3))})
    assert math.isnan(make_record([row], moments=(0, 1, 2)).metrics()["lca"])
    assert make_record([row], moments=(0, 1, 2, 3)).metrics()["lca"] == pytest.approx((0.1 + 0.2 + 4 * 0.3) / 6)


def test_an_older_row_of_a_learner_that_is_told_the_task_is_all_multi_head():
    row = old_row(single=None)
    assert (list(row.curves), list(row.per_class), list(row.union)) == (["multi"],) * 3
    assert row.validation == {"multi": (0.5,)}


def test_at_a_stop_each_reading_has_its_own_accuracy_or_none():
    wide = Curve((0, 5), (0.2, 0.3), ((0.1, 0.2), (0.4, 0.3)), (0.15, 0.35))
    both = {"single": wide, "multi": Curve((0, 5), (0.8, 0.9), ((0.7, 0.8), (0.6, 0.9)), (0.75, 0.7))}
    row = at_stop(make_row((0.0, 1.0), (1.0, 1.0), both), 5)
    assert (row.single, row.multi, row.union) == ((0.4, 0.3), (0.6, 0.9), {"single": 0.35, "multi": 0.7})
    older = at_stop(make_row((0.0, 1.0), (1.0, 1.0), {"single": wide}), 0)
    assert older.single == (0.1, 0.2)
    assert [math.isnan(value) for value in older.multi] == [True, True]


def test_what_was_not_measured_is_nan_and_so_is_what_needs_it():
    first, last = make_row((), (), places=()), make_row((0.5, 0.75), (1.0, 1.0))
    record = make_record([first, last])
    assert math.isnan(record.accuracy[0][0])
    assert record.accuracy[1] == [0.5, 0.75]
    found = record.metrics()
    assert found["average_accuracy"] == 0.625
    assert all(math.isnan(found[name]) for name in ("forgetting_rwalk", "forgetting_ctrl", "backward_transfer"))


def test_places_say_which_tasks_were_measured():
    thin = [make_row((0.8,), (0.9,), places=(1,)), make_row((0.1, 0.2), (1.0, 1.0), places=(0, 2))]
    accuracy = make_record([make_row((0.9,), (0.9,)), *thin]).accuracy
    assert [[value == value for value in line] for line in accuracy] == [[True], [False, True], [True, False, True]]
    assert (accuracy[1][1], accuracy[2][0], accuracy[2][2]) == (0.8, 0.1, 0.2)


def test_a_curve_with_a_gap_has_no_area():
    """What lies in the gap is not known; a curve that merely ends goes on as it was."""
    whole, early, gap = Curve((0, 1, 2, 3), (0.1, 0.2, 0.3, 0.4)), Curve((0, 1), (0.1, 0.2)), Curve((0, 3), (0.1, 0.4))
    assert [metrics.lca([curve_by_step(each)], 3) for each in (whole, early)] == pytest.approx([0.25, 0.175])
    assert math.isnan(metrics.lca([curve_by_step(gap)], 3))
    assert metrics.lca([curve_by_step(gap)], 0) == 0.1
