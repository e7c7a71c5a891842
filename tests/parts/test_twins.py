"""Fits that begin alike are trained once: with the same bits, the same costs and the same steps as if each were."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from paths import path_of

from engram.core import Split, State
from engram.execute.tidying import clean_up
from engram.networks import Blueprint
from engram.networks.ctrl_resnet import CtrlResNet
from engram.parts.fit import Fit
from engram.parts.twins import Twins
from engram.settings import declared
from engram.store import Store
from engram.tree import _twins, grow

RESNET = Blueprint.of("ctrl-resnet", width=2)
PATIENT = {"stop": "patience", "patience": 4, "look_every": 2, "epochs": 3, "rate": 0.01, "look_early": True}
AS_FIRST = ("independent", "new-head", "new-leg", "pnn", "ewc", "online-ewc", "finetune", "mntdp-d", "mntdp-s")
MORE = {"epochs": 1, "augment": "shift", "weight_decay": 1e-3}


class Shelf(dict):
    """A place in memory, which counts what was found."""

    found = 0

    def twin(self, key):
        self.found += key in self
        return self.get(key)

    def keep_twin(self, key, state):
        self[key] = State({name: value.clone() for name, value in state.tensors.items()}, dict(state.plain))


@pytest.fixture
def taken(monkeypatch):
    """How many steps were trained."""
    count = []
    take = Fit.take
    monkeypatch.setattr(Fit, "take", lambda fit, x, y: (count.append(1), take(fit, x, y)))
    return count


def shared(learner, place, after=0, words=("this machine",)):
    learner.twins = Twins(place, words, after)
    return learner


@pytest.mark.parametrize(
    ("network", "settings"),
    [(None, PATIENT), (None, {"epochs": 1}), (RESNET, {**PATIENT, "epochs": 1}), (RESNET, MORE)],
)
def test_a_search_takes_what_independent_has_trained(
    network, settings, make, teach, digits_lessons, snapshot, same_state, taken
):
    place, lessons = Shelf(), digits_lessons[:2]
    independent = teach(shared(make("independent", network=network, **settings), place), lessons)
    assert len(place) == 2
    assert same_state(snapshot(independent), snapshot(teach(make("independent", network=network, **settings), lessons)))
    alone = make("mntdp-d", network=network, **settings)
    taken.clear()
    teach(alone, lessons)
    needed = len(taken)
    beside = shared(make("mntdp-d", network=network, **settings), place)
    taken.clear()
    teach(beside, lessons)
    assert len(taken) < needed
    assert place.found == 2
    assert same_state(snapshot(beside), snapshot(alone))
    assert beside.notes() == alone.notes()
    assert beside.flops() == alone.flops()


WIDE = {"search": "wide"}
SEARCHES = {
    "paper": ({}, WIDE, PATIENT),
    "wide": (WIDE, {"front": True}, {**PATIENT, "look_early": False}),
    "all sources": ({"warm": True}, {**WIDE, "sources": 0}, PATIENT),
    "all steps": ({}, WIDE, {"epochs": 2}),
}


@pytest.mark.parametrize(("first", "second", "settings"), SEARCHES.values(), ids=SEARCHES)
def test_candidates_of_different_searches_are_trained_once(
    first, second, settings, make, teach, digits_lessons, snapshot, same_state, taken
):
    lessons = [*digits_lessons[:2], replace(digits_lessons[0], index=2)]
    place, steps = Shelf(), []
    teach(shared(make("mntdp-d", **settings, **first), place), lessons)
    alone, beside = make("mntdp-d", **settings, **second), shared(make("mntdp-d", **settings, **second), place)
    for learner in (alone, beside):
        taken.clear()
        teach(learner, lessons)
        steps.append(len(taken))
    assert steps[1] < steps[0]
    assert same_state(snapshot(beside), snapshot(alone))
    assert beside.notes() == alone.notes()


@pytest.mark.parametrize(("after", "finalists"), [(0, 0), (0, 1), (5, 1)])
def test_screening_is_done_once_for_all_rates(
    after, finalists, make, teach, digits_lessons, snapshot, same_state, taken
):
    """It has a rate of its own, and so has the candidate with an adapter: only the others are trained again."""
    settings, place, needed = {**PATIENT, **WIDE, "screen_steps": 40, "finalists": finalists}, Shelf(), {}
    lesson = replace(digits_lessons[0], index=4)
    before = snapshot(teach(make("mntdp-d", **settings), digits_lessons[:4]))
    for rate, shelf in ((0.01, place), (0.02, place), (0.02, Shelf())):
        learner = make("mntdp-d", **{**settings, "rate": rate})
        learner.load(before)
        taken.clear()
        assert len(learner.past_paths()) > 2
        moments = [step.done for step in shared(learner, shelf, after).learn(lesson) if step.done <= after]
        needed[rate, shelf is place] = len(taken), snapshot(learner), learner.flops(), learner.notes()
        assert moments == list(range(after + 1))
    (steps, state, *rest), (alone, expected, *others) = needed[0.02, True], needed[0.02, False]
    assert steps <= alone - 40 + after
    assert same_state(state, expected)
    assert rest == others


@pytest.mark.parametrize("finalists", [0, 1])
def test_screening_is_shared_whatever_numbers_modules_have(
    finalists, make, teach, digits_lessons, snapshot, same_state, taken
):
    """In one library they count tasks of other sizes too, which are not screened."""
    settings, place, lesson = {**PATIENT, **WIDE, "screen_steps": 8}, Shelf(), replace(digits_lessons[0], index=3)
    before = snapshot(teach(make("mntdp-d", **settings), digits_lessons[:3]))
    tensors = {_further(name): values for name, values in before.tensors.items()}
    paths = [[task, [number + 5 for number in path]] for task, path in before.plain["paths"]]
    found = []
    for state, shelf in (
        (before, place),
        (State(tensors, {**before.plain, "paths": paths}), place),
        (State(tensors, {**before.plain, "paths": paths}), Shelf()),
    ):
        learner = make("mntdp-d", **settings, finalists=finalists)
        learner.load(state)
        taken.clear()
        teach(shared(learner, shelf), [lesson])
        found.append((len(taken), snapshot(learner), learner.notes()))
    (_, (steps, state, notes), (alone, expected, others)) = found
    assert steps < alone
    assert same_state(state, expected)
    assert notes == others


def _further(name):
    """A module of a state with a number that is greater by five."""
    kind, *rest = name.split(".")
    return ".".join([kind, rest[0], str(int(rest[1]) + 5)]) if kind == "modules" else name


def test_who_screens_other_samples_or_leaves_others_behind_finds_nothing(make, teach, digits_lessons):
    settings = {**PATIENT, **WIDE, "screen_steps": 8}
    place, (*past, lesson) = Shelf(), digits_lessons[:3]
    few = replace(lesson, validation=lesson.validation.take(torch.arange(20)))
    for finalists, asked in ((0, lesson), (1, lesson), (0, few)):
        learner = teach(shared(make("mntdp-d", **settings, finalists=finalists), place), past)
        names = {name for name, state in place.items() if "place" in state.plain}
        teach(learner, [asked])
        assert {name for name, state in place.items() if "place" in state.plain} > names


@pytest.mark.parametrize("name", AS_FIRST)
def test_first_tasks_are_trained_once(name, make, teach, digits_lessons, snapshot, same_state, taken):
    place, settings = Shelf(), PATIENT
    teach(shared(make("independent", **settings), place), digits_lessons[:1])
    taken.clear()
    learner, alone = shared(make(name, **settings), place), make(name, **settings)
    steps = list(learner.learn(digits_lessons[0]))
    assert not taken
    assert steps[-1] == list(alone.learn(digits_lessons[0]))[-1]
    assert steps[-1].done == steps[-1].total
    for each in (learner, alone):
        teach(each, digits_lessons[1:2])
    assert same_state(snapshot(learner), snapshot(alone))
    assert learner.flops() == alone.flops()


def test_what_is_looked_at_on_the_way_is_trained(make, teach, digits_lessons, taken):
    place, settings = Shelf(), {"epochs": 3}
    teach(shared(make("independent", **settings), place), digits_lessons[:1])
    for name in ("independent", "mntdp-d"):
        learner, alone = shared(make(name, **settings), place, after=5), make(name, **settings)
        x, _ = digits_lessons[0].validation.batch(slice(None))
        taken.clear()
        found, expected = (
            {step.done: each.predict(x, 0) for step in each.learn(digits_lessons[0])} for each in (learner, alone)
        )
        assert list(found) == [0, 1, 2, 3, 4, 5, 18]
        assert len(taken) == 5 + 18
        assert all(torch.equal(scores, expected[done]) for done, scores in found.items())


@pytest.mark.parametrize("name", ["independent", "mntdp-d"])
@pytest.mark.parametrize("left_at", [0, 3, 7])
def test_who_is_left_on_the_way_goes_on_and_shares(name, left_at, make, teach, digits_lessons, snapshot, same_state):
    def left(place, **more):
        learner = shared(teach(make(name, **PATIENT), digits_lessons[:1]), place, **more)
        for step in learner.learn(digits_lessons[1]):
            if step.done >= left_at:
                break
        return snapshot(learner)

    def resumed(state, place, **more):
        heir = make(name, **PATIENT)
        heir.load(state)
        return snapshot(teach(shared(heir, place, **more), digits_lessons[1:2]))

    full, some, place = Shelf(), Shelf(), Shelf()
    expected = snapshot(teach(shared(make(name, **PATIENT), full), digits_lessons[:2]))
    assert same_state(resumed(left(place), place), expected)
    assert set(place) < set(full)  # what was begun by one process and ended by another is left for others
    assert same_state(resumed(left(Shelf()), full), expected)
    assert full.found == len(place)  # they came while nobody was there
    teach(shared(make("independent", **PATIENT), some), digits_lessons[:2])
    assert same_state(resumed(left(some), Shelf()), expected)  # one was there, and has gone
    elsewhere = Shelf()
    assert same_state(resumed(left(Shelf()), elsewhere, words=("another machine",)), expected)
    assert bool(elsewhere) == (left_at == 0)


OTHERS = {
    "rate": {"rate": 0.02},
    "batch": {"batch": 15},
    "epochs": {"epochs": 4},
    "seed": {"seed": 1},
    "optimiser": {"optimizer": "sgd"},
    "decay": {"weight_decay": 1e-4},
    "schedule": {"schedule": "linear"},
    "augmentation": {"augment": "shift"},
    "patience": {"patience": 5},
    "network": {"network": Blueprint.of("mlp", widths="12-10", dropout=0.1)},
}


@pytest.mark.parametrize("change", OTHERS.values(), ids=OTHERS)
def test_others_are_no_twins(change, make, teach, digits_lessons):
    place = Shelf()
    teach(shared(make("independent", **PATIENT), place), digits_lessons[:1])
    teach(shared(make("independent", **{**PATIENT, **change}), place), digits_lessons[:1])
    assert not place.found
    assert len(place) == 2


def test_other_samples_are_no_twins(make, teach, digits_lessons):
    place, lesson = Shelf(), digits_lessons[0]
    x, y = lesson.train.x.clone(), lesson.train.y.clone()
    x[lesson.train.rows[7], 0, 3, 3] += 1
    y[7] = 1 - y[7]
    train, held_out = lesson.train, lesson.validation
    changed = {
        "a pixel": replace(lesson, train=Split(x, train.y, train.rows, train.transform)),
        "a label": replace(lesson, train=Split(train.x, y, train.rows, train.transform)),
        "the scale": replace(lesson, train=Split(train.x, train.y, train.rows, replace(train.transform, scale=0.06))),
        "what is held out": replace(lesson, validation=held_out.take(torch.arange(20))),
        "the place in the stream": replace(lesson, index=1),
    }
    for number, other in enumerate([lesson, *changed.values()], start=1):
        teach(shared(make("independent", **PATIENT), place), [other])
        assert len(place) == number
        assert not place.found
    teach(shared(make("independent", **PATIENT), place, words=("another machine",)), [lesson])
    assert not place.found


@pytest.mark.parametrize("name", ["independent", "mntdp-d", "mntdp-s"])
def test_another_order_of_batches_has_no_twins(name, make, teach, digits_lessons):
    place = Shelf()
    teach(shared(make("independent", **PATIENT), place), digits_lessons[:1])
    other = shared(make(name, **PATIENT), place)
    usual = other.epoch
    other.epoch = lambda lesson, number: usual(lesson, number)[::-1]
    teach(other, digits_lessons[:1])
    assert (place.found, len(place)) == (0, 1)


def test_an_optimiser_that_was_changed_by_hand_has_twins_of_its_own(make, teach, digits_lessons):
    """As by a method whose `begin` lowers the rate."""
    place = Shelf()
    teach(shared(make("independent", **PATIENT), place), digits_lessons[:1])
    other = shared(make("independent", **PATIENT), place)
    usual = other.begin

    def begin(lesson):
        usual(lesson)
        other.optimiser.rate /= 2

    other.begin = begin
    teach(other, digits_lessons[:1])
    assert (place.found, len(place)) == (0, 2)


def test_batches_that_are_changed_by_hand_have_no_twins(make, teach, digits_lessons):
    place = Shelf()
    teach(shared(make("independent", **PATIENT), place), digits_lessons[:1])
    other = shared(make("independent", **PATIENT), place)
    usual = other._material
    other._material = lambda lesson: replace(usual(lesson), augmented=lambda x, index, step: x + 1)
    teach(other, digits_lessons[:1])
    assert (place.found, len(place)) == (0, 1)


def test_another_device_has_twins_of_its_own(store):
    """CPU and MPS have one machine in common, and round otherwise."""
    node = path_of("independent", 1)[-1]
    other = replace(node, network=node.network.on("mps"))
    assert _twins(node, store).words != _twins(other, store).words


def test_a_network_whose_setting_came_to_mean_something_else_has_no_old_twins(make, teach, digits_lessons, monkeypatch):
    """Candidates that train nothing but an adapter before it neither."""
    place, settings = Shelf(), {"network": RESNET, "epochs": 1, "adapter": True, "front": True}
    monkeypatch.setattr(CtrlResNet, "width", replace(declared(CtrlResNet)["width"], revised=()))
    teach(shared(make("mntdp-d", **settings), place), digits_lessons[:2])
    before, place.found = len(place), 0
    monkeypatch.undo()
    teach(shared(make("mntdp-d", **settings), place), digits_lessons[:2])
    assert (place.found, len(place)) == (0, 2 * before)


@pytest.mark.parametrize(("settings", "count"), [({}, 1), ({"optimizer_reset": "none"}, 0), ({"exemplars": 2}, 1)])
def test_what_nobody_else_can_begin_with_or_end_with_is_not_kept(settings, count, make, teach, digits_lessons):
    place = Shelf()
    teach(shared(make("finetune", **settings), place), digits_lessons[:2])
    assert len(place) == count


def facts(row):
    return replace(row, cost=replace(row.cost, seconds=0.0))


@pytest.mark.parametrize(
    "damage", [None, lambda content: content[:-9], lambda content: content[:90] + b"\0" * 9 + content[99:]]
)
def test_nodes_of_different_learners_share_in_a_store(damage, store, tmp_path, taken):
    settings = {**PATIENT, "batch": 64, "epochs": 2}
    independent, searching = (path_of(name, 2, **settings) for name in ("independent", "mntdp-d"))
    alone = Store(tmp_path / "alone")
    expected = [facts(grow(node, alone)) for node in searching]
    alone.close()
    grow(independent[-1], store)
    kept = sorted((store.folder / "twins").iterdir())
    assert len(kept) == 2
    if damage:
        for path in kept:
            path.write_bytes(damage(path.read_bytes()))
        with pytest.warns(UserWarning, match=r"is damaged .* it was not used; it is trained again"):
            assert [facts(grow(node, store)) for node in searching] == expected
        assert {*kept} < {*(store.folder / "twins").iterdir()}
    else:
        taken.clear()
        assert facts(grow(searching[0], store)) == expected[0]
        assert not taken
        assert facts(grow(searching[1], store)) == expected[1]
    clean_up(store)
    assert not list((store.folder / "twins").iterdir())


def test_the_oldest_twins_make_room(store):
    for number in range(3):
        store.keep_twin(str(number), State({"theta": torch.zeros(1000)}, {}))
        store.keep_twin(str(number), State({"theta": torch.ones(1000)}, {}))  # by a process that was second
    size = store._twin("2").stat().st_size
    assert store.delete_twins(2 * size) == size
    assert store.twin("0") is None
    assert not store.twin("2").tensors["theta"].any()
