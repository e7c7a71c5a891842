"""The policies choose what the selections of recorded curves choose, in any world; and I19, I20 hold for them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up import EVERY, World, key_of

from engram.protocols import protocol, select_prescient, select_realistic, selection
from engram.protocols.selection import Judge

ACCURACY = st.integers(0, 12).map(lambda n: n / 12)  # coarse, so that there are ties
FRACTION = st.sampled_from([0.3, 0.9, 0.99, 0.999, 1.0])
EXAMPLES = settings(max_examples=50, deadline=None)


@st.composite
def worlds(draw):
    """Networks, rates and curves of any kind, the first and the second task of different lengths."""
    networks = tuple(range(5, 5 + draw(st.integers(1, 3))))
    first_rates = draw(st.sampled_from([(0.1,), (0.1, 0.01)]))
    second_rates = draw(st.sampled_from([(0.03,), (0.03, 0.02, 0.01)]))
    world = World(networks, first_rates, second_rates)
    lengths = draw(st.integers(2, 4)), draw(st.integers(1, 4))
    for network in networks:
        for first in first_rates:
            world.first[network, first] = curves(draw, ("d1", "d1_validation"), lengths[0])
            for second in second_rates:
                world.second[network, first, second] = curves(draw, ("d2", "d2_validation", "union"), lengths[1])
    return world


def curves(draw, names, length):
    return {name: draw(st.lists(ACCURACY, min_size=length, max_size=length)) for name in names}


def choose(world, name, **options):
    """What a policy chose, in the words of a selection: value, run, moment; and how many were as good."""
    kept = world.drive(protocol(name, second_rate=world.second_rates, **options))
    key, stop = key_of(kept.path[1]), kept.stop // EVERY
    return world.second[key]["union"][stop], list(world.second).index(key), stop, kept.ties


def judges_by(judge):
    """A step that sees the same curve as the one that it takes the place of, and makes something else of it."""
    return lambda curve, *more: Judge(frozenset({curve}), lambda seen: judge(seen[curve]))


@pytest.mark.parametrize(
    "name, step, other, choice",
    [
        ("prescient", "highest", judges_by(min), (0.6, 1, 1)),
        ("prescient", "first_highest", judges_by(lambda curve: 2), (0.1, 0, 2)),
        ("realistic", "stopping", judges_by(lambda curve: 0), (0.9, 0, 0)),
        ("realistic", "AT_STOP", Judge(frozenset({"at_stop"}), lambda seen: -seen["at_stop"]), (0.2, 0, 1)),
    ],
)
def test_a_policy_and_its_selection_take_the_same_steps(monkeypatch, name, step, other, choice):
    """Another step in the place of one changes both alike: there is no second copy of it."""
    world = World((5,), (0.1,), (0.03, 0.02))
    world.first[5, 0.1] = {"d1": [0.5, 0.6]}
    world.second[5, 0.1, 0.03] = {"d2": [0.1, 0.9, 0.9], "union": [0.9, 0.2, 0.1]}
    world.second[5, 0.1, 0.02] = {"d2": [0.1, 0.9, 0.9], "union": [0.5, 0.6, 0.5]}
    select = {"prescient": select_prescient, "realistic": select_realistic}[name]
    before = select(world.runs())
    monkeypatch.setattr(selection, step, other)
    chosen = select(world.runs())
    assert choose(world, name)[:3] == (chosen.value, chosen.run, chosen.stop) == choice
    assert chosen != before


@EXAMPLES
@given(worlds())
def test_the_prescient_policy_agrees_with_the_selection(world):
    choice = select_prescient(world.runs())
    assert choose(world, "prescient") == (choice.value, choice.run, choice.stop, len(choice.ties))


@EXAMPLES
@given(worlds(), FRACTION, st.booleans())
def test_the_realistic_policy_agrees_with_the_selection(world, fraction, strict):
    choice = select_realistic(world.runs(), fraction, strict=strict)
    found = choose(world, "realistic", stop_fraction=fraction, strict=strict)
    assert found[:3] == (choice.value, choice.run, choice.stop)
    assert found[3] == ties(world, choice)


def ties(world, choice):
    """Runs of one beginning tie as one where the first task decides: they share it."""
    keys = list(world.second)
    chosen = keys[choice.run][:2]
    beginnings = {keys[tie][:2] for tie in choice.ties} - {chosen}
    return len(beginnings) + sum(keys[tie][:2] == chosen for tie in choice.ties)


@EXAMPLES
@given(worlds(), FRACTION, st.booleans())
def test_prescient_is_never_below_realistic(world, fraction, strict):
    realistic = choose(world, "realistic", stop_fraction=fraction, strict=strict)
    assert choose(world, "prescient")[0] >= realistic[0]


@EXAMPLES
@given(worlds(), st.data())
def test_the_union_of_beginnings_that_were_not_selected_changes_nothing(world, data):
    before = choose(world, "realistic")
    selected = list(world.second)[before[1]][:2]
    changed = {
        key: found if key[:2] == selected else {**found, **curves(data.draw, ("union",), len(found["union"]))}
        for key, found in world.second.items()
    }
    assert choose(replace(world, second=changed), "realistic") == before


@EXAMPLES
@given(worlds(), st.data(), st.sampled_from(["last", "best"]))
def test_no_test_curve_changes_a_strict_choice(world, data, start):
    """Not even where retraining begins."""
    policy = protocol("realistic", second_rate=world.second_rates, strict=True, start=start)
    before = world.drive(policy)
    other = replace(
        world,
        first={k: {**v, **curves(data.draw, ("d1",), len(v["d1"]))} for k, v in world.first.items()},
        second={k: {**v, **curves(data.draw, ("d2", "union"), len(v["d2"]))} for k, v in world.second.items()},
    )
    after = other.drive(policy)
    assert (key_of(after.path[1]), after.stop, after.ties) == (key_of(before.path[1]), before.stop, before.ties)
