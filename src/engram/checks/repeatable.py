"""That the same gives the same: seeds, global random state, looking without touching."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch

from engram.checks.case import Case, Failed, difference, same_bits, saved, steps, teach
from engram.core import Learner
from engram.errors import BadSetting
from engram.settings import Setting, declared


def same_seed_same_bits(case: Case) -> None:
    """The same seed gives the same bits, whatever the global random generators hold."""
    states = []
    for other in (1, 2):
        torch.manual_seed(other)
        np.random.seed(other)
        random.seed(other)
        states.append(saved(case.taught()))
    found = difference(*states)
    if found:
        raise Failed(
            f"two learners with the same seed should end the same but {found}; use engram.randomness.generator"
        )


def another_seed_other_bits(case: Case) -> None:
    """Another seed gives other parameters (the same, where the class says `deterministic = True`)."""
    learners = [case.taught(1, seed) for seed in (case.seed, case.seed + 1)]
    same = same_bits(*(learner.parameters() for learner in learners))
    deterministic = getattr(learners[0], "deterministic", False)
    if same and not deterministic:
        raise Failed(
            "two seeds should give different parameters but gave the same; derive initial weights and order from the "
            "seed, or say `deterministic = True` in the class if it uses no randomness"
        )
    if not same and deterministic:
        raise Failed("the class says `deterministic = True` but two seeds gave different parameters; take that out")


def predicting_changes_nothing(case: Case) -> None:
    """Predicting changes no state, neither inside a lesson nor between two."""
    watched = case.learner()
    for lesson in case.lessons:
        for step in steps(watched, lesson):
            _look(case, watched, lesson.index, f"at step {step.done} of task {lesson.index + 1}")
        _look(case, watched, lesson.index, f"after task {lesson.index + 1}")
    found = difference(saved(case.taught()), saved(watched))
    if found:
        raise Failed(
            f"a learner that predicted on its way should end as one that did not but {found}; predict only reads"
        )


def _look(case: Case, learner: Learner, task: int, when: str) -> None:
    before = saved(learner)
    x, _ = case.test(task).batch(slice(None))
    for asked in [task] if learner.needs_task else [task, None]:
        learner.predict(x, asked)
    found = difference(before, saved(learner))
    if found:
        raise Failed(f"predict {when} should change nothing but {found}; only read in predict")


def leaves_global_state_alone(case: Case) -> None:
    """It changes no global state: random generators of torch, numpy and Python, gradient mode, number format."""
    before = _global_state()
    learner = case.learner()
    _compare(before, "building it")
    for lesson in case.lessons:
        for step in steps(learner, lesson):
            _compare(before, f"step {step.done} of task {lesson.index + 1}")
        _compare(before, f"the end of task {lesson.index + 1}")
        learner.predict(case.test(lesson.index).batch(slice(None))[0], lesson.index)
        _compare(before, f"predicting after task {lesson.index + 1}")


def _global_state() -> dict[str, Any]:
    return {
        "torch's random generator": torch.get_rng_state().numpy().tobytes(),
        "numpy's random generator": [np.asarray(part).tolist() for part in np.random.get_state()],
        "Python's random generator": random.getstate(),
        "torch's gradient mode": torch.is_grad_enabled(),
        "torch's default number format": torch.get_default_dtype(),
        "torch's number of threads": torch.get_num_threads(),
    }


def _compare(before: dict[str, Any], what: str) -> None:
    changed = [name for name, value in _global_state().items() if value != before[name]]
    if changed:
        raise Failed(
            f"{what} changed {changed[0]}; use engram.randomness.generator(seed, purpose), and undo what you set"
        )


def late_settings_wait(case: Case) -> str | None:
    """A setting that is declared late has no effect on the first task, to the last bit."""
    late = {name: other_value(name, s) for name, s in declared(case.cls).items() if s.late}
    if not late:
        return "does not apply: it declares no late setting"
    usual = saved(case.taught(1))
    for name, value in late.items():
        if value is not None:
            found = difference(usual, saved(case.taught(1, **{name: value})))
            if found:
                raise Failed(f"{name}={value} is declared late but after the first task {found}; take `late` out")
    return None


def other_value(name: str, setting: Setting) -> Any:
    """A value that is allowed and not the default; None where none is easily found."""
    default = setting.default
    if setting.choices is not None:
        candidates = list(setting.choices)
    elif isinstance(default, bool):
        candidates = [not default]
    elif isinstance(default, (int, float)):
        candidates = [default * 2, default + 1, default / 2]
    else:
        candidates = []
    for candidate in candidates:
        if candidate != default and _allowed(name, setting, candidate):
            return candidate
    return None


def _allowed(name: str, setting: Setting, value: Any) -> bool:
    try:
        setting.parse(name, value)
    except BadSetting:
        return False
    return True


def leaves_data_alone(case: Case) -> None:
    """Neither the samples and labels of a lesson nor those it predicts are changed."""
    learner, lessons, copies = case.learner(), case.lessons, case.lessons
    teach(learner, lessons)
    for lesson, copy in zip(lessons, copies):
        for mine, other in ((lesson.train, copy.train), (lesson.validation, copy.validation)):
            if not (same_bits(mine.x, other.x) and same_bits(mine.y, other.y)):
                raise Failed(f"learning changed the data of task {lesson.index + 1}; work on a copy of a batch")
        x, _ = case.test(lesson.index).batch(slice(None))
        before = x.clone()
        learner.predict(x, lesson.index)
        if not same_bits(before, x):
            raise Failed("predict changed the samples it was given; work on a copy")


CHECKS = (
    same_seed_same_bits,
    another_seed_other_bits,
    predicting_changes_nothing,
    leaves_global_state_alone,
    late_settings_wait,
    leaves_data_alone,
)
