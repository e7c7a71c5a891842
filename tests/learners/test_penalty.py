"""What holds for every method with a penalty: without strength, and before the second task, it is finetune."""

from __future__ import annotations

import pytest
import torch

from engram.learners import learners
from engram.networks import Blueprint

PENALISING = [name for name, cls in learners().items() if cls.penalises]
DROPOUT = Blueprint.of("mlp", widths="12-10", dropout=0.2)


def test_the_methods_with_a_penalty():
    assert {"ewc", "online-ewc", "si"} <= set(PENALISING)


@pytest.mark.parametrize("heads", ["growing", "masked", "per-task"])
@pytest.mark.parametrize("penalty_step", ["explicit", "implicit"])
@pytest.mark.parametrize("name", PENALISING)
def test_without_strength_it_is_finetune_to_the_bit(name, penalty_step, heads, make, teach, digits_lessons):
    settings = {"epochs": 2, "heads": heads, "network": DROPOUT}
    plain = teach(make("finetune", **settings), digits_lessons[:3])
    penalised = teach(make(name, strength=0, penalty_step=penalty_step, **settings), digits_lessons[:3])
    assert torch.equal(penalised.parameters(), plain.parameters())


@pytest.mark.parametrize("penalty_step", ["explicit", "implicit"])
@pytest.mark.parametrize("name", PENALISING)
def test_the_first_task_is_finetune_to_the_bit(name, penalty_step, make, teach, digits_lessons):
    plain = teach(make("finetune"), digits_lessons[:1])
    penalised = teach(make(name, strength=1e4, penalty_step=penalty_step), digits_lessons[:1])
    assert torch.equal(penalised.parameters(), plain.parameters())
    teach(plain, digits_lessons[1:2])
    teach(penalised, digits_lessons[1:2])
    assert not torch.equal(penalised.parameters(), plain.parameters())


@pytest.mark.parametrize("name", PENALISING)
def test_an_implicit_step_does_not_diverge_and_holds_what_matters(name, make, teach, permuted_lessons):
    learner = teach(make(name, strength=1e20, penalty_step="implicit", optimizer="sgd"), permuted_lessons[:1])
    before = learner.parameters().clone()
    held = next(v for k, v in learner.kept.items() if k.startswith("importance")) > 1e-6
    teach(learner, permuted_lessons[1:2])
    assert torch.isfinite(learner.parameters()).all()
    assert held.any()
    assert torch.allclose(learner.parameters()[held], before[held], atol=1e-4)


@pytest.mark.parametrize("name", PENALISING)
def test_a_stronger_penalty_moves_less(name, make, teach, permuted_lessons):
    distances = []
    for strength in (0, 1, 1000):
        learner = teach(make(name, strength=strength, penalty_step="implicit", epochs=3), permuted_lessons[:1])
        before = learner.parameters().clone()
        teach(learner, permuted_lessons[1:2])
        distances.append((learner.parameters() - before).norm().item())
    assert distances[0] > distances[1] > distances[2]
