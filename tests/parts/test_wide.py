"""Searches beyond the paper: what each kind of candidate trains, what joins the library, what is found."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from searching import searching

from engram.checks import assert_learner
from engram.core import Lesson, Outline, Split, State
from engram.learners import create
from engram.networks import Blueprint
from engram.parts.twins import Twins
from engram.parts.wide import PARTS
from engram.randomness import generator

RESNET = Blueprint.of("ctrl-resnet", width=2)
PATIENT = {"stop": "patience", "patience": 4, "look_every": 2, "epochs": 3, "rate": 0.01}


def candidates(learner, kind):
    return [each for each in learner.fit.candidates if each.plan.kind == kind]


def choose(monkeypatch, kind):
    """Let this kind of candidate win."""
    monkeypatch.setattr("engram.parts.search._merit", lambda each, score: each.plan.kind == kind)


@pytest.mark.parametrize(
    "settings, kinds",
    [
        ({}, []),
        ({"front": True}, ["front", "front"]),
        ({"adapter": True}, ["adapter"]),
        ({"warm": True}, ["warm", "warm"]),
        ({"ridge": True}, ["ridge"]),
        ({"screen": True, "adapter": True}, ["adapter"]),
        ({"search": "wide"}, ["warm", "warm", "ridge", "front", "front", "adapter"]),
    ],
)
def test_each_part_adds_its_candidates(settings, kinds, make, teach, digits_lessons):
    learner = teach(make("mntdp-d", network=RESNET, epochs=1, screen_steps=2, **settings), digits_lessons[:1])
    found = [each.plan.kind for each in searching(learner, digits_lessons[1]).candidates]
    assert found == ["branch"] * 7 + ["whole"] + kinds
    assert {*kinds} <= {*PARTS}


def test_candidates_of_every_part_trained_alone_get_the_same_weights(make, teach, digits_lessons):
    """As those of the paper do: the lockstep and what they share change nothing."""

    def second(only=None):
        learner = make("mntdp-d", network=RESNET, front=True, adapter=True, warm=True, **PATIENT)
        begin = teach(learner, digits_lessons[:1]).fit.begin
        if only is not None:
            learner.fit.begin = lambda task, plans, *more: begin(task, [plan for plan in plans if plan == only], *more)
        return searching(learner, digits_lessons[1]).trained

    together = [each for each in second() if each.plan.kind != "branch"]
    assert [each.plan.kind for each in together] == ["warm", "warm", "front", "front", "adapter"]
    for candidate in together:
        (alone,) = second(candidate.plan)
        assert torch.allclose(alone.network.theta, candidate.network.theta, atol=1e-5)
        assert (alone.steps, alone.so_far) == (candidate.steps, candidate.so_far)


def test_before_the_second_task_nothing_is_searched(make, digits_lessons):
    learner = make("mntdp-d", network=RESNET, epochs=1, search="wide")
    assert [each.plan.kind for each in searching(learner, digits_lessons[0]).candidates] == ["branch"]


@pytest.mark.parametrize("first", [1, 2])
def test_first_modules_are_renewed_from_the_source_and_the_rest_is_shared(
    first, make, teach, digits_lessons, monkeypatch
):
    learner = teach(make("mntdp-d", network=RESNET, front=True, rate=0.01), digits_lessons[:1])
    steps = learner.learn(digits_lessons[1])
    next(steps)
    (candidate,) = (each for each in candidates(learner, "front") if each.plan.first == first)
    names = learner.library.layers[:first]
    old = torch.cat([learner.library.modules[k][0][: _size(candidate, name)] for k, name in enumerate(names)])
    assert torch.equal(candidate.network.theta, old)
    monkeypatch.setattr("engram.parts.search._merit", lambda each, score: each is candidate)
    for _ in steps:
        pass
    path = learner.library.paths[1]
    assert path == (1,) * first + (0,) * (7 - first)
    assert not torch.equal(learner.library.modules[0][1], learner.library.modules[0][0])
    assert (learner.notes()["kind"], learner.notes()["kept"]) == ("front", 7 - first)


def _size(candidate, name):
    span = candidate.network.blocks[name]
    return span.stop - span.start


def test_a_warm_candidate_begins_as_its_source_but_for_the_head(make, teach, digits_lessons):
    learner = teach(make("mntdp-d", network=RESNET, warm=True), digits_lessons[:1])
    next(learner.learn(digits_lessons[1]))
    whole, warm = candidates(learner, "warm")
    assert (whole.prefix, warm.prefix) == ((), (0, 0))
    assert list(whole.network.blocks) == learner.library.layers
    old = torch.cat(
        [learner.library.modules[k][0][: _size(whole, n)] for k, n in enumerate(learner.library.layers[:-1])]
    )
    assert torch.equal(whole.network.theta[: len(old)], old)
    assert list(warm.network.blocks) == learner.library.layers[2:]
    for layer, name in enumerate(learner.library.layers[2:-1], start=2):
        assert torch.equal(
            warm.network.theta[warm.network.blocks[name]], learner.library.modules[layer][0][: _size(warm, name)]
        )
    fresh = next(each for each in candidates(learner, "branch") if each.plan.first == 2)
    assert torch.equal(warm.network.head, fresh.network.head)
    assert not torch.equal(warm.network.theta, fresh.network.theta)


@pytest.mark.parametrize("most, others", [(0, 6), (1, 0), (3, 2), (99, 6)])
def test_warm_candidates_begin_as_the_nearest_other_paths_too(most, others, make, many):
    learner = make("mntdp-d", **FRESH, warm=True, warm_sources=most)
    learner.load(many[0])
    next(learner.learn(many[1]))
    (source, first), *rest = [(each.plan.path, each.plan.first) for each in candidates(learner, "warm")]
    near, *further = learner.ranked_paths(many[1], learner.past_paths())
    assert (source, first) == (near, 0)
    kept = [(near, 1)]  # the network has three modules
    assert rest == kept + [(path, 0) for path in further[:others]]


@pytest.mark.parametrize("kind", ["front", "warm", "adapter", "ridge"])
def test_old_outputs_stay_and_the_path_found_predicts_what_the_candidate_did(
    kind, make, teach, digits_lessons, monkeypatch
):
    learner = teach(make("mntdp-d", network=RESNET, search="wide", screen_steps=2, **PATIENT), digits_lessons[:1])
    x = digits_lessons[0].validation.batch(slice(None))[0]
    before = learner.predict(x, 0)
    choose(monkeypatch, kind)
    searching(learner, digits_lessons[1])
    now = learner.predict(x, 1)
    teach(learner, digits_lessons[1:2])
    assert learner.notes()["kind"] == kind
    assert torch.equal(learner.predict(x, 0), before)
    assert torch.allclose(learner.predict(x, 1), now, atol=1e-5)
    monkeypatch.undo()
    after = learner.predict(x, 1)
    teach(learner, digits_lessons[2:3])  # with such a path among the past ones
    assert torch.equal(learner.predict(x, 0), before)
    assert torch.equal(learner.predict(x, 1), after)


def test_an_adapter_weighs_as_much_as_it_has_numbers(make, teach, digits_lessons, monkeypatch):
    learner = teach(make("mntdp-d", network=RESNET, adapter=True, epochs=1), digits_lessons[:1])
    before = learner.library.bytes
    choose(monkeypatch, "adapter")
    teach(learner, digits_lessons[1:2])
    assert learner.library.bytes == before + 4 * 2
    assert learner.library.paths[1] == (1, 0, 0, 0, 0, 0, 0)


def coloured(index, colours, count=60):
    """Two classes that are told apart by the place of a bright square, drawn in these shares of three colours."""
    draw = generator(index, "coloured")
    y = torch.arange(count) % 2
    image = 0.1 * torch.rand(count, 1, 8, 8, generator=draw)
    for k in range(count):
        image[k, 0, 1:4, 1 + 3 * y[k] : 4 + 3 * y[k]] += 1
    return Lesson(f"squares {index}", index, (0, 1), *(Split(part, y[:30]) for part in _halves(image, colours)))


def _halves(image, colours):
    x = (image - image.mean()) * torch.tensor(colours).view(1, 3, 1, 1)
    return x[:30].contiguous(), x[30:].contiguous()


def test_screening_finds_the_task_that_looked_different(teach):
    """The third task is the first one in its negative colours; neighbours on features are not asked."""
    settings = {"search": "wide", "epochs": 8, "batch": 10, "rate": 0.02, "adapter_rate": 0.1, "stop": "patience"}
    outline, network = Outline((3, 8, 8), (0, 1)), Blueprint.of("mlp", widths="16-8")
    learner = create("mntdp-d", outline, 0, network, settings)
    first, last = coloured(0, (1.0, 1.0, 0.0)), coloured(2, (-1.0, 0.0, 1.0))
    other = coloured(1, (1.0, 1.0, 0.0))
    other = replace(other, train=Split(other.train.x.transpose(2, 3).contiguous(), 1 - other.train.y))
    teach(learner, [first, other, last])
    screened = [each for each in learner.notes()["candidates"] if each["kind"] == "adapter"]
    assert [each["source"] for each in screened] == [1]
    assert learner.notes()["validation"] == 1


def test_the_contract_holds_with_everything_tried():
    assert_learner("mntdp-d", settings={"search": "wide", "screen_steps": 2, "epochs": 2, "batch": 40})


def repeated(digits_lessons, count):
    """The first task again and again, each time with other samples."""
    first = digits_lessons[0]
    parts = [torch.arange(k, len(first.train), count + 1) for k in range(count + 1)]
    return [replace(first, index=k, name=f"part {k}", train=first.train.take(rows)) for k, rows in enumerate(parts)]


FRESH = {"epochs": 1, "batch": 10, "rate": 0.02, "sources": 1, "stop": "patience"}


@pytest.fixture
def many(make, teach, digits_lessons, snapshot, monkeypatch):
    """A learner with seven past paths, and the lesson that comes next."""
    lessons = repeated(digits_lessons, 7)
    learner = make("mntdp-d", **FRESH)
    with monkeypatch.context() as patch:
        patch.setattr("engram.parts.search._merit", lambda each, score: -len(each.plan.path))  # everything new
        teach(learner, lessons[:7])
    assert len(learner.past_paths()) == 7
    return snapshot(learner), lessons[7]


def screening(make, many, **settings):
    learner = make("mntdp-d", **{**FRESH, "search": "wide", "screen_steps": 8, **settings})
    learner.load(many[0])
    return learner


@pytest.mark.parametrize("finalists, left", [(0, (7, 7, 7)), (9, (7, 7, 7)), (3, (7, 4, 3)), (1, (7, 4, 2))])
def test_of_many_screened_paths_the_better_go_on(finalists, left, make, many):
    learner = screening(make, many, finalists=finalists)
    found = {}
    for step in learner.learn(many[1]):
        if learner.fit.screened:
            found[step.done] = [(each.plan.path, each.score()) for each in learner.fit.screened]
    assert tuple(len(found[step]) for step in (1, 2, 4)) == left
    scores = dict(found[1])
    assert {path for path, _ in found[8]} <= {*scores}
    assert [path for path, _ in found[4]] == [path for path, _ in found[1] if path in dict(found[4])]  # in their order


def test_who_is_left_behind_was_worse_and_has_cost_what_it_did(make, many):
    everyone, few = screening(make, many), screening(make, many, finalists=1)
    scores = {}
    for learner in (everyone, few):
        for step in learner.learn(many[1]):
            if step.done == 2 and learner is everyone:
                scores = {each.plan.path: each.score() for each in learner.fit.screened}
            if step.done == 3 and learner is few:
                stay = {each.plan.path for each in learner.fit.screened}
    assert min(scores[path] for path in stay) >= max(scores[path] for path in scores.keys() - stay)
    assert few.flops() < everyone.flops()


LESS = {"finalists": 2, "halving": 2, "halved": "all", "look_every": 1, "warm_sources": 2, "iterations": 9}


@pytest.mark.parametrize("left_at", [1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 15, 16])
def test_a_search_that_left_some_behind_goes_on_to_the_same_bits(left_at, make, many, snapshot, same_state, teach):
    expected = teach(screening(make, many, **LESS), many[1:])
    learner = screening(make, many, **LESS)
    for step in learner.learn(many[1]):
        if step.done >= left_at:
            break
    assert learner.fit.step == left_at
    heir = screening(make, many, **LESS)
    heir.load(snapshot(learner))
    teach(heir, many[1:])
    assert same_state(snapshot(heir), snapshot(expected))
    assert heir.flops() == expected.flops()
    assert heir.notes() == expected.notes()


@pytest.mark.parametrize(
    "finalists, halving, halved",
    [(0, 0, "all"), (1, 0, "all"), (3, 0, "all"), (0, 1, "beyond"), (0, 1, "all"), (0, 3, "all"), (3, 1, "beyond")],
)
def test_what_others_came_to_does_not_change_who_goes_on(
    finalists, halving, halved, make, many, teach, snapshot, same_state
):
    """Those that find a twin are compared with the others after as many steps."""

    class Shelf(dict):
        def twin(self, key):
            return self.get(key)

        def keep_twin(self, key, state):
            self[key] = State({name: value.clone() for name, value in state.tensors.items()}, dict(state.plain))

    def searched(finalists, halving, halved, place=None):
        learner = screening(make, many, finalists=finalists, halving=halving, halved=halved, look_every=1)
        learner.twins = None if place is None else Twins(place, ("here",))
        return teach(learner, many[1:])

    expected = searched(finalists, halving, halved)
    for other in ((0, 0, "all"), (1, 0, "all"), (3, 1, "beyond"), (3, 1, "all")):
        place = Shelf()
        searched(*other, place)
        learner = searched(finalists, halving, halved, place)
        assert same_state(snapshot(learner), snapshot(expected))
        assert learner.flops() == expected.flops()
        assert learner.notes() == expected.notes()


def raced(make, many, **settings):
    """The trained candidates when they have come to their ends, and the learner."""
    learner = screening(make, many, iterations=9, look_every=1, warm_sources=1, **settings)
    for _ in learner.learn(many[1]):
        if learner.fit.task is not None:
            found = learner.fit.trained
    return found, learner


@pytest.mark.parametrize(
    "halved, steps, spared", [("beyond", [1, 1, 2, 4, 9], {0, 1, 2}), ("all", [1, 1, 1, 2, 2, 4, 9], {0})]
)
def test_the_worse_half_ends_and_half_of_the_rest_later(halved, steps, spared, make, many):
    """Those beyond the paper's, or all but the one that has everything new."""
    (everyone, long), (found, short) = raced(make, many), raced(make, many, halving=1, halved=halved)
    assert [each.plan for each in found] == [each.plan for each in everyone]
    free = [each for each in found if each.plan.kind == "branch" and each.plan.first in spared]
    assert [each.plan.first for each in free] == sorted(spared)
    assert {each.steps for each in free} == {9}
    rivals = [each for each in found if each not in free]
    assert sorted(each.steps for each in rivals) == steps
    survivor = max(rivals, key=lambda each: each.steps)
    assert survivor.so_far == max(each.so_far for each in rivals)
    for before, now in zip(everyone, found, strict=True):
        if now.steps == 9:
            assert torch.equal(before.network.theta, now.network.theta)
    assert short.flops() < long.flops()


@pytest.mark.parametrize("settings", [{"stop": "no"}, {"look_every": 50}])
def test_nobody_ends_who_was_not_looked_at(settings, make, many):
    learner = screening(make, many, iterations=5, halving=1, halved="all", **settings)
    for _ in learner.learn(many[1]):
        if learner.fit.task is not None:
            found = [each.steps for each in learner.fit.rivals]
    assert {*found} == {5}


def test_nobody_is_left_before_a_first_step(make, many):
    learner = make("mntdp-d", **FRESH, search="wide", screen_steps=2, finalists=1)
    learner.load(many[0])
    found = [len(learner.fit.screened) for _ in learner.learn(many[1])]
    assert found[0] == 7
