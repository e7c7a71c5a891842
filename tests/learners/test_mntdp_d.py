"""MNTDP-D: which candidates there are, how they are trained, which one is chosen, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from searching import searching

import engram
from engram.core import Lesson
from engram.costs import itemise
from engram.errors import BadData, BadSetting, TooLarge
from engram.learners import mntdp_d
from engram.networks import Blueprint

RESNET = Blueprint.of("ctrl-resnet", width=2)
DROPOUT = Blueprint.of("mlp", widths="12-10", dropout=0.2)
PATIENT = {"stop": "patience", "patience": 4, "look_every": 2, "epochs": 3, "rate": 0.01}


def again(lesson, index):
    """The same task under another number."""
    return replace(lesson, index=index)


def validation_accuracy(learner, lesson):
    x, y = lesson.validation.batch(slice(None))
    columns = torch.tensor(learner.columns(lesson.index))
    return (columns[learner.predict(x, lesson.index).argmax(1)] == y).double().mean().item()


@pytest.mark.parametrize("network", [RESNET, DROPOUT])
@pytest.mark.parametrize("settings", [PATIENT, {"epochs": 2, "augment": "shift", "weight_decay": 1e-3}])
def test_a_candidate_that_keeps_nothing_is_the_independent_network(network, settings, make, teach, digits_lessons):
    learner, independent = (make(name, network=network, **settings) for name in ("mntdp-d", "independent"))
    for lesson in digits_lessons[:2]:
        fresh = searching(learner, lesson).trained[0]
        teach(independent, [lesson])
        assert fresh.prefix == ()
        assert torch.equal(fresh.network.theta, independent.network.theta)
        assert fresh.fit.stopping.best == independent.fit.stopping.best
        expected = independent.network.buffers()
        assert all(torch.equal(value, expected[name]) for name, value in fresh.network.buffers().items())
        teach(learner, [lesson])


@pytest.mark.parametrize("network", [RESNET, DROPOUT])
def test_candidates_trained_alone_get_the_same_weights_and_the_same_one_wins(
    network, make, teach, digits_lessons, monkeypatch
):
    def second(prefixes=None):
        learner = teach(make("mntdp-d", network=network, **PATIENT), digits_lessons[:1])
        if prefixes is not None:
            monkeypatch.setattr(mntdp_d, "beginnings", lambda _: prefixes)
        return learner, searching(learner, digits_lessons[1])

    learner, together = second()
    length = len(learner.library.layers)
    assert [each.plan.kind for each in together.candidates] == ["branch"] * length + ["whole"]
    assert [each.plan.first for each in together.trained] == [*range(length)]
    best, chosen = -1.0, None
    for candidate in together.trained:
        _, alone = second([candidate.prefix])
        (same,) = alone.trained
        assert torch.allclose(same.network.theta, candidate.network.theta, atol=1e-5)
        assert (same.fit.step, same.fit.stopping.best) == (candidate.fit.step, candidate.fit.stopping.best)
        if same.so_far >= best:
            best, chosen = same.so_far, same.plan.first
        monkeypatch.undo()
    if together.candidates[-1].so_far >= best:
        chosen = length
    teach(learner, digits_lessons[1:2])
    assert learner.notes()["kept"] == chosen


def test_each_candidate_stops_by_itself(make, teach, digits_lessons):
    learner = teach(make("mntdp-d", **PATIENT), digits_lessons[:1])
    found = searching(learner, digits_lessons[2])
    assert len({candidate.fit.step for candidate in found.trained}) > 1


def test_the_first_task_has_one_candidate_and_candidates_share_what_is_frozen(make, teach, digits_lessons):
    learner = make("mntdp-d", network=RESNET, epochs=1)
    assert len(searching(learner, digits_lessons[0]).candidates) == 1
    teach(learner, digits_lessons[:2])
    found = searching(learner, digits_lessons[2])
    assert len(found.candidates) == 8
    assert len({id(candidate.walk) for candidate in found.trained}) == 1
    assert all(candidate.network.blocks.keys() == set(learner.library.layers[b:]) for b, candidate in
               enumerate(found.trained))  # fmt: skip


def test_what_is_frozen_is_computed_once_in_a_step(make, teach, digits_lessons, monkeypatch):
    learner = teach(make("mntdp-d", network=RESNET, epochs=1), digits_lessons[:1])
    steps = learner.learn(digits_lessons[1])
    next(steps)
    applied, apply = [], type(learner.library).apply
    monkeypatch.setattr(
        type(learner.library), "apply", lambda self, *args: applied.append(args[0]) or apply(self, *args)
    )
    next(steps)
    assert applied == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("network", [RESNET, DROPOUT])
def test_old_outputs_stay_the_same_to_the_bit(network, make, teach, digits_lessons):
    learner, known = make("mntdp-d", network=network, **PATIENT), []
    x = [lesson.validation.batch(slice(None))[0] for lesson in digits_lessons]
    sizes = []
    for k, lesson in enumerate(digits_lessons[:3]):
        teach(learner, [lesson])
        known.append(learner.predict(x[k], k))
        assert all(torch.equal(learner.predict(x[j], j), known[j]) for j in range(k + 1))
        sizes.append([len(modules) for modules in learner.library.modules])
        assert learner.changed_by(lesson) == {k}
    grown = [[b - a for a, b in zip(*pair)] for pair in pairwise(sizes)]
    assert all(new in (0, 1) for step in grown for new in step)


def test_a_task_that_comes_again_gets_the_old_path_without_training(make, teach, permuted_lessons):
    """On separable data; the prior finds the task among others, and the old predictor is as good as it was."""
    learner = teach(make("mntdp-d", epochs=20, rate=0.01, batch=16), permuted_lessons)
    before, bytes_before = validation_accuracy(learner, permuted_lessons[0]), learner.library.bytes
    probe = again(permuted_lessons[0], 3)
    probe = replace(probe, train=probe.train.take(torch.arange(40)))
    teach(learner, [probe])
    notes = learner.notes()
    assert (notes["source"], notes["kept"]) == (1, 3)
    assert notes["path"] == list(learner.library.paths[0])
    assert validation_accuracy(learner, probe) == before
    assert learner.library.bytes == bytes_before


def test_of_equally_good_candidates_the_one_with_fewer_new_modules_wins(make, teach, digits_lessons, monkeypatch):
    learner = teach(make("mntdp-d", epochs=1), digits_lessons[:1])
    monkeypatch.setattr("engram.parts.held_out.HeldOut.accuracy", lambda *_: 0.5)
    teach(learner, digits_lessons[1:2])
    assert learner.notes()["kept"] == 3
    assert [each["validation"] for each in learner.notes()["candidates"]] == [0.5] * 4


def test_other_numbers_of_classes_leave_the_old_predictor_out(make, teach, permuted_lessons, digits_lessons):
    learner = teach(make("mntdp-d", epochs=1), digits_lessons[:1])
    other = again(permuted_lessons[0], 1)
    assert all(each.plan.kind == "branch" for each in searching(learner, other).candidates)
    teach(learner, [other])
    assert learner.predict(other.validation.batch(slice(4))[0], 1).shape == (4, 10)


def test_sources_may_be_all_past_paths_or_random_ones(make, teach, digits_lessons):
    def kept(**settings):
        learner = teach(make("mntdp-d", epochs=1, rate=0.02, **settings), digits_lessons[:3])
        paths, found = list(learner.library.paths.values()), searching(learner, digits_lessons[3])
        wholes = [each.plan.path for each in found.candidates if each.plan.kind == "whole"]
        return paths, [candidate.prefix for candidate in found.trained], wholes

    paths, prefixes, wholes = kept(sources=0)
    assert prefixes == sorted({path[:b] for path in paths for b in range(3)})
    assert sorted(wholes) == sorted(set(paths))
    for prior in ("nearest", "random"):
        paths, prefixes, (whole,) = kept(prior=prior)
        assert whole in paths
        assert prefixes == [whole[:b] for b in range(3)]
    assert len({tuple(kept(prior="random", seed=seed)[2]) for seed in range(4)}) > 1


def test_a_network_is_cut_into_fewer_modules(make, teach, digits_lessons):
    learner = teach(make("mntdp-d", network=RESNET, modules=3, epochs=1), digits_lessons[:2])
    assert learner.library.layers == ["stem+group1+group2", "group3+group4a+group4b", "head"]
    assert len(learner.notes()["candidates"]) == 4
    with pytest.raises(BadSetting, match="cannot be cut into 20 modules"):
        make("mntdp-d", network=RESNET, modules=20)


def test_it_keeps_its_modules_and_nothing_else(make, teach, digits_lessons):
    learner = teach(make("mntdp-d", network=RESNET, epochs=1), digits_lessons[:2])
    assert itemise(learner.state()) == {"modules": learner.library.bytes, "total": learner.library.bytes}


@pytest.mark.parametrize("count", [1, 3])
def test_fewer_samples_than_neighbours_are_enough(count, make, teach, digits_lessons):
    few = replace(digits_lessons[2], train=digits_lessons[2].train.take(torch.arange(count)))
    learner = teach(make("mntdp-d", epochs=1), [*digits_lessons[:2], few])
    assert len(learner.library.paths) == 3


def test_a_validation_set_smaller_than_the_classes_is_enough(make, teach, permuted_lessons):
    few = replace(permuted_lessons[1], validation=permuted_lessons[1].validation.take(torch.arange(2)))
    learner = teach(make("mntdp-d", epochs=1), [permuted_lessons[0], few])
    assert all(each["validation"] in (0, 0.5, 1) for each in learner.notes()["candidates"])


def test_without_validation_data_there_is_nothing_to_choose_by(make, teach, digits_lessons):
    learner = teach(make("mntdp-d", epochs=1), digits_lessons[:1])
    blind = replace(digits_lessons[1], validation=digits_lessons[1].validation.take(torch.arange(0)))
    with pytest.raises(BadData, match=r"task 2 .* no validation data for 'mntdp-d' to choose a path by; give a class"):
        teach(learner, [blind])


def test_samples_of_another_shape_are_refused(make, teach, digits_lessons):
    learner = teach(make("mntdp-d", epochs=1), digits_lessons[:1])
    flat = engram.core.Split(torch.rand(20, 3, 8, 8), torch.arange(20) % 2)
    with pytest.raises(BadData, match=r"task 2 \(wide\) have the shape \(3, 8, 8\), .* made for \(1, 8, 8\)"):
        teach(learner, [Lesson("wide", 1, (0, 1), flat, flat)])


@pytest.mark.parametrize("insisted", [None, "1000000000"])
def test_a_library_beyond_its_limit_is_refused_before_anything_is_trained(
    insisted, make, teach, digits_lessons, monkeypatch
):
    """Whatever else is allowed to take memory."""
    learner = make("mntdp-d", network=Blueprint.of("mlp", widths="1800"), epochs=1, most_megabytes=1)
    teach(learner, digits_lessons[:1])
    learner.library.add(7, (), learner.library.fresh(torch.zeros(2, 1801)))
    if insisted:
        monkeypatch.setenv("ENGRAM_MAX_BYTES", insisted)
    with pytest.raises(
        TooLarge, match=r"new modules for task 2 .* most_megabytes=1 allows 1 MB; raise it, or give it 0"
    ):
        teach(learner, digits_lessons[1:2])
    assert learner.step is None


@pytest.mark.parametrize("name", ["mntdp-d", "mntdp-s"])
def test_a_task_is_learned_once(name, make, teach, digits_lessons):
    learner = make(name, epochs=1)
    teach(learner, digits_lessons[:2])
    before = learner.library.bytes
    with pytest.raises(BadData, match=r"^task 1 .* was learned already, .* never changes a path"):
        teach(learner, digits_lessons[:1])
    assert learner.library.bytes == before


def test_a_record_says_which_paths_were_found():
    record = engram.run("split-digits", "mntdp-d", tasks=5, widths="12-8", epochs=1)
    notes = [row.notes for row in record.rows]
    assert notes[0]["path"] == [0, 0, 0]
    assert notes[0]["source"] is None
    assert all(len(each["candidates"]) == 4 for each in notes[1:])
    assert record.to_json()["notes"] == notes


def test_one_module_is_none_to_share(make):
    with pytest.raises(BadSetting, match="modules=1 leaves nothing to share"):
        make("mntdp-d", modules=1)


def test_what_nobody_looked_at_is_not_noted(make, teach, digits_lessons):
    assert teach(make("mntdp-d", epochs=1), digits_lessons[:1]).notes()["validation"] is None


def test_while_it_learns_it_predicts_by_the_candidate_that_is_best_so_far(make, teach, digits_lessons):
    """Which is what its learning curve is made of."""
    learner = teach(make("mntdp-d", **{**PATIENT, "look_every": 1}), digits_lessons[:1])
    x, _ = digits_lessons[1].validation.batch(slice(None))
    led = set()
    for step in learner.learn(digits_lessons[1]):
        if step.done == step.total:
            break
        best = max(each.so_far for each in learner.fit.candidates)
        leaders = [each for each in learner.fit.candidates if each.so_far == best]
        assert any(torch.equal(learner.predict(x, 1), each.scores(x)) for each in leaders)
        led.add(leaders[0].plan)
    assert len(led) > 1
