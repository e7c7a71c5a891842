"""The contract that every learner must pass: run in CI for the registered ones, public for anybody's own.

    >>> from engram.checks import check_learner
    >>> all(check.passed for check in check_learner("finetune"))
    True

In the tests of a learner of one's own, `assert_learner(MyLearner)` is enough.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from engram.checks import behaviour, inputs, operations, repeatable, saving
from engram.checks.case import Case, Failed
from engram.core import Learner
from engram.learners import LEARNERS

__all__ = ["CHECKS", "Check", "assert_learner", "check_learner"]

CHECKS: tuple[Callable[[Case], str | None], ...] = (
    *behaviour.CHECKS,
    *operations.CHECKS,
    *repeatable.CHECKS,
    *saving.CHECKS,
    *inputs.CHECKS,
)


@dataclass(frozen=True)
class Check:
    """One promise and whether a learner keeps it. `detail` is the promise, or what was found and what to do."""

    name: str
    passed: bool
    detail: str


def check_learner(
    learner: str | type[Learner], *, seed: int = 0, settings: Mapping[str, Any] | None = None
) -> list[Check]:
    """Try every promise on a learner: a registered name, a class, "module:Class" or "path/to/file.py:Class".

    The learner is built as `cls(outline, seed, network, **settings)` and taught three tiny lessons; settings that are
    not given are chosen to suit them (five epochs of batches of 16) where the learner has them. A failing or raising
    learner gives failed checks; only a name that leads to no learner raises.
    """
    case = Case(LEARNERS.of(learner), seed, dict(settings or {}))
    return [_run(check, case) for check in CHECKS]


def assert_learner(learner: str | type[Learner], *, seed: int = 0, settings: Mapping[str, Any] | None = None) -> None:
    """Raise an AssertionError that lists every broken promise: for tests."""
    broken = [check for check in check_learner(learner, seed=seed, settings=settings) if not check.passed]
    if broken:
        lines = "\n".join(f"  {check.name}: {check.detail}" for check in broken)
        raise AssertionError(f"{len(broken)} of {len(CHECKS)} checks failed\n{lines}")


def _run(check: Callable[[Case], str | None], case: Case) -> Check:
    name = check.__name__.replace("_", "-")
    promise = (check.__doc__ or "").strip().rstrip(".")
    try:
        with _undisturbed():
            return Check(name, True, check(case) or promise)
    except Failed as failure:
        return Check(name, False, str(failure))
    except Exception as error:
        text = " ".join(str(error).split())
        return Check(name, False, f"{type(error).__name__}: {text} (while checking: {promise})")


@contextmanager
def _undisturbed() -> Iterator[None]:
    """One thread, because more change the bits; and whatever a learner does to global state is undone."""
    threads, dtype, grad = torch.get_num_threads(), torch.get_default_dtype(), torch.is_grad_enabled()
    states = torch.get_rng_state(), np.random.get_state(), random.getstate()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(grad)
        torch.set_rng_state(states[0])
        np.random.set_state(states[1])
        random.setstate(states[2])
