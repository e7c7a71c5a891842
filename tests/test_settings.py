"""Settings: what a user may write, and what is said when it is wrong."""

from __future__ import annotations

import pytest

from engram.errors import BadSetting, UnknownName
from engram.settings import Setting, apply, declared, resolve, setting


class Base:
    rate = setting(1e-3, "size of a step", above=0)
    epochs = setting(1, "passes", at_least=1)
    heads = setting("growing", "outputs", choices=("growing", "masked"))
    other = 3


class Derived(Base):
    epochs = setting(5, "more passes", at_least=2)
    heads = "masked"
    widths = setting((256, 256), "units", at_least=1)
    quick = setting(False, "less")


@pytest.mark.parametrize(
    "default, given, value",
    [
        (1, "12", 12),
        (1, 3.0, 3),
        (0.5, "1e-4", 1e-4),
        (0.5, 2, 2.0),
        ((1,), "400-300", (400, 300)),
        ((1,), "80", (80,)),
        ((1,), 80, (80,)),
        ((1,), [4, 5], (4, 5)),
        (False, "yes", True),
        (True, "off", False),
        (True, False, False),
        ("adam", "sgd", "sgd"),
    ],
)
def test_parsing(default, given, value):
    parsed = Setting(default, "help").parse("name", given)
    assert parsed == value
    assert type(parsed) is type(default)


@pytest.mark.parametrize(
    "default, given, kind",
    [
        (1, "many", "a whole number; for example name=1"),
        (1, "2.5", "a whole number"),
        (1, 2.5, "a whole number"),
        (1, True, "a whole number"),
        (1, None, "a whole number"),
        (0.5, "fast", "a number; for example name=0.5"),
        (0.5, "nan", "a number"),
        (0.5, True, "a number"),
        ((8, 9), "a-b", "whole numbers; for example name=8-9"),
        (True, "maybe", "true or false"),
        ("adam", 3, "text"),
    ],
)
def test_what_is_of_another_kind_is_refused(default, given, kind):
    with pytest.raises(BadSetting) as error:
        Setting(default, "help").parse("name", given)
    assert f"name={given!r} is not {kind}" in str(error.value)


@pytest.mark.parametrize(
    "limits, good, bad, words",
    [
        ({"at_least": 1}, 1, 0.5, "at least 1"),
        ({"above": 0}, 0.1, 0, "above 0"),
        ({"at_most": 1}, 1, 1.5, "at most 1"),
        ({"below": 1}, 0.9, 1, "below 1"),
    ],
)
def test_ranges(limits, good, bad, words):
    limited = Setting(0.5, "help", **limits)
    assert limited.parse("name", good) == good
    with pytest.raises(BadSetting, match=f"name={float(bad)} is out of range; it must be {words}"):
        limited.parse("name", bad)


@pytest.mark.parametrize("default, given", [(1, "99999999999999999999"), (1, 2**63), ((1,), "5-2147483648")])
def test_every_whole_number_has_an_upper_limit(default, given):
    with pytest.raises(BadSetting, match=r"is out of range; it must be at most 1e\+09"):
        Setting(default, "help", at_least=1).parse("name", given)
    assert Setting(1, "help", at_most=2**63).parse("name", 2**63) == 2**63


def test_every_number_fits_into_float32():
    with pytest.raises(BadSetting, match=r"rate=1e\+300 is out of range; it must be at most 3.4e\+38"):
        Setting(0.5, "help", above=0).parse("rate", 1e300)
    assert Setting(0.5, "help").parse("rate", 1e38) == 1e38


@pytest.mark.parametrize("given", ["inf", "-inf", float("inf"), "1e999"])
def test_infinity_is_not_a_number(given):
    with pytest.raises(BadSetting, match="is not a number"):
        Setting(0.5, "help", above=0).parse("name", given)


def test_every_part_of_a_list_is_checked():
    with pytest.raises(BadSetting, match="widths=0 is out of range"):
        Setting((1,), "help", at_least=1).parse("widths", "256-0")


def test_choices():
    with pytest.raises(BadSetting, match="heads='many' is not possible; choose one of: growing, masked"):
        Setting("growing", "help", choices=("growing", "masked")).parse("heads", "many")


def test_declarations_are_inherited_replaced_and_withdrawn():
    assert list(declared(Base)) == ["rate", "epochs", "heads"]
    assert set(declared(Derived)) == {"rate", "epochs", "widths", "quick"}
    assert declared(Derived)["epochs"].default == 5
    assert declared(Derived)["rate"] is Base.rate


def test_resolving_fills_in_defaults_and_checks():
    values = resolve("learner 'it'", declared(Derived), {"epochs": "7", "widths": "80-80"})
    assert values == {"rate": 1e-3, "epochs": 7, "widths": (80, 80), "quick": False}
    owner = Derived()
    apply(owner, values)
    assert (owner.epochs, owner.rate) == (7, 1e-3)
    with pytest.raises(BadSetting):
        resolve("learner 'it'", declared(Derived), {"epochs": 1})


def test_an_unknown_setting_is_met_with_a_suggestion():
    with pytest.raises(UnknownName, match="no setting of learner 'it' called 'epoch'; did you mean 'epochs'"):
        resolve("learner 'it'", declared(Derived), {"epoch": 1})
    with pytest.raises(UnknownName, match="choose one of: epochs, quick, rate, widths"):
        resolve("learner 'it'", declared(Derived), {"zzz": 1})


RATES = Setting((0.5, 0.25), "help", above=0, several=True)


@pytest.mark.parametrize(
    "given, value",
    [
        (0.1, (0.1,)),
        ("1e-3", (1e-3,)),
        ([0.1, 2], (0.1, 2.0)),
        ((0.1, "0.2"), (0.1, 0.2)),
        (["0.1", "0.1", 0.2, "1e-1"], (0.1, 0.2)),
        ((0.2, 0.1), (0.2, 0.1)),
    ],
)
def test_several_values_each_once_in_their_order(given, value):
    parsed = RATES.parse("rate", given)
    assert parsed == value
    assert all(type(part) is float for part in parsed)
    assert RATES.parse("rate", list(parsed)) == parsed


@pytest.mark.parametrize(
    "given, message",
    [
        ([], "rate has no values to choose from; give at least one"),
        ((), "rate has no values to choose from; give at least one"),
        (0, "rate=0.0 is out of range; it must be above 0"),
        ([0.1, -1], "rate=-1.0 is out of range; it must be above 0"),
        (["0.1", "fast"], "rate='fast' is not a number; for example rate=0.5"),
        ("", "rate='' is not a number; for example rate=0.5"),
        ([0.1, None], "rate=None is not a number; for example rate=0.5"),
        ([[0.1]], "rate=[0.1] is not a number; for example rate=0.5"),
        ([0.1, float("nan")], "rate=nan is not a number; for example rate=0.5"),
    ],
)
def test_every_one_of_several_values_is_checked(given, message):
    with pytest.raises(BadSetting) as error:
        RATES.parse("rate", given)
    assert str(error.value) == message


def test_several_values_among_choices():
    heads = Setting(("growing",), "help", choices=("growing", "masked"), several=True)
    assert heads.parse("heads", ["masked", "growing"]) == ("masked", "growing")
    with pytest.raises(BadSetting, match="heads='many' is not possible"):
        heads.parse("heads", ["masked", "many"])


def test_several_values_are_resolved_as_others_are():
    class Owner:
        rates = RATES

    assert resolve("it", declared(Owner), {}) == {"rates": (0.5, 0.25)}
    assert resolve("it", declared(Owner), {"rates": "0.1"}) == {"rates": (0.1,)}
