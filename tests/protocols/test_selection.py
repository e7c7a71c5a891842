"""Prescient and realistic selection, on curves small enough to select by hand."""

from __future__ import annotations

import ast
import doctest
import json
import time
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.errors import BadRecord, BadSetting, EngramError
from engram.protocols import Choice, curves, select_prescient, select_realistic, selection
from engram.protocols.curves import Peeked, read_runs
from engram.protocols.selection import AT_STOP, Judge, highest, stopping, stopping_moment


def run(topology="a", first_rate=0.01, second_rate=0.001, d1=(0.9,), d2=(0.5, 0.945, 0.95), union=(0.9, 0.7, 0.4), **k):
    return {
        "topology": topology,
        "first_rate": first_rate,
        "second_rate": second_rate,
        "d1": list(d1),
        "d2": list(d2),
        "union": list(union),
        **k,
    }


def test_one_run_by_hand():
    assert select_realistic([run()]) == Choice(0.7, run=0, stop=1)
    assert select_realistic([run()], stop_fraction=0.999) == Choice(0.4, run=0, stop=2)
    assert select_prescient([run()]) == Choice(0.9, run=0, stop=0)
    assert doctest.testmod(selection).failed == 0


def test_d1_decides_topology_and_first_rate_and_the_union_among_second_rates():
    runs = [
        run("a", 0.01, 0.001, d1=[0.9, 0.8], union=[1, 1, 1]),
        run("b", 0.01, 0.001, d1=[0.1, 0.95, 0.2], union=[0.3, 0.5, 0.2]),
        run("b", 0.01, 0.0001, d1=[0.1, 0.95, 0.2], union=[0.3, 0.6, 0.2]),
        run("b", 0.001, 0.0001, d1=[0.94], union=[0.9, 0.9, 0.9]),
    ]
    assert select_realistic(runs) == Choice(0.6, run=2, stop=1)
    assert select_prescient(runs) == Choice(1.0, run=0, stop=0)


def test_strict_chooses_the_second_rate_by_d2_alone():
    runs = [
        run(second_rate=0.001, d2=[0.5, 0.6], union=[0.9, 0.8]),
        run(second_rate=0.0001, d2=[0.5, 0.7], union=[0.4, 0.3]),
    ]
    assert select_realistic(runs) == Choice(0.8, run=0, stop=1)
    assert select_realistic(runs, strict=True) == Choice(0.3, run=1, stop=1)


def test_strict_chooses_by_validation_data_where_there_are_some():
    def runs(shuffle):
        """`shuffle` changes everything that was measured on test data."""
        some = [
            run("a", d1=[0.9], d1_validation=[0.5], d2_validation=[0.1, 0.2, 0.3]),
            run("b", second_rate=0.1, d1=[0.2], d1_validation=[0.6], d2_validation=[0.1, 0.2, 0.3]),
            run("b", second_rate=0.2, d1=[0.2], d1_validation=[0.6], d2_validation=[0.1, 0.4, 0.3]),
        ]
        return [{**r, **{name: r[name][::-1] if shuffle else r[name] for name in ("d2", "union")}} for r in some]

    choices = [select_realistic(runs(shuffle), strict=True) for shuffle in (False, True)]
    assert [(choice.run, choice.stop) for choice in choices] == [(2, 1), (2, 1)]
    assert select_realistic(runs(False)).run == 0


def test_ties_go_to_the_earliest_run_and_are_reported():
    same = [run("a"), run("b"), run("c", union=[0.9, 0.1, 0.1])]
    assert select_prescient(same) == Choice(0.9, run=0, stop=0, ties=(1, 2))
    second = [run(second_rate=rate, union=[0, value, 0]) for rate, value in ((1, 0.2), (2, 0.7), (3, 0.7), (4, 0.7))]
    assert select_realistic(second) == Choice(0.7, run=1, stop=1, ties=(2, 3))
    on_d1 = [run("low", d1=[0.1]), run("b", union=[0, 0.2, 0]), run("a"), run("b", 0.1)]
    assert select_realistic(on_d1) == Choice(0.2, run=1, stop=1, ties=(2, 3))


def test_equal_topologies_are_equal_as_lists_and_tuples():
    runs = [run([400, 400], union=[0, 0.1, 0]), run((400, 400), second_rate=0.5, union=[0, 0.3, 0])]
    assert select_realistic(runs).run == 1
    assert select_realistic(json.loads(json.dumps(runs))).run == 1


@pytest.mark.parametrize(
    "d2, fraction, moment",
    [
        ([0.5, 0.945, 0.95], 0.99, 1),
        ([0.5, 0.945, 0.95], 0.999, 2),
        ([0.5, 1.0], 0.5, 1),  # exactly half of the highest is not above it
        ([0.1, 0.8, 0.8, 0.2], 1.0, 1),
        ([0.0, 0.0], 0.99, 0),
        ([1.0, 0.2], 0.99, 0),
        ([0.3], 1, 0),
    ],
)
def test_where_retraining_stops(d2, fraction, moment):
    assert stopping_moment(np.array(d2), fraction) == moment
    assert select_realistic([run(d2=d2, union=[0.5] * len(d2))], fraction).stop == moment


def test_a_choice_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        select_prescient([run()]).value = 1.0


ACCURACY = st.integers(0, 20).map(lambda n: n / 20)  # coarse, so that there are ties


@st.composite
def grids(draw):
    length = draw(st.integers(1, 5))
    curve = st.lists(ACCURACY, min_size=length, max_size=length)
    one = st.builds(
        run, st.sampled_from("abc"), st.sampled_from([0.1, 0.01]), st.sampled_from([1, 2, 3]), curve, curve, curve
    )
    return draw(st.lists(one, min_size=1, max_size=8))


@settings(max_examples=60, deadline=None)
@given(grids(), st.floats(0.01, 1), st.booleans())
def test_prescient_is_never_below_realistic(runs, fraction, strict):
    prescient, realistic = select_prescient(runs), select_realistic(runs, fraction, strict=strict)
    assert prescient.value >= realistic.value == runs[realistic.run]["union"][realistic.stop]
    assert prescient.run not in prescient.ties
    assert all(max(runs[tie]["union"]) == prescient.value and tie > prescient.run for tie in prescient.ties)


@settings(max_examples=60, deadline=None)
@given(grids(), st.data())
def test_the_union_of_unselected_topologies_changes_nothing(runs, data):
    chosen = select_realistic(runs)
    kept = (runs[chosen.run]["topology"], runs[chosen.run]["first_rate"])
    changed = [
        r if (r["topology"], r["first_rate"]) == kept else {**r, "union": [data.draw(ACCURACY) for _ in r["union"]]}
        for r in runs
    ]
    assert select_realistic(changed) == chosen


@settings(max_examples=60, deadline=None)
@given(grids(), st.data())
def test_the_union_changes_no_strict_choice(runs, data):
    changed = [{**r, "union": [data.draw(ACCURACY) for _ in r["union"]]} for r in runs]
    before, after = (select_realistic(some, strict=True) for some in (runs, changed))
    assert (before.run, before.stop, before.ties) == (after.run, after.stop, after.ties)


WAYS_TO_CHEAT = [
    lambda view: view["union"],
    lambda view: view.get("union"),
    lambda view: view.union,
    lambda view: view["topology"],
    lambda view: view.__dict__,
    lambda view: view.curves,
]


@pytest.mark.parametrize("step", [highest("d1"), highest("d2"), stopping("d2", 0.99), AT_STOP])
@pytest.mark.parametrize("cheat", WAYS_TO_CHEAT)
def test_a_step_cannot_reach_what_it_did_not_declare(step, cheat):
    (recorded,) = read_runs([run()])
    with pytest.raises((Peeked, AttributeError)):
        Judge(step.sees, cheat).look(recorded, at_stop=0.5)


@pytest.mark.parametrize("curve", ["d1", "d2"])
def test_the_memory_behind_a_curve_is_its_own_and_cannot_be_written(curve):
    given = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0.8, 0.9]])
    (recorded,) = read_runs([{**run(), "d1": given[0], "d2": given[1], "union": given[2]}])
    view = recorded.view({curve})
    assert list(view) == [curve]
    assert "union" not in view
    assert len(view[curve].base) == view[curve].nbytes
    with pytest.raises(ValueError, match="read-only"):
        view[curve][0] = 1.0
    with pytest.raises(ValueError, match="WRITEABLE"):
        view[curve].setflags(write=True)


def test_the_steps_of_the_realistic_selection_do_not_declare_the_union_curve(monkeypatch):
    seen = []
    monkeypatch.setattr(curves.Recorded, "view", _listening(seen, curves.Recorded.view))
    select_realistic([run(), run(second_rate=0.5)])
    assert set().union(*seen) == {"d1", "d2", "at_stop"}
    seen.clear()
    select_prescient([run()])
    assert set().union(*seen) == {"union"}


def _listening(seen, view):
    def listen(self, sees, **more):
        seen.append(set(sees))
        return view(self, sees, **more)

    return listen


NAN = float("nan")


@pytest.mark.parametrize("select", [select_prescient, select_realistic])
@pytest.mark.parametrize(
    "runs, message",
    [
        ([], "there are 0 runs to choose from; give at least one"),
        ("abc", "runs is a str"),
        (None, "runs is a NoneType"),
        (run(), "runs is a dict"),
        ([run(), 3], "run 1 is a int"),
        ([run(), {"topology": 1}], "run 1 has no 'first_rate'; every run needs topology, first_rate, second_rate, d1"),
        ([run(), run(union=[0.1, 0.2])], "run 1: union has 2 moments and d2 has 3"),
        ([run(d1=[0.1, NAN])], "run 0: d1 is nan at moment 1; accuracies lie between 0 and 1"),
        ([run(), run(), run(d2=[0.1, 0.2, 95.0])], "run 2: d2 is 95 at moment 2;"),
        ([run(union=[-0.1, 0, 0])], "run 0: union is -0.1 at moment 0;"),
        ([run(d2=[0, float("inf"), 0])], "run 0: d2 is inf at moment 1;"),
        ([run(d1=[])], "run 0: d1 has the shape (0,)"),
        ([run(d1=[[0.1]])], "run 0: d1 has the shape (1, 1)"),
        ([{**run(), "d1": 0.5}], "run 0: d1 has the shape ()"),
        ([{**run(), "d1": "high"}], "run 0: d1 is no list of numbers ('high')"),
        ([run(d1=[0.1, [0.2]])], "run 0: d1 is no list of numbers"),
        ([run(first_rate="fast")], "run 0: first_rate='fast' is no rate"),
        ([run(second_rate=NAN)], "run 0: second_rate=nan is no rate"),
        ([run(topology={"layers": 2})], "run 0: topology={'layers': 2} cannot be compared"),
    ],
)
def test_bad_runs_are_named_in_one_sentence(select, runs, message):
    with pytest.raises(BadRecord) as caught:
        select(runs)
    assert message in str(caught.value)
    assert isinstance(caught.value, EngramError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("fraction", [0, -0.1, 1.01, NAN, float("inf"), "0.99", None, True])
def test_an_impossible_stop_fraction(fraction):
    with pytest.raises(BadSetting, match=f"stop_fraction={fraction!r} is out of range; give a number above 0"):
        select_realistic([run()], fraction)


def test_validation_curves_are_for_all_runs_or_none():
    runs = [run(d2_validation=[0.1, 0.2, 0.3]), run()]
    with pytest.raises(BadRecord, match="run 1 has no 'd2_validation', but other runs have"):
        select_realistic(runs, strict=True)
    with pytest.raises(BadRecord, match="run 0: d2_validation has 1 moments and d2 has 3"):
        select_realistic([run(d2_validation=[0.1])], strict=True)
    assert select_realistic(runs).ties == (1,)


def test_ten_thousand_runs_take_less_than_two_seconds():
    numbers = np.random.default_rng(0).random((10_000, 3, 100)).tolist()
    runs = [run(f"{i // 3}", 0.01, i % 3 + 1, *three) for i, three in enumerate(numbers)]
    for select in (select_prescient, select_realistic):
        start = time.process_time()
        select(runs)
        assert time.process_time() - start < 2


@pytest.mark.parametrize("module", [selection, curves])
def test_selection_is_pure(module):
    tree = ast.parse(Path(module.__file__).read_text())
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name for name in imported if name.startswith("engram")} <= {"engram.errors", "engram.protocols.curves"}
