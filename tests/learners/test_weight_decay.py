"""Weight decay of learners: what it moves, what it leaves alone, and a grid of it."""

from __future__ import annotations

from itertools import product

import pytest
import torch

import engram
from engram.errors import BadSetting
from engram.networks import HEAD


def _head(learner):
    return learner.network.theta[learner.network.blocks[HEAD]].clone()


def test_heads_of_other_tasks_do_not_decay(make, teach, digits_lessons):
    learner = teach(make("finetune", heads="per-task", weight_decay=0.5), digits_lessons[:1])
    head = _head(learner)
    teach(learner, digits_lessons[1:2])
    assert torch.equal(_head(learner)[: len(head)], head)


def test_it_is_added_to_the_gradient(make, teach, digits_lessons):
    """One plain step: θ − rate·(g + decay·θ)."""
    step = {"iterations": 1, "optimizer": "sgd", "rate": 0.1}
    still = make("finetune", **{**step, "rate": 1e-30})
    plain, decayed = (make("finetune", weight_decay=decay, **step) for decay in (0.0, 0.5))
    start, moved, both = (teach(one, digits_lessons[:1]).network.theta for one in (still, plain, decayed))
    assert torch.allclose(both, moved - 0.1 * 0.5 * start, atol=1e-6)
    assert not torch.allclose(both, moved, atol=1e-3)


def test_the_grid_of_veniat_2021_is_chosen_from_task_by_task():
    grid = {"rate": [1e-2, 1e-3], "weight_decay": [0, 1e-4, 1e-5]}
    early = {"stop": "patience", "patience": 10, "look_early": True}
    record = engram.run(
        "split-digits", "new-head", protocol="task-level", tasks=2, epochs=2, widths="8", **grid, **early
    )
    assert [len(decision["scores"]) for decision in record.decisions] == [6, 6]
    assert all((one["rate"], one["weight_decay"]) in product(*grid.values()) for one in record.chosen)


def test_a_negative_one_is_refused(make):
    with pytest.raises(BadSetting, match="weight_decay=-1.0 is out of range; it must be at least 0"):
        make("finetune", weight_decay=-1)
