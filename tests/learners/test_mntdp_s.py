"""MNTDP-S: the first task, halves of the data, what ends the search, and that nothing is forgotten."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import pytest
import torch

from engram.errors import BadSetting
from engram.networks import Blueprint
from engram.parts.branching import SharedModules
from engram.parts.sampled import _halves
from engram.parts.twins import Twins
from engram.randomness import generator

RESNET = Blueprint.of("ctrl-resnet", width=2)


def until(learner, lesson, is_there):
    """Teach a lesson until something holds."""
    steps = learner.learn(lesson)
    next(step for step in steps if is_there(learner.fit))
    return steps


def test_the_first_task_is_independent_to_the_bit(make, teach, digits_lessons):
    one, other = (teach(make(name, network=RESNET), digits_lessons[:1]) for name in ("mntdp-s", "independent"))
    x, _ = digits_lessons[0].validation.batch(slice(None))
    assert torch.equal(one.predict(x, 0), other.predict(x, 0))


def test_halves_share_every_class_and_nothing_else():
    labels = torch.tensor([0] * 7 + [3] * 4 + [5])
    first, second = _halves(labels, generator(0, "halves"))
    assert torch.bincount(labels[first]).tolist() == [4, 0, 0, 2, 0, 1]
    assert torch.bincount(labels[second]).tolist() == [3, 0, 0, 2, 0, 1]
    assert set(first.tolist()) & set(second.tolist()) == {11}


def test_modules_learn_from_one_half_and_the_distribution_from_the_other(make, teach, digits_lessons, monkeypatch):
    learner = teach(make("mntdp-s", epochs=4), digits_lessons[:1])
    batches, given = [], learner.fit._batch
    monkeypatch.setattr(learner.fit, "_batch", lambda *place: batches.append(given(*place)) or batches[-1])
    next(step for step in learner.learn(digits_lessons[1]) if step.done == 6)
    one, other = (set(torch.cat(batches[turn::2]).tolist()) for turn in (0, 1))
    assert not one & other
    assert len(one) == len(other) == 45


def test_steps_take_turns(make, teach, digits_lessons):
    learner = teach(make("mntdp-s", epochs=4), digits_lessons[:1])
    seen = []
    for _ in learner.learn(digits_lessons[1]):
        if learner.fit.shared is None or len(seen) == 5:
            break
        seen.append((learner.fit.shared.network.theta.clone(), learner.fit.distribution.logits.clone()))
    changed = [[not torch.equal(a, b) for a, b in zip(one, other)] for one, other in pairwise(seen)]
    assert changed == [[True, False], [False, True]] * 2


def test_half_of_the_steps_are_the_search_s_and_the_rest_fits_the_path(make, teach, digits_lessons):
    learner = teach(make("mntdp-s", epochs=4, gamma_rate=1e-6), digits_lessons[:1])
    found = [(step.done, step.total, learner.fit.shared is None) for step in learner.learn(digits_lessons[1])]
    assert [done for done, _, _ in found] == list(range(25))
    assert {total for _, total, _ in found} == {24}
    assert [fitted for _, _, fitted in found] == [False] * 12 + [True] * 13
    assert learner.notes()["searched"] == 12


def test_a_path_that_is_certain_ends_the_search(make, teach, digits_lessons):
    learner = teach(make("mntdp-s", epochs=4, certain=0.3, start="nodes"), digits_lessons[:1])
    teach(learner, digits_lessons[1:2])
    notes = learner.notes()
    assert notes["searched"] == 0
    assert (notes["kept"], notes["chance"]) == (0, 0.5)


def test_the_new_modules_of_the_chosen_path_go_on_as_they_are(make, teach, digits_lessons):
    learner = teach(make("mntdp-s", epochs=2, network=RESNET), digits_lessons[:1])
    steps = until(learner, digits_lessons[1], lambda fit: fit.done == 5)
    shared = learner.fit.shared.network
    next(steps)
    (candidate,) = learner.fit.candidates
    if candidate.plan.kind == "branch":
        for name, span in candidate.network.blocks.items():
            assert torch.equal(candidate.network.theta[span], shared.theta[shared.blocks[name]])


def test_nothing_of_a_lesson_or_its_search_stays(make, teach, digits_lessons):
    learner = make("mntdp-s", epochs=2)
    first = teach(learner, digits_lessons[:1]).fit.__dict__.keys() - {"task"}
    teach(learner, digits_lessons[1:2])
    assert learner.fit.__dict__.keys() - {"task"} == first
    assert learner.fit.held_out is None


def test_nobody_is_given_what_came_after_a_search(make, teach, digits_lessons):
    """Nobody else begins with the modules that it found."""
    place = {}
    shelf = SimpleNamespace(twin=place.get, keep_twin=place.__setitem__)
    learner = make("mntdp-s", epochs=2)
    learner.twins = Twins(shelf, ("here",))
    teach(learner, digits_lessons[:3])
    assert learner.notes()["searched"]
    assert len(place) == 1  # the first task


@pytest.mark.parametrize("network", [None, RESNET])
def test_old_outputs_stay_to_the_bit_and_a_layer_grows_by_one_module_at_most(network, make, teach, digits_lessons):
    learner, x = make("mntdp-s", network=network), digits_lessons[0].validation.batch(slice(None))[0]
    scores, sizes = {}, [0] * 9
    for task, lesson in enumerate(digits_lessons[:3]):
        teach(learner, [lesson])
        scores[task] = learner.predict(x, task)
        assert all(torch.equal(learner.predict(x, past), old) for past, old in scores.items())
        now = [len(modules) for modules in learner.library.modules]
        assert all(0 <= after - before <= 1 for before, after in zip(sizes, now))
        sizes = now


def test_it_takes_the_old_path_where_that_is_better_than_new_modules(make, teach, digits_lessons):
    """The first task again, with few samples: no new module gets as far in as few steps."""
    first = digits_lessons[0]
    again = replace(first, index=1, train=first.train.take(torch.arange(20)))
    settings = {"batch": 5, "rate": 0.01, "gamma_rate": 0.1, "entropy": 0.01}
    learner = make("mntdp-s", epochs=20, **settings)
    teach(learner, [first, again])
    assert learner.notes()["kept"] >= 1
    x, y = first.validation.batch(slice(None))
    assert (learner.predict(x, 1).argmax(1) == y).double().mean() > 0.9


def test_all_past_paths_can_be_sources(make, teach, digits_lessons):
    learner = teach(make("mntdp-s", sources=0, epochs=2), digits_lessons[:3])
    assert list(learner.library.paths) == [0, 1, 2]


def test_a_chance_above_one_is_refused(make):
    with pytest.raises(BadSetting, match="certain=1.5 is out of range; it must be at most 1"):
        make("mntdp-s", certain=1.5)


def test_steps_of_modules_sample_paths_and_those_of_the_distribution_leave_statistics_alone(
    make, teach, digits_lessons, monkeypatch
):
    learner = teach(make("mntdp-s", network=RESNET, epochs=9, batch=45), digits_lessons[:1])
    drawn, scores = [], SharedModules.scores
    monkeypatch.setattr(
        SharedModules, "scores", lambda *given, **how: (drawn.append(len(given[2].unique())), scores(*given, **how))[1]
    )
    statistics = []
    for _ in learner.learn(digits_lessons[1]):
        if learner.fit.shared is None or learner.fit.done == 5:
            break
        statistics.append({name: value.clone() for name, value in learner.fit.shared.network.buffers().items()})
    changed = [any(not torch.equal(one[name], other[name]) for name in one) for one, other in pairwise(statistics)]
    assert changed == [True, False, True, False]
    assert min(drawn[::2]) > 1


def test_of_equally_likely_paths_that_with_the_fewest_new_modules_is_chosen(make, teach, digits_lessons):
    learner = teach(make("mntdp-s", epochs=4), digits_lessons[:1])
    next(learner.learn(digits_lessons[1]))
    fit, count = learner.fit, len(learner.fit.plans)
    assert count > 2
    fit.distribution.probabilities = lambda: torch.full((count,), 1 / count)
    fit._choose(fit.shared)
    assert fit.candidates[0].plan.kind == "whole"
