"""Searches for a path given tasks that are small, odd or too much: a clear sentence, or a path all the same."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import pytest
import torch

from engram.core import Lesson, Split
from engram.errors import BadData, BadSetting, TooLarge
from engram.networks import Blueprint
from engram.parts import modular, nearest
from engram.parts.modular import features
from engram.parts.search import _merit

SEARCHES = {"paper": ("mntdp-d", {"sources": 0}), "wide": ("mntdp-d", {"search": "wide"}), "sampled": ("mntdp-s", {})}
WHOLE = {"whole", "front", "adapter"}  # candidates that use the outputs of an old path


@pytest.fixture(params=SEARCHES.values(), ids=SEARCHES)
def learner(request, make, teach, digits_lessons):
    """One that has learned two tasks of two classes."""
    name, settings = request.param
    return teach(make(name, epochs=1, screen_steps=2, **settings), digits_lessons[:2])


def fewer(split, count):
    return split.take(torch.arange(count))


def test_a_layer_has_at_most_one_module_a_task(learner, teach, digits_lessons):
    teach(learner, digits_lessons[2:4])
    assert all(1 <= len(modules) <= 4 for modules in learner.library.modules)


@pytest.mark.parametrize("count", [1, 4])
def test_fewer_samples_than_neighbours_vote_as_far_as_they_go(count, learner, teach, digits_lessons):
    lesson = digits_lessons[2]
    few = replace(lesson, train=fewer(lesson.train, count), validation=fewer(lesson.validation, count))
    teach(learner, [few])
    assert len(learner.library.paths) == 3
    assert learner.predict(lesson.validation.batch(slice(4))[0], 2).isfinite().all()


def test_one_held_out_sample_chooses_a_path_of_ten_classes(learner, teach, permuted_lessons):
    many = permuted_lessons[0]
    teach(learner, [replace(many, index=2, validation=fewer(many.validation, 1))])
    assert {each.get("validation") for each in learner.notes().get("candidates", [])} <= {0.0, 1.0}
    assert learner.predict(many.validation.batch(slice(4))[0], 2).shape == (4, 10)


def test_only_paths_of_as_many_classes_are_used_whole(learner, teach, permuted_lessons, digits_lessons):
    def kinds(lesson):
        teach(learner, [lesson])
        return {each["kind"] for each in learner.notes().get("candidates", [learner.notes()])}

    assert not kinds(replace(permuted_lessons[0], index=2)) & WHOLE
    again = kinds(replace(digits_lessons[0], index=3))
    assert again & WHOLE or learner.name == "mntdp-s"  # which notes what was drawn
    assert learner.library.outputs(learner.library.paths[3]) in (0, 2)


def test_samples_of_another_shape_are_refused_and_nothing_is_begun(learner, teach):
    other = Split(torch.rand(20, 3, 8, 8), torch.arange(20) % 2)
    with pytest.raises(BadData, match=r"task 3 \(coloured\) have the shape \(3, 8, 8\), .* bring all samples into one"):
        teach(learner, [Lesson("coloured", 2, (0, 1), other, other)])
    assert learner.step is None
    assert len(learner.library.paths) == 2


def test_a_library_beyond_what_the_machine_may_give_is_refused(learner, teach, digits_lessons, monkeypatch):
    monkeypatch.setenv("ENGRAM_MAX_BYTES", str(learner.library.bytes))
    with pytest.raises(TooLarge, match=r"the module library with new modules for task 3 .* would take at least .*"):
        teach(learner, digits_lessons[2:3])
    monkeypatch.delenv("ENGRAM_MAX_BYTES")
    teach(learner, digits_lessons[2:3])
    assert len(learner.library.paths) == 3


def test_a_sample_alone_has_no_statistics_to_normalise_by(make, teach, digits_lessons):
    learner = make("mntdp-d", network=Blueprint.of("ctrl-resnet", width=2), epochs=1)
    alone = replace(digits_lessons[0], train=fewer(digits_lessons[0].train, 1))
    with pytest.raises(BadSetting, match="cannot normalise a batch of one sample"):
        teach(learner, [alone])


@pytest.mark.parametrize("name", ["mntdp-d", "mntdp-s"])
def test_of_equally_near_paths_the_newest_is_the_source(name, make, teach, digits_lessons, monkeypatch):
    learner = teach(make(name, epochs=1, sources=1), digits_lessons[:3])
    monkeypatch.setattr(learner, "_nearest", lambda lesson, paths: dict.fromkeys(paths, 0.5))
    newest = learner.library.paths[2]
    assert len({*learner.library.paths.values()}) > 1
    assert learner.nearest_paths(digits_lessons[3], learner.past_paths()) == [newest]


def test_the_prior_looks_at_so_many_samples(make, teach, digits_lessons, monkeypatch):
    learner, seen = teach(make("mntdp-d", epochs=1, prior_samples=7), digits_lessons[:2]), []
    monkeypatch.setattr(
        modular, "features", lambda walk, paths, data: (seen.append(len(data)), features(walk, paths, data))[1]
    )
    learner._nearest(digits_lessons[1], learner.past_paths())
    assert seen == [7, 7]
    learner.prior_samples = 1000
    learner._nearest(digits_lessons[1], learner.past_paths())
    assert seen[2:] == [len(digits_lessons[1].train), len(digits_lessons[1].validation)]


def test_the_prior_holds_features_of_as_many_paths_at_a_time_as_there_is_room_for(
    make, teach, digits_lessons, monkeypatch
):
    learner, seen = teach(make("mntdp-d", epochs=1), digits_lessons[:4]), []
    at_once = learner._nearest(digits_lessons[3], learner.past_paths())
    assert len(at_once) > 2
    monkeypatch.setattr(nearest, "ROOM", 1)
    monkeypatch.setattr(
        modular, "features", lambda walk, paths, data: (seen.append(len(paths)), features(walk, paths, data))[1]
    )
    assert learner._nearest(digits_lessons[3], learner.past_paths()) == at_once
    assert seen == [1, 1] * len(at_once)


def test_so_many_neighbours_vote(make, teach, digits_lessons, monkeypatch):
    learner, seen = teach(make("mntdp-d", epochs=1, neighbours=3), digits_lessons[:2]), set()
    monkeypatch.setattr(modular, "accuracy", lambda *pair: (seen.add(pair[-1]) or 0.5, 0))
    learner._nearest(digits_lessons[1], learner.past_paths())
    assert seen == {3}


def test_of_candidates_that_are_equally_good_the_one_with_less_that_is_new_is_chosen():
    found = [((2, 9), 0.5), ((1, 9), 0.5), ((1, 4), 0.5), ((7, 99), 0.6)]
    merits = [_merit(SimpleNamespace(new=new), score) for new, score in found]
    assert all(one < better for one, better in pairwise(merits))
