"""Every registered learner passes every check, and for every promise there is a learner that is caught breaking it."""

from __future__ import annotations

import random
from functools import cache

import broken
import numpy as np
import pytest
import torch

from engram.checks import CHECKS, Check, assert_learner, check_learner
from engram.errors import UnknownName
from engram.learners import learners
from engram.learners.finetune import Finetune
from engram.learners.ridge import Ridge
from engram.own import NotFound

VARIANTS = [
    ("finetune", {"optimizer": "nadam", "optimizer_reset": "none", "heads": "per-task"}),
    ("finetune", {"optimizer": "sgd", "momentum": 0.9, "optimizer_reset": "slots", "heads": "masked"}),
    ("joint", {"heads": "masked"}),
    ("ewc", {"penalty_step": "implicit", "fisher": "sampled", "heads": "per-task"}),
    ("si", {"penalty_step": "implicit", "strength": 0.1, "optimizer_reset": "none"}),
    ("online-ewc", {"fisher": "batch", "decay": 0.9, "heads": "masked"}),
    ("ridge", {"map": "patches", "strength": 0}),
    ("slda", {"map": "waves"}),
    ("ridge-each", {"map": "components", "strength": 0}),
    ("exemplars-only", {"map": "components"}),
    ("new-head", {"trunk": "finetune"}),
    ("new-leg", {"trunk": "finetune"}),
]


@pytest.mark.parametrize("name", learners())
def test_every_registered_learner_keeps_the_contract(name):
    assert_learner(name)


@pytest.mark.parametrize("name, settings", VARIANTS)
def test_the_contract_is_kept_with_other_settings(name, settings):
    assert_learner(name, seed=1, settings=settings)


@cache
def failures(cls):
    return {check.name: check.detail for check in check_learner(cls) if not check.passed}


CAUGHT = {
    broken.HasNoName: "declares-itself",
    broken.HasNoHelp: "declares-itself",
    broken.TakesAnySetting: "refuses-bad-settings",
    broken.NeverFinishes: "steps-reach-the-total",
    broken.YieldsNumbers: "steps-reach-the-total",
    broken.ScoresAreNaN: "scores-every-class-seen",
    broken.NamesTheWrongColumns: "scores-every-class-seen",
    broken.ScoresEveryClass: "scores-a-task-alone",
    broken.AnswersForUnknownTasks: "asks-for-the-task",
    broken.DoesNotLearn: "learns",
    broken.UsesBatchStatistics: "scores-each-sample-alone",
    broken.CountsNothing: "counts-operations",
    broken.CountsNoExtraPass: "counts-operations",
    broken.CountsNoFisherPass: "counts-operations",
    broken.CountsTooMuch: "counts-operations",
    broken.GivesDoubles: "parameters-are-one-vector",
    broken.ForgetsWhatItChanges: "says-what-a-lesson-changes",
    broken.KeepsTheLesson: "keeps-no-lesson",
    broken.PenalisesWithoutStrength: "is-finetune-without-strength",
    broken.DependsOnTheGlobalGenerator: "same-seed-same-bits",
    broken.IgnoresTheSeed: "another-seed-other-bits",
    broken.TrainsWhilePredicting: "predicting-changes-nothing",
    broken.UsesTheGlobalGenerator: "leaves-global-state-alone",
    broken.LeavesGradientsOff: "leaves-global-state-alone",
    broken.IsLateTooEarly: "late-settings-wait",
    broken.ScalesTheDataInPlace: "leaves-data-alone",
    broken.KeepsAnObjectInItsState: "state-is-plain",
    broken.KeysItsStateByNumber: "state-is-plain",
    broken.KeepsColumns: "state-is-plain",
    broken.KeepsWhatItLoads: "memory-makes-no-difference",
    broken.GrowsWhenLoaded: "loading-gives-the-same-learner",
    broken.ChangesWhatItIsMadeWith: "goes-on-from-a-file",
    broken.SharesWhatItLoads: "loading-copies",
    broken.ForgetsItsOptimiser: "resumes-inside-a-lesson",
    broken.StartsTheLessonAgain: "resumes-inside-a-lesson",
    broken.HidesSomethingBetweenTasks: "resumes-between-lessons",
    broken.RaisesOnOneClass: "survives-odd-lessons",
    broken.LearnsFromNothing: "refuses-an-empty-lesson",
    broken.IgnoresNaN: "never-learns-silently-from-nan",
}


@pytest.mark.parametrize("cls, caught_by", CAUGHT.items(), ids=lambda value: getattr(value, "__name__", value))
def test_a_broken_promise_is_caught(cls, caught_by):
    failed = failures(cls)
    assert caught_by in failed
    assert "\n" not in failed[caught_by]


@pytest.mark.parametrize(
    "cls",
    [
        broken.IgnoresTheSeed,
        broken.KeepsTheLesson,
        broken.CountsNothing,
        broken.CountsNoExtraPass,
        broken.CountsNoFisherPass,
        broken.CountsTooMuch,
        broken.GivesDoubles,
        broken.UsesBatchStatistics,
        broken.IsLateTooEarly,
        broken.KeepsWhatItLoads,
        broken.HasNoHelp,
    ],
)
def test_nothing_else_is_blamed(cls):
    assert list(failures(cls)) == [CAUGHT[cls]]


def test_every_check_but_two_has_a_learner_that_it_catches():
    names = {check.__name__.replace("_", "-") for check in CHECKS}
    assert names - set(CAUGHT.values()) == {"is-finetune-on-the-first-task", "counts-bytes"}


def test_the_first_task_of_a_penalty_method_is_compared_too():
    assert "is-finetune-on-the-first-task" in failures(broken.PenalisesWithoutStrength)


def test_bytes_that_grow_are_noticed():
    assert "counts-bytes" in failures(broken.GrowsWhenLoaded)


def test_a_learner_without_randomness_may_say_so():
    class Fixed(Ridge):
        name = "fixed"
        deterministic = True

        def __init__(self, outline, seed, network, **settings):
            super().__init__(outline, 0, network, **settings)

    class NotFixed(Ridge):
        name = "not-fixed"
        deterministic = True

    assert_learner(Fixed)
    assert [check.name for check in check_learner(NotFixed) if not check.passed] == ["another-seed-other-bits"]


def test_a_learner_whose_work_is_in_no_product_may_say_so():
    class SaysSo(broken.CountsTooMuch):
        counts_more = True

    assert_learner(SaysSo)


def test_a_learner_that_cannot_be_built_fails_every_check_it_needs_one_for():
    class Unbuildable(Finetune):
        name = "unbuildable"

        def __init__(self):
            pass

    checks = check_learner(Unbuildable)
    failed = [check for check in checks if not check.passed]
    assert len(failed) > 20
    assert all("TypeError" in check.detail for check in failed)


def test_one_check_does_not_disturb_the_next_or_the_caller():
    states = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()
    check_learner(broken.UsesTheGlobalGenerator)
    check_learner(broken.LeavesGradientsOff)
    assert torch.is_grad_enabled()
    assert torch.equal(torch.get_rng_state(), states[0])
    assert np.array_equal(np.random.get_state()[1], states[1])
    assert random.getstate() == states[2]


def test_the_result_is_names_with_sentences():
    checks = check_learner("ridge")
    assert len({check.name for check in checks}) == len(checks) == len(CHECKS) > 20
    assert all(isinstance(check, Check) and check.detail for check in checks)
    assert {c.name: c.detail for c in checks}["late-settings-wait"] == "does not apply: it declares no late setting"


def test_assert_learner_lists_what_is_broken():
    with pytest.raises(
        AssertionError, match=rf"1 of {len(CHECKS)} checks failed\n  counts-operations: flops\(\) should"
    ):
        assert_learner(broken.CountsNothing)


def test_a_name_that_leads_to_no_learner_is_refused():
    with pytest.raises(UnknownName, match="did you mean 'ridge'"):
        check_learner("rigde")
    with pytest.raises(NotFound, match="<class 'int'> is not a learner"):
        check_learner(int)
