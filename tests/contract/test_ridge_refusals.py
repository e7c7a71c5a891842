"""What the contract found: ridge says so where it would have given nothing, or a bare traceback."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from engram.checks.case import Case, teach
from engram.core import Split
from engram.errors import BadData, Diverged
from engram.learners.ridge import Ridge


def test_samples_that_are_not_numbers_are_refused():
    case = Case(Ridge, 0, {})
    lesson = case.lessons[0]
    bad = replace(lesson, train=Split(torch.full_like(lesson.train.x, float("nan")), lesson.train.y))
    with pytest.raises(BadData, match=r"task 1 \(clouds 3-0\) has samples that are not numbers"):
        teach(case.learner(), [bad])


def test_equations_without_a_solution_are_refused():
    case = Case(Ridge, 0, {"strength": 1e-30, "features": 300})
    with pytest.raises(Diverged, match=r"task 1 \(clouds 3-0\); raise the strength \(now 1e-30\)"):
        teach(case.learner(), case.lessons[:1])
