"""Comparisons elsewhere: the differences that the table on the screen shows."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from made_up_records import made_up
from strict_latex import read

from engram.exports.compared import compared_latex, compared_rows
from engram.reports.comparison import ComparedRow, Comparison

HIGH, LOW = (0.9, 0.92, 0.94, 0.96), (0.80, 0.83, 0.835, 0.87)


def row(label, values, **changes):
    records = [
        made_up((value, value), learner=label, seed=seed, key=label, **changes) for seed, value in enumerate(values)
    ]
    return ComparedRow(label, tuple(records), label == "joint")


@pytest.fixture
def comparison():
    return Comparison((row("ewc_1", LOW), row("ridge", HIGH), row("joint", HIGH), row("si", LOW, warning="it looked")))


def test_latex_has_the_best_in_bold_and_the_others_against_it(comparison):
    header, *rows = read(compared_latex([comparison], ["average_accuracy"]))
    assert header == ["method", "accuracy", "best minus it", "p"]
    assert [each[0] for each in rows[:4]] == [r"ewc\_1", r"\textbf{ridge}", "joint (floor)", "si{*}"]
    difference = next(each for each in comparison.differences if each.second == "ewc_1")
    assert rows[0][2] == f"${difference.mean:+.3f}$ $[{difference.low:+.3f}, {difference.high:+.3f}]$"
    assert rows[0][3] == (f"${difference.corrected:.3f}$" if difference.corrected >= 0.001 else "$<0.001$")
    assert rows[1][2:] == ["", ""]
    assert any("it looked" in each[0] for each in rows[4:])


def test_the_metric_of_the_differences_is_the_first_column(comparison):
    other = replace(comparison, by="union_accuracy")
    header = read(compared_latex([other], ["average_accuracy", "bytes"]))[0]
    assert header[:3] == ["method", "union accuracy", "accuracy"]
    assert header[-2] == "best minus it (union accuracy)"


def test_rows_have_means_and_differences(comparison):
    rows = {each["row"]: each for each in compared_rows([comparison], ["average_accuracy"])}
    assert math.isclose(rows["ridge"]["average_accuracy_mean"], 0.93)
    assert rows["ridge"]["verdict"] is None
    assert math.isclose(rows["ewc_1"]["average_accuracy_of_best_minus_this"], 0.09625)
    assert (rows["joint"]["kind"], rows["si"]["chosen_by_test_data"]) == ("floor", True)


def test_too_few_seeds_are_said_and_no_probability_is_made_up():
    few = Comparison((row("ewc", LOW[:2]), row("ridge", HIGH[:2])))
    rows = read(compared_latex([few], ["average_accuracy"]))
    assert rows[1][2:] == ["$+0.095$", few.differences[0].verdict]
    assert compared_rows([few])[0]["p_corrected"] is None
