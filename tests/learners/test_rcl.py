"""RCL: trials, rewards, and what the best of them leaves."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from engram.errors import BadData, BadSetting
from engram.learners.rcl import RCL


def test_every_trial_is_recorded_and_the_best_reward_stays(make, teach, digits_lessons):
    learner = teach(make("rcl", trials=4, epochs=2, rate=0.01), digits_lessons[:2])
    notes = learner.notes()
    assert len(notes["trials"]) == 4
    best = max(notes["trials"], key=lambda trial: trial["reward"])
    assert notes["actions"] == best["actions"]
    assert notes["units"] == [12 + best["actions"][0], 10 + best["actions"][1]]
    x, y = digits_lessons[1].validation.batch(slice(None))
    right = (torch.tensor(learner.columns(1))[learner.predict(x, 1).argmax(1)] == y).float().mean().item()
    assert right - 1e-4 * sum(best["actions"]) == pytest.approx(best["reward"], abs=1e-6)


def test_of_equally_good_trials_the_first_stays(make, teach, digits_lessons, monkeypatch):
    learner, seen = teach(make("rcl", trials=3, unit_cost=0), digits_lessons[:1]), []
    monkeypatch.setattr(learner, "accuracy", lambda: seen.append(learner.network.theta.clone()) or 0.5)
    teach(learner, digits_lessons[1:2])
    trials = learner.notes()["trials"]
    assert trials[0]["actions"] != trials[1]["actions"]
    assert learner.notes()["actions"] == trials[0]["actions"]
    assert torch.equal(learner.network.theta, seen[0])


def test_a_dear_unit_keeps_networks_small(make, teach, digits_lessons):
    learner = teach(make("rcl", trials=4, unit_cost=10.0), digits_lessons[:2])
    trials = learner.notes()["trials"]
    assert sum(learner.notes()["actions"]) == min(sum(trial["actions"]) for trial in trials)


def test_with_no_units_hidden_weights_are_bit_identical(make, teach, digits_lessons):
    learner = teach(make("rcl", most_units=0, epochs=2), digits_lessons[:1])
    before = learner.network.theta[: learner.network.trunk_size].clone()
    teach(learner, digits_lessons[1:3])
    assert torch.equal(learner.network.theta[: learner.network.trunk_size], before)
    assert learner.widths == (12, 10)


def test_the_first_task_is_plain_training(make, teach, digits_lessons):
    settings = {"epochs": 2, "batch": 16}
    alone = teach(make("independent", **settings), digits_lessons[:1])
    grown = teach(make("rcl", l2=0.0, **settings), digits_lessons[:1])
    assert torch.equal(alone.network.theta, grown.network.theta)
    assert "trials" in grown.notes()
    assert grown.notes()["trials"] == []


def test_trials_need_validation_data(make, teach, digits_lessons):
    assert RCL.uses_validation({})
    learner = teach(make("rcl"), digits_lessons[:1])
    nobody = digits_lessons[1].validation.take(torch.empty(0, dtype=torch.int64))
    with pytest.raises(BadData, match="no validation data for learner 'rcl'"):
        teach(learner, [replace(digits_lessons[1], validation=nobody)])


def test_trials_are_never_rewarded_by_test_data(make):
    with pytest.raises(BadSetting, match="stop_on='test' is not possible"):
        make("rcl", stop="patience", stop_on="test")


def test_every_trial_begins_with_an_output_layer_of_its_own(make, teach, digits_lessons):
    learner = teach(make("rcl", trials=2), digits_lessons[:1])
    next(learner.learn(digits_lessons[1]))
    learner.network.head.data.fill_(7.0)
    learner._shape_child([2, 3], 1, 0)
    first = learner.network.head.data.clone()
    learner.network.head.data.fill_(7.0)
    learner._shape_child([2, 3], 1, 1)
    assert torch.equal(learner.network.head.data, first)
    assert not (first == 7.0).any()
