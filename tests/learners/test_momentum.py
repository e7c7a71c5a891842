"""Momentum SGD with its velocity carried from one task to the next (Pfülb et al. 2018: `optimizer_reset=none`)."""

from __future__ import annotations

import pytest
import torch

from engram.learners import learners
from engram.nodes import revisions

CARRIED = {"optimizer": "sgd", "momentum": 0.99, "optimizer_reset": "none", "heads": "masked", "loss_over": "all"}


def _one_step(learner, lesson):
    """The step that a lesson begins with: what theta was and has become, and the gradient in between."""
    steps = learner.learn(lesson)
    next(steps)
    before = learner.network.theta.clone()
    next(steps)
    return before, learner.network.grad.clone(), learner.network.theta.clone()


def _retrained(make, teach, snapshot, lessons, reset):
    """A learner that took the first lesson at one rate, loaded to go on at another; and the velocity it brought."""
    first = teach(make("finetune", rate=0.01, **{**CARRIED, "optimizer_reset": reset}), lessons[:1])
    second = make("finetune", rate=0.001, **{**CARRIED, "optimizer_reset": reset})
    second.load(snapshot(first))
    return second, first.optimiser.vectors["velocity"].clone()


def test_the_velocity_of_the_first_task_moves_the_first_step_of_the_second(make, teach, snapshot, digits_lessons):
    second, velocity = _retrained(make, teach, snapshot, digits_lessons, "none")
    assert velocity.any()
    before, gradient, after = _one_step(second, digits_lessons[1])
    assert torch.allclose(after, before - 0.001 * (0.99 * velocity + gradient), atol=1e-7)
    assert not torch.allclose(after, before - 0.001 * gradient, atol=1e-5)


@pytest.mark.parametrize("reset", ["full", "slots"])
def test_otherwise_it_is_forgotten(reset, make, teach, snapshot, digits_lessons):
    second, _ = _retrained(make, teach, snapshot, digits_lessons, reset)
    before, gradient, after = _one_step(second, digits_lessons[1])
    assert torch.allclose(after, before - 0.001 * gradient, atol=1e-7)


@pytest.mark.parametrize("stop", [0, 1, 4])
def test_a_killed_learner_keeps_its_velocity(stop, make, teach, snapshot, same_state, digits_lessons):
    through = teach(make("finetune", **CARRIED), digits_lessons[:2])
    killed = teach(make("finetune", **CARRIED), digits_lessons[:1])
    for step in killed.learn(digits_lessons[1]):
        if step.done == stop:
            break
    heir = make("finetune", **CARRIED)
    heir.load(snapshot(killed))
    assert same_state(snapshot(teach(heir, digits_lessons[1:2])), snapshot(through))


OPTIMISERS = [{"optimizer": "adam"}, {"optimizer": "nadam"}, {"optimizer": "sgd", "momentum": 0.9}]
APART = [{"heads": "per-task"}, {"heads": "growing", "loss_over": "task"}]


@pytest.mark.parametrize("apart", APART)
@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("name", ["finetune", "ewc", "si"])
def test_momentum_leaves_outputs_of_finished_tasks_alone(name, optimiser, apart, make, teach, digits_lessons):
    learner = teach(make(name, optimizer_reset="none", rate=0.01, **optimiser, **apart), digits_lessons[:1])
    first = learner.network.head.clone()
    teach(learner, digits_lessons[1:2])
    second = learner.network.head.clone()
    assert torch.equal(second[:2], first)
    teach(learner, digits_lessons[2:3])
    assert torch.equal(learner.network.head[:4], second)


def test_a_class_that_comes_back_is_learned_again(make, teach, digits_lessons):
    learner = make("finetune", optimizer_reset="none", loss_over="task", rate=0.01)
    teach(learner, digits_lessons[:2])
    before = learner.network.head.clone()
    teach(learner, digits_lessons[:1])
    assert torch.equal(learner.network.head[2:], before[2:])
    assert not torch.isclose(learner.network.head[:2], before[:2]).all()


@pytest.mark.parametrize("reset", ["none", "slots", "full"])
@pytest.mark.parametrize("settings", [{"loss_over": "all"}, {"loss_over": "seen", "heads": "growing"}])
def test_where_all_outputs_are_active_theta_moves_as_one(settings, reset, make, teach, digits_lessons):
    learner = teach(make("finetune", **{**CARRIED, **settings, "optimizer_reset": reset}), digits_lessons[:2])
    assert learner.moved() == [slice(0, len(learner.network.theta))]


@pytest.mark.parametrize("apart", APART)
def test_gem_moves_outputs_of_earlier_tasks_by_their_memories(apart, make, teach, digits_lessons):
    learner = teach(make("gem", optimizer_reset="none", **apart), digits_lessons[:2])
    assert learner.moved() == [slice(0, len(learner.network.theta))]


def test_keys_of_runs_that_carry_momentum_are_new():
    affected = {name for name in learners() if revisions(name, {"optimizer_reset": "none"})}
    assert {"finetune", "ewc", "si", "mas"} <= affected
    assert {"gem", "joint", "hat"}.isdisjoint(affected)
    assert not any(revisions("finetune", {"optimizer_reset": reset}) for reset in ("full", "slots"))
