"""What several methods are asked for: which rows there are, who gets which setting, and what is refused."""

from __future__ import annotations

import pytest

from engram.errors import BadSetting, UnknownName
from engram.learners.finetune import Finetune
from engram.study import Study


def study(learners=("ewc", "si"), streams=("split-digits",), seeds=(0,), **more):
    settings = {"widths": "12", **more.pop("settings", {})}
    return Study(list(streams), list(learners), list(seeds), settings=settings, **more)


def labels(asked):
    return [row.label for row in asked.rows]


def values(asked, name):
    return {row.label: [settings.get(name) for settings in row.runs[0].grid] for row in asked.rows}


def test_one_row_a_learner_with_a_run_a_seed():
    asked = study(seeds=(0, 3))
    assert labels(asked) == ["ewc", "si"]
    assert [(run.learner, run.seed) for run in asked.runs] == [("ewc", 0), ("ewc", 3), ("si", 0), ("si", 3)]


def test_a_setting_of_one_learner_reaches_no_other():
    asked = study(own={"ewc": {"strength": 7}}, settings={"rate": 0.5})
    assert values(asked, "strength")["ewc"] == [7.0] != values(asked, "strength")["si"]
    assert values(asked, "rate") == {"ewc": [0.5], "si": [0.5]}


def test_what_a_learner_has_of_its_own_goes_before_what_all_have():
    asked = study(own={"ewc": {"rate": 0.25}}, settings={"rate": 0.5})
    assert values(asked, "rate") == {"ewc": [0.25], "si": [0.5]}


def test_several_values_are_rows_where_the_protocol_does_not_select():
    asked = study(own={"ewc": {"strength": ["10", "100"], "rate": [0.1, 0.01]}})
    assert labels(asked) == [
        "ewc strength=10 rate=0.1",
        "ewc strength=10 rate=0.01",
        "ewc strength=100 rate=0.1",
        "ewc strength=100 rate=0.01",
        "si",
    ]
    assert labels(study(settings={"widths": ["12", "8-8"]})) == [
        "ewc widths=12",
        "ewc widths=8-8",
        "si widths=12",
        "si widths=8-8",
    ]


def test_several_values_stay_a_grid_where_it_does():
    asked = study(own={"ewc": {"strength": [10, 100]}}, asked={"protocol": "task-level"})
    assert labels(asked) == ["ewc", "si"]
    assert values(asked, "strength")["ewc"] == [10.0, 100.0]


def test_a_setting_goes_to_those_who_know_it_and_the_others_are_named():
    asked = study(["ewc", "ridge", "slda"], settings={"epochs": 3})
    assert values(asked, "epochs") == {"ewc": [3], "ridge": [None], "slda": [None]}
    assert asked.notes == ["epochs is no setting of ridge and slda, which go without it"]
    assert study(["ewc", "ridge"], settings={"normalised": True}).notes == []  # the stream's: all have it


def test_several_streams_have_rows_of_their_own():
    asked = study(streams=("split-digits", "permuted-digits"), asked={"tasks": 2})
    assert [row.runs[0].stream.name for row in asked.rows] == ["split-digits@1"] * 2 + ["permuted-digits@1"] * 2


def test_two_streams_of_one_name_are_refused():
    with pytest.raises(BadSetting, match="'split-digits' and 'split-digits@1' are both 'split-digits@1'; name each"):
        _ = study(streams=("split-digits", "split-digits@1")).rows


def test_classes_are_learners_too():
    class Mine(Finetune):
        name = "mine"

    assert labels(study([Mine, "si"], own={"mine": {"rate": [0.1, 0.2]}})) == ["mine rate=0.1", "mine rate=0.2", "si"]


@pytest.mark.parametrize(
    "changes, sentence",
    [
        ({"learners": []}, "there is no learner to compare; name at least one"),
        ({"streams": []}, "there is no stream to compare; name at least one"),
        ({"learners": ["ewc", "ewc"]}, "the learner 'ewc' is named twice; name each learner once"),
        ({"learners": ["pi", "si"]}, "the learner 'si' is named twice"),
        ({"streams": ["split-digits"] * 2}, "the stream 'split-digits' is named twice"),
        ({"seeds": [0, 0]}, r"seeds=\[0, 0\] has the seed 0 twice"),
        ({"seeds": []}, r"seeds=\[\] is not a list of whole numbers"),
        ({"seeds": [True]}, r"seeds=\[True\] is not a list of whole numbers"),
        ({"own": {"ewc": {"normalised": True}}}, "ewc.normalised is a setting of the stream, which all learners share"),
        ({"by": "intransigence"}, "intransigence is not measured unless it is asked for; add --references"),
        ({"by": "omega_all"}, "add --offline or --references"),
        ({"by": "lca"}, "add --curve"),
    ],
)
def test_what_cannot_be_compared_is_refused(changes, sentence):
    with pytest.raises(BadSetting, match=sentence):
        study(**changes)


@pytest.mark.parametrize(
    "changes, sentence",
    [
        ({"learners": ["ewc", "ewcc"]}, "there is no learner 'ewcc'; did you mean 'ewc'"),
        ({"settings": {"strenght": 1}}, "called 'strenght'; did you mean 'strength'"),
        ({"own": {"rwalk": {"strength": 1}}}, "no learner in this comparison called 'rwalk'"),
        ({"by": "acuracy"}, "there is no metric 'acuracy'; did you mean"),
        ({"asked": {"hed": "multi"}}, "no part of a study called 'hed'; did you mean 'head'"),
    ],
)
def test_names_that_are_not_known_are_refused_with_a_guess(changes, sentence):
    with pytest.raises(UnknownName, match=sentence):
        study(**changes)


@pytest.mark.parametrize(
    "changes, sentence",
    [
        ({"own": {"ewc": {"strength": ["10", "10.0"]}}}, "are the same runs; give each value once"),
        ({"own": {"ewc": {"strength": []}}}, "strength has no values to choose from"),
        ({"own": {"ewc": {"strength": "x"}}}, "strength='x' is not a number"),
        ({"learners": ["ewc", "new-head"]}, "'new-head' has to be told the task, and 'ewc' would not be.*--head multi"),
    ],
)
def test_rows_that_cannot_be_are_refused_before_any_work(changes, sentence):
    with pytest.raises(BadSetting, match=sentence):
        _ = study(**changes).rows
    assert labels(study(["ewc", "new-head"], asked={"head": "multi"})) == ["ewc", "new-head"]
