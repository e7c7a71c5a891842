"""What cannot be asked of the two-task protocols is refused before any work, in one sentence that names it."""

from __future__ import annotations

import pytest

from engram.errors import BadSetting, EngramError, UnknownName
from engram.request import prepare

NAN = float("nan")
SETTINGS = [
    ({"stop_fraction": 0}, "stop_fraction=0.0 is out of range; it must be above 0"),
    ({"stop_fraction": 1.5}, "stop_fraction=1.5 is out of range; it must be at most 1"),
    ({"stop_fraction": NAN}, "stop_fraction=nan is not a number; for example stop_fraction=0.99"),
    ({"stop_fraction": [0.9, 0.99]}, "stop_fraction=0.9,0.99 is not one value, which is a number"),
    ({"second_rate": 0}, "second_rate=0.0 is out of range; it must be above 0"),
    ({"second_rate": []}, "second_rate has no values to choose from; give at least one"),
    ({"second_rate": [0.1, -0.1]}, "second_rate=-0.1 is out of range; it must be above 0"),
    ({"second_rate": [0.1, NAN]}, "second_rate=nan is not a number; for example second_rate=0.001"),
    ({"every": 0}, "every=0 is out of range; it must be at least 1"),
    ({"every": 2.5}, "every=2.5 is not a whole number"),
    ({"start": "middle"}, "start='middle' is not possible; choose one of: last, best"),
    ({"strict": "perhaps"}, "strict='perhaps' is not true or false"),
    ({"strict": True, "validation": 0}, "'realistic' selects by validation data; validation must be above 0"),
    ({"rate": []}, "rate has no values to choose from; give at least one"),
    ({"widths": []}, "widths has no values to choose from; give at least one"),
    ({"widths": ["12", "0"]}, "widths=0 is out of range; it must be at least 1"),
    ({"iterations": -1}, "iterations=-1 is out of range; it must be at least 0"),
    ({"second_rates": 0.1}, "called 'second_rates'; did you mean 'second_rate'?"),
    ({"stop_fractoin": 0.9}, "called 'stop_fractoin'; did you mean 'stop_fraction'?"),
    ({"strct": True}, "called 'strct'; did you mean 'strict'?"),
    ({"evry": 10}, "called 'evry'; did you mean 'every'?"),
]


def refusal(stream="d5-5a-digits", learner="finetune", protocol="realistic", **settings):
    with pytest.raises((BadSetting, UnknownName)) as caught:
        prepare(stream, learner, protocol=protocol, settings=settings)
    assert isinstance(caught.value, EngramError)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("settings, message", SETTINGS, ids=[str(settings) for settings, _ in SETTINGS])
def test_a_setting_that_cannot_be(settings, message):
    assert message in refusal(**settings)


@pytest.mark.parametrize("name", ["realistic", "prescient"])
def test_a_stream_of_other_than_two_tasks(name):
    words = f"the protocol '{name}' is for streams of two tasks, this one has 5; choose a stream such as d5-5a"
    assert words in refusal("split-digits", protocol=name)


@pytest.mark.parametrize("name", ["realistic", "prescient"])
def test_a_learner_without_rates_is_retrained_once(name):
    assert prepare("d5-5a-digits", "ridge", protocol=name).size() == 1 + 1
    assert prepare("d5-5a-digits", "ridge", protocol=name, settings={"strength": [0.1, 1.0]}).size() in (2 + 1, 2 + 2)
    assert refusal(learner="ridge", protocol=name, start="best") == (
        "start=best goes back to an earlier step of the first task, which learner 'ridge' cannot; choose start=last"
    )


@pytest.mark.parametrize("name", ["sequential", "task-level", "stream-level"])
def test_several_networks_under_a_protocol_that_takes_one(name):
    message = refusal(protocol=name, widths=["10", "12"])
    assert f"the protocol '{name}' takes one network, and widths has several values; choose one of them" in message
    assert "realistic" in message


@pytest.mark.parametrize("name", ["sequential", "task-level", "stream-level"])
@pytest.mark.parametrize("setting", ["second_rate", "every", "start", "stop_fraction", "strict"])
def test_settings_of_these_protocols_under_another(name, setting):
    assert f"there is no setting of learner 'finetune', its network, its stream or its protocol called '{setting}'" in (
        refusal(protocol=name, **{setting: 1})
    )


@pytest.mark.parametrize("setting", ["stop_fraction", "strict"])
def test_prescient_neither_stops_nor_is_strict(setting):
    assert f"called '{setting}'" in refusal(protocol="prescient", **{setting: 1})


@pytest.mark.parametrize("name, settings", [("prescient", {}), ("realistic", {}), ("prescient", {"start": "best"})])
def test_who_chooses_by_test_data_needs_no_validation_data(name, settings):
    assert prepare("d5-5a-digits", "finetune", protocol=name, settings={"validation": 0, **settings}).validation == 0


def test_two_tasks_of_another_kind_will_do():
    for name in ("pair-digits", "dp10-10-digits", "d9-1c-digits"):
        assert prepare(name, "finetune", protocol="realistic").size() == 1 + 3
    assert prepare("split-digits", "ewc", tasks=2, protocol="prescient").size() == 1 + 3


def test_numbers_may_be_text_and_defaults_may_be_said():
    plain = prepare("d5-5a-digits", "finetune", protocol="realistic")
    said = {"stop_fraction": "0.99", "second_rate": ["1e-3", "1e-4", 1e-5], "every": "50", "strict": "no"}
    assert prepare("d5-5a-digits", "finetune", protocol="realistic", settings=said).key == plain.key
    assert plain.options == {}


@pytest.mark.parametrize(
    "change", [{"stop_fraction": 0.999}, {"second_rate": 1e-3}, {"every": 10}, {"start": "best"}, {"strict": True}]
)
def test_every_setting_is_in_the_key_of_a_run(change):
    plain, other = (
        prepare("d5-5a-digits", "finetune", protocol="realistic", settings=settings) for settings in ({}, change)
    )
    assert plain.key != other.key
