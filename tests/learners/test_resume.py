"""A learner can be left at any step and continued elsewhere with the same bits; looking at it changes nothing."""

from __future__ import annotations

import gc
import random
import weakref

import pytest
import torch

from engram.learners import learners
from engram.networks import Blueprint

DROPOUT = Blueprint.of("mlp", widths="12-10", dropout=0.2)
LWTA = Blueprint.of("mlp", widths="12-10", activation="lwta")
FEL, CONSTANT_FEL = (
    Blueprint.of("fel", widths="12", units=40, triggered=0.1, values=values) for values in ("raw", "constant")
)
HALF = Blueprint.of("resnet18-reduced", width=2, precision="bf16")
VARIANTS = [(name, {}) for name in learners()] + [
    ("finetune", {"optimizer": "nadam", "optimizer_reset": "none", "heads": "per-task"}),
    ("finetune", {"optimizer": "sgd", "momentum": 0.9, "optimizer_reset": "slots", "heads": "masked"}),
    ("finetune", {"optimizer": "adam", "optimizer_reset": "slots", "loss_over": "task"}),
    ("ewc", {"penalty_step": "implicit", "fisher": "sampled", "heads": "per-task"}),
    ("si", {"penalty_step": "implicit", "strength": 0.1, "optimizer_reset": "none"}),
    ("si", {"heads": "per-task", "strength": 0.1}),
    ("online-ewc", {"fisher": "batch", "decay": 0.9, "heads": "masked"}),
    ("new-head", {"trunk": "finetune"}),
    ("new-leg", {"trunk": "finetune"}),
    ("finetune", {"stop": "patience", "patience": 2, "look_every": 2}),
    ("rwalk", {"stop": "patience", "patience": 3, "look_every": 1, "rate": 0.03}),
    ("new-head", {"stop": "patience", "patience": 1, "look_every": 3}),
    ("mntdp-d", {"search": "wide", "screen_steps": 3}),
    (
        "mntdp-d",
        {"search": "wide", "screen_steps": 2, "stop": "patience", "patience": 3, "look_every": 2, "sources": 0},
    ),
    ("finetune", {"network": FEL}),
    ("si", {"network": CONSTANT_FEL, "strength": 0.1}),
    ("ewc", {"network": LWTA}),
    ("finetune", {"network": HALF}),
    ("finetune", {"stop": "patience", "patience": 4, "look_early": True, "weight_decay": 0.01, "heads": "per-task"}),
    ("er", {"buffer": "reservoir", "memory": 4}),
    ("mntdp-s", {"sources": 0, "stop": "patience", "patience": 3, "look_every": 2, "gamma_rate": 0.5}),
    ("mntdp-s", {"prior": "random", "modules": 2}),
    ("pnn", {"stop": "patience", "patience": 3, "look_every": 2}),
    ("hat", {"strict": True, "weight_decay": 0.01, "stop": "patience", "patience": 3, "look_every": 2}),
    ("er", {"heads": "growing", "loss_over": "task", "stop": "patience", "patience": 3, "look_every": 2}),
]


@pytest.mark.parametrize("name, settings", VARIANTS)
def test_a_killed_learner_goes_on_with_the_same_bits(name, settings, make, teach, snapshot, same_state, digits_lessons):
    def fresh():
        return make(name, **{"network": DROPOUT, "epochs": 2, **settings})

    lessons = digits_lessons[:3]
    through = teach(fresh(), lessons)
    chance = random.Random(name)
    learner = fresh()
    for lesson in lessons:
        steps = max(step.done for step in _steps(learner, lesson, snapshot, fresh))
        moved = fresh()
        moved.load(snapshot(learner))
        learner = moved
        for stop in sorted({0, chance.randrange(steps + 1), steps}):
            learner = _killed_at(stop, learner, lesson, fresh, snapshot)
        teach(learner, [lesson])
    assert same_state(snapshot(learner), snapshot(through))
    assert learner.flops() == through.flops()


def _steps(learner, lesson, snapshot, fresh):
    copy = fresh()
    copy.load(snapshot(learner))
    yield from copy.learn(lesson)


def _killed_at(stop, learner, lesson, fresh, snapshot):
    """Another learner that holds the state which the first had after `stop` steps."""
    for step in learner.learn(lesson):
        if step.done >= stop:
            break
    heir = fresh()
    heir.load(snapshot(learner))
    return heir


@pytest.mark.parametrize("name, settings", VARIANTS)
def test_predicting_changes_nothing(name, settings, make, teach, snapshot, same_state, digits_lessons):
    watched, left_alone = (make(name, **{"network": DROPOUT, **settings}) for _ in range(2))
    x, _ = digits_lessons[0].validation.batch(slice(None))
    for lesson in digits_lessons[:2]:
        for _ in watched.learn(lesson):
            before, global_before = snapshot(watched), torch.get_rng_state()
            for task in [0, None] if not watched.needs_task else [0]:
                watched.predict(x, task)
            assert same_state(snapshot(watched), before)
            assert torch.equal(torch.get_rng_state(), global_before)
    teach(left_alone, digits_lessons[:2])
    assert same_state(snapshot(watched), snapshot(left_alone))


@pytest.mark.parametrize("name", learners())
def test_the_global_generator_is_never_used(name, make, teach, digits_lessons):
    before = torch.get_rng_state()
    learner = teach(make(name, network=DROPOUT, fisher="sampled"), digits_lessons[:2])
    learner.predict(digits_lessons[0].validation.batch(slice(None))[0], 0)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("name", learners())
def test_a_learner_that_nobody_holds_is_gone_at_once(name, make, teach, digits_lessons):
    """A circle of references would keep it, and all that it remembers, until the collector comes: after ten tasks of
    EWC that was half as much memory again."""
    learner = teach(make(name), digits_lessons[:2])
    gone, collects = weakref.ref(learner), gc.isenabled()
    gc.disable()
    try:
        del learner
        assert gone() is None
    finally:
        if collects:
            gc.enable()


@pytest.mark.parametrize("name", learners())
def test_the_same_seed_gives_the_same_bits_and_another_seed_others(
    name, make, teach, snapshot, same_state, digits_lessons
):
    first, again, other = (teach(make(name, seed), digits_lessons[:2]) for seed in (3, 3, 4))
    assert same_state(snapshot(first), snapshot(again))
    alike = torch.equal(first.parameters(), other.parameters())
    assert alike == getattr(first, "deterministic", False)
