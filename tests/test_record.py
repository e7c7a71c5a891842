"""Rows survive JSON; a record reads them with its head."""

from __future__ import annotations

import json

import pytest

from engram.core import Cost, Curve, Row
from engram.record import Record, curve_by_step, row_from_json, row_to_json


def make_row(single, multi, curve=None):
    return Row(single, multi, {"0": 1.0}, {"single": multi, "multi": multi}, curve, Cost({"total": 8}, 5, 0.25), "ab")


def make_record(rows, head="single", **more):
    return Record("s", "l", "mlp", {}, "sequential", head, 0, "k", "done", None, tuple(rows), ({},) * len(rows), **more)


@pytest.mark.parametrize("single", [None, (0.1, 1 / 3)])
@pytest.mark.parametrize("curve", [None, Curve((0, 5), (0.0, 2 / 3))])
def test_a_row_comes_back_from_json_exactly(single, curve):
    row = make_row(single, (0.1, 0.7), curve)
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
    shown = make_record([make_row((0.5,), (0.6,), Curve((0,), (0.25,)))], joint=(0.9,), isolated=(0.8,)).to_json()
    shown = json.loads(json.dumps(shown))
    assert shown["accuracy"] == [[0.5]]
    assert shown["curves"] == [{"steps": [0], "accuracy": [0.25]}]
    assert (shown["joint"], shown["isolated"], shown["flops"]) == ([0.9], [0.8], 5)


def test_a_curve_is_read_up_to_its_first_gap():
    assert curve_by_step(Curve((0, 1, 3), (0.1, 0.2, 0.9))) == [0.1, 0.2]
    assert curve_by_step(Curve((1, 2), (0.1, 0.2))) == []
