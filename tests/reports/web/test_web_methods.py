from __future__ import annotations

import math

import pytest
from scipy import stats
from web_records import SPEC, run

from engram.reports.web.methods import mean_interval, topics


def test_intervals_are_those_of_students_t():
    values = [0.71, 0.78, 0.74, 0.80]
    found = mean_interval(values)
    low, high = stats.t.interval(0.95, 3, loc=sum(values) / 4, scale=stats.sem(values))
    assert (found.low, found.high) == pytest.approx((low, high))


def test_one_value_has_no_interval_and_none_has_no_mean():
    assert mean_interval([0.5]).mean == 0.5
    assert math.isnan(mean_interval([0.5]).half)
    assert math.isnan(mean_interval([math.nan]).mean)


def test_the_best_comes_first_and_what_failed_last():
    found = topics([run("a", 0, 0.3, 1), run("b", 0, 0.1, 1), run("c", 0, 0.0, 1, status="failed", rows=())])
    assert [method.label for method in found[0].methods] == ["b", "a", "c"]


def test_methods_of_one_learner_are_told_apart_by_what_differs():
    rates = [run("ewc", 0, 0.1, 1, settings={"rate": rate, "batch": 8}) for rate in (0.1, 0.2)]
    assert [method.label for method in topics(rates)[0].methods] == ["ewc rate=0.1", "ewc rate=0.2"]
    heads = [run("ewc", 0, 0.1, 1, head=head) for head in ("single", "multi")]
    assert {method.label for method in topics(heads)[0].methods} == {"ewc head=single", "ewc head=multi"}


def test_seeds_are_one_method_and_streams_are_topics_of_their_own():
    runs = [run("ewc", seed, 0.1, 1) for seed in (0, 1)]
    longer = run("ewc", 0, 0.1, 1, stream_spec={**SPEC, "tasks": 5})
    found = topics([*runs, longer])
    assert [topic.name for topic in found] == ["sessions tasks=3", "sessions tasks=5"]
    assert [len(topic.methods[0].records) for topic in found] == [2, 1]


def test_a_method_has_one_mark_on_the_whole_page():
    other = run("ewc", 0, 0.1, 1, stream="other", stream_spec={**SPEC, "name": "other"})
    first, second = topics([run("ridge", 0, 0.1, 1), run("ewc", 0, 0.2, 1), other])
    assert {m.label: m.mark for m in first.methods} == {"ridge": 0, "ewc": 1}
    assert second.methods[0].mark == 1


def test_shortfall_says_what_is_missing():
    runs = [run("a", 0, 0.1, 1), run("a", 1, 0.1, 1, status="failed", rows=()), run("a", 2, 0.1, 1, status="pending")]
    assert topics(runs)[0].methods[0].shortfall == "1 of 3 failed, 1 of 3 not finished"
