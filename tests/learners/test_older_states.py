"""States in which samples were kept with a scale and a shift, before they had a transform, are still read."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from engram.core import Split, State
from engram.transform import Transform


def older(name: str, state: State) -> State:
    """As it was written before: the scale of joint and gem lay beside everything else."""
    plain = {key: value for key, value in state.plain.items() if key not in ("samples", "memory")}
    return State(state.tensors, {**plain, "scale": 1 / 16} if name in ("joint", "gem") else plain)


@pytest.mark.parametrize("name, settings", [("joint", {}), ("gem", {}), ("finetune", {"exemplars": 3}), ("icarl", {})])
@pytest.mark.parametrize("shift", [None, torch.full((1, 8, 8), 0.25)])
def test_an_older_state_goes_on_with_the_same_bits(name, settings, shift, make, teach, snapshot, digits_lessons):
    lessons = [
        replace(lesson, train=Split(lesson.train.x, lesson.train.y, lesson.train.rows, Transform(1 / 16, shift=shift)))
        for lesson in digits_lessons[:2]
    ]
    learner, heir = teach(make(name, **settings), lessons[:1]), make(name, **settings)
    before = older(name, snapshot(learner))
    assert sum("shift" in tensor for tensor in before.tensors) == (shift is not None)
    heir.load(before)
    for one in (learner, heir):
        teach(one, lessons[1:])
    assert torch.equal(heir.parameters(), learner.parameters())
