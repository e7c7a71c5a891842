"""A policy sees what its protocol declares: it gets nothing else, and asking for it is an error."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType

import numpy as np
import pytest
from made_up import COST, World

from engram.core import Curve, Row
from engram.execute import execute
from engram.protocols import PROTOCOLS, outcome_of, protocol, protocol_class
from engram.protocols.curves import Peeked
from engram.protocols.policy import one_look
from engram.request import prepare
from engram.store import Store

WORLD = {"networks": (5,), "first_rates": (0.1,), "second_rates": (0.03,)}
STRICT = {"strict": True}


def cheating(name, look):
    """A protocol that looks at every outcome of retraining in its own way before it goes on."""

    class Cheat(protocol_class(name)):
        def policy(self, *given):
            inner = super().policy(*given)
            wanted = next(inner)
            while True:
                outcomes = yield wanted
                for node, outcome in zip(wanted, outcomes, strict=True):
                    if node.depth == 2:
                        look(outcome)
                try:
                    wanted = inner.send(outcomes)
                except StopIteration as end:
                    return end.value

    return Cheat


NOT_DECLARED = [
    ("prescient", {}, ["d1", "d2", "d1_validation", "d2_validation", "union_at_stop"]),
    ("prescient", {"start": "best"}, ["d2", "d1_validation", "d2_validation", "union_at_stop"]),
    ("realistic", {}, ["union", "d1_validation", "d2_validation"]),
    ("realistic", STRICT, ["d1", "d2", "union", "union_at_stop"]),
    ("task-level", {}, ["d1", "d2", "union", "d1_validation", "d2_validation", "union_at_stop"]),
    ("stream-level", {}, ["d1", "d2", "union", "d1_validation", "d2_validation", "union_at_stop"]),
    ("sequential", {}, ["d1", "d2", "union", "d1_validation", "d2_validation", "union_at_stop"]),
]


@pytest.mark.parametrize("name, settings, hidden", NOT_DECLARED)
def test_a_curve_that_is_not_declared_is_not_there(name, settings, hidden):
    for curve in hidden:
        for look in (lambda o: o.curves[curve], lambda o: o.curves.get(curve)):  # noqa: B023
            with pytest.raises(Peeked, match=f"asked for '{curve}'; declare it in `sees`"):
                World(**WORLD).drive(cheating(name, look)(**settings))
    found = []
    World(**WORLD).drive(cheating(name, lambda o: found.extend(o.curves))(**settings))
    assert set(found).isdisjoint(hidden)


@pytest.mark.parametrize(
    "look",
    [
        lambda o: (o.curves["union_at_stop"](0), o.curves["union_at_stop"](1)),
        lambda o: [o.curves["union_at_stop"](moment) for moment in range(len(o.steps))],
        lambda o: (o.curves["union_at_stop"](0), o.curves["union_at_stop"](-1)),
    ],
)
def test_the_union_cannot_be_read_at_two_moments(look):
    with pytest.raises(Peeked, match=r"a curve was read at moment 0; it cannot be read at moment -?1 as well"):
        World(**WORLD).drive(cheating("realistic", look)())


@pytest.mark.parametrize("moment", [slice(None), [0, 1], (0, 1), None, 0.0, np.array([0, 1])])
def test_the_union_cannot_be_read_at_many_moments_at_once(moment):
    with pytest.raises(TypeError):
        World(**WORLD).drive(cheating("realistic", lambda o: o.curves["union_at_stop"](moment))())


def test_the_union_may_be_read_again_at_the_same_moment():
    at = one_look((0.1, 0.2))
    assert (at(1), at(np.int64(1))) == (0.2, 0.2)


def test_asking_for_a_node_again_gives_no_second_look(tmp_path, monkeypatch):
    looks = []

    class Again(protocol_class("realistic")):
        name = "again"

        def policy(self, roots, tasks, grid, curve=()):
            first = self.beginnings(roots, grid)
            yield first
            retrained = self.retrainings(first[0], grid[0])[:1]
            for moment in (0, 1):
                (outcome,) = yield retrained
                looks.append(outcome.curves["union_at_stop"](moment))
            raise Peeked("nothing is kept")

    monkeypatch.setitem(PROTOCOLS, "again", Again)
    store = Store(tmp_path)
    run = prepare("d5-5a-digits", "finetune", protocol="again", settings={"widths": "5", "iterations": 2})
    execute([run], store)
    store.close()
    assert len(looks) == 1


@pytest.mark.parametrize("name", ["test", "row", "rows", "single", "multi", "union", "per_class", "tasks", "accuracy"])
def test_there_is_nothing_else_to_look_at(name):
    for protocol_name in PROTOCOLS:
        with pytest.raises(AttributeError):
            World(**WORLD).drive(cheating(protocol_name, lambda o: getattr(o, name))())
        with pytest.raises(AttributeError):
            World(**WORLD).drive(cheating(protocol_name, lambda o: getattr(o.curves, name))())


# Every number that was measured is another one, so that it is known where a number comes from.
TEST = {
    "single": (0.111, 0.112), "multi": (0.121, 0.122), "per_class": (0.131,), "row union": (0.141,),
    "current": (0.151, 0.152), "tasks": (0.161, 0.162, 0.163, 0.164), "union": (0.171, 0.172),
}  # fmt: skip
VALIDATION = {"single": (0.811, 0.812), "multi": (0.821, 0.822), "curve": (0.831, 0.832)}


def measured():
    tasks = (TEST["tasks"][:2], TEST["tasks"][2:])
    return Row(
        single=TEST["single"],
        multi=TEST["multi"],
        per_class={"single": {"0": TEST["per_class"][0]}},
        validation={"single": VALIDATION["single"], "multi": VALIDATION["multi"]},
        curves={"single": Curve((0, 10), TEST["current"], tasks, TEST["union"], VALIDATION["curve"])},
        cost=COST,
        parameters_sha256="",
        union={"single": TEST["row union"][0]},
    )


def numbers(thing):
    """All fractions that can be reached from an object: through attributes, slots, containers and closures."""
    found, known, waiting = set(), set(), [thing]
    while waiting:
        one = waiting.pop()
        if id(one) in known or isinstance(one, (str, bytes, type)):
            continue
        known.add(id(one))
        if isinstance(one, float):
            found.add(one)
        waiting += parts(one)
    return found


def parts(one):
    slots = [slot for cls in type(one).__mro__ for slot in getattr(cls, "__slots__", ()) if hasattr(one, slot)]
    reached = [getattr(one, slot) for slot in slots] + list(getattr(one, "__dict__", {}).values())
    if isinstance(one, Mapping):
        reached += [*one.keys(), *one.values()]
    elif isinstance(one, (list, tuple, set, frozenset)):
        reached += one
    if isinstance(one, FunctionType):
        reached += [cell.cell_contents for cell in one.__closure__ or ()] + list(one.__defaults__ or ())
    return reached


BLIND = [("sequential", {}), ("task-level", {}), ("stream-level", {}), ("realistic", STRICT)]
BLIND += [("realistic", {**STRICT, "start": "best"})]


@pytest.mark.parametrize("head", ["single", "multi"])
@pytest.mark.parametrize("lessons", [1, 2])
@pytest.mark.parametrize("name, settings", BLIND)
def test_a_policy_that_may_not_see_test_data_cannot_reach_any(name, settings, lessons, head):
    found = numbers(outcome_of(measured(), head, lessons, protocol(name, **settings).sees))
    assert found.isdisjoint(number for values in TEST.values() for number in values)
    assert (
        found
        == {
            "sequential": set(),
            "task-level": set(VALIDATION[head]),
            "stream-level": set(VALIDATION[head]),
            "realistic": set(VALIDATION["curve"]),
        }[name]
    )


@pytest.mark.parametrize(
    "name, settings, lessons, seen",
    [
        ("prescient", {}, 1, set()),
        ("prescient", {"start": "best"}, 1, {"current"}),
        ("prescient", {}, 2, {"union"}),
        ("realistic", {}, 1, {"current"}),
    ],
)
def test_the_others_reach_what_they_declare_and_no_more(name, settings, lessons, seen):
    found = numbers(outcome_of(measured(), "single", lessons, protocol(name, **settings).sees))
    assert found == {number for curve in seen for number in TEST[curve]}


def test_of_the_union_a_realistic_outcome_shows_no_list():
    outcome = outcome_of(measured(), "single", 2, protocol("realistic").sees)
    shown = {name: value for name, value in outcome.curves.items() if name != "union_at_stop"}
    assert numbers(shown) == set(TEST["current"])
    assert outcome.curves["union_at_stop"](1) == TEST["union"][1]
    with pytest.raises(AttributeError):
        outcome.curves = {}


def test_the_walk_through_an_outcome_can_find_what_is_hidden():
    outcome = outcome_of(measured(), "single", 2, frozenset({"d2", "union_at_stop"}))
    assert set(TEST["union"]) <= numbers(outcome)
    assert numbers(measured()) == {n for values in [*TEST.values(), *VALIDATION.values()] for n in values} | {0.0}


def test_a_run_that_peeks_fails_and_says_so(tmp_path, monkeypatch):
    cheat = cheating("realistic", lambda o: o.curves["union"])
    cheat.name = "cheat"
    monkeypatch.setitem(PROTOCOLS, "cheat", cheat)
    settings = {"widths": "5", "iterations": 2, "second_rate": 0.1}
    store = Store(tmp_path)
    execute([prepare("d5-5a-digits", "finetune", protocol="cheat", settings=settings)], store)
    (run,) = store.runs()
    store.close()
    assert (run["status"], list(run["result"])) == ("failed", ["reached"])
    assert run["error"] == "a step that sees d2, union_at_stop asked for 'union'; declare it in `sees`"
