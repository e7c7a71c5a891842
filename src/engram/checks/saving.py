"""That the state is the whole truth: plain, complete, counted, and enough to go on with the same bits."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from engram.checks.case import (
    CLASSES,
    Case,
    Failed,
    asked,
    difference,
    heir,
    moved,
    other_place,
    same_bits,
    saved,
    steps,
    teach,
)
from engram.core import Learner, Lesson, State
from engram.costs import itemise
from engram.learner_file import described, remade


def state_is_plain(case: Case) -> None:
    """The state is tensors that lie row by row and plain JSON, inside a lesson and between two."""
    learner = case.learner()
    for lesson in case.lessons[:2]:
        for _ in steps(learner, lesson):
            _check_plain(learner.state())
        _check_plain(learner.state())


def _check_plain(state: State) -> None:
    for name, tensor in state.tensors.items():
        if not isinstance(name, str) or not isinstance(tensor, torch.Tensor):
            raise Failed(
                f"state().tensors[{name!r}] should be a tensor but is a {type(tensor).__name__}; move it to plain"
            )
    odd = _not_json(state.plain, "state().plain")
    if odd:
        raise Failed(
            f"{odd}, which is not JSON; use text, numbers, true or false, None, lists and dicts with text as keys"
        )


def _not_json(value: Any, where: str) -> str:
    """The first part that JSON cannot give back as it was; tuples come back as lists, which is well known."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return ""
    if isinstance(value, (list, tuple)):
        return next(filter(None, (_not_json(part, f"{where}[{k}]") for k, part in enumerate(value))), "")
    if not isinstance(value, dict):
        return f"{where} is a {type(value).__name__}"
    for key in value:
        if not isinstance(key, str):
            return f"{where} has the key {key!r}"
    return next(filter(None, (_not_json(part, f"{where}[{key!r}]") for key, part in value.items())), "")


def loading_gives_the_same_learner(case: Case) -> None:
    """A fresh learner that loads a state predicts the same, to the last bit, and has the same state."""
    learner = case.taught()
    copy = heir(case, learner)
    _must_predict_the_same(case, learner, copy, range(len(CLASSES)), "after load")
    found = difference(saved(learner), saved(copy)) or _outside_the_state(learner, copy)
    if found:
        raise Failed(f"after load the learner should be the same but {found}; put it into state and take it up in load")


def _outside_the_state(one: Learner, other: Learner) -> str:
    if one.flops() != other.flops():
        return f"flops() is {one.flops()} in one and {other.flops()} in the other"
    if list(one.columns(asked(one, 0))) != list(other.columns(asked(other, 0))):
        return "columns() differs"
    return "" if same_bits(one.parameters(), other.parameters()) else "parameters() differs"


def memory_makes_no_difference(case: Case) -> None:
    """Where a loaded state lay in memory changes no bit of what is predicted and learned after it."""
    learner, other = case.taught(2), case.learner()
    other.load(moved(saved(learner)))
    found = other_place(learner.state(), other.state())
    if found:
        raise Failed(
            f"after load from elsewhere in memory {found}, and products of the same numbers round differently there; "
            "clone tensors in load"
        )
    _must_predict_the_same(case, learner, other, range(2), "after load from elsewhere in memory")
    for one in (learner, other):
        teach(one, case.lessons[2:])
    _must_agree(learner, other, "its state was loaded from elsewhere in memory")


def _must_predict_the_same(case: Case, one: Learner, other: Learner, tasks: Iterable[int], when: str) -> None:
    for task in tasks:
        x, _ = case.test(task).batch(slice(None))
        if not same_bits(one.predict(x, task), other.predict(x, task)):
            raise Failed(f"{when} the scores of task {task + 1} differ; put what predict needs into the state")


def loading_copies(case: Case) -> None:
    """Two learners that load one state do not disturb each other or the state."""
    given, untouched = (saved(case.taught(1)) for _ in range(2))
    one, other = case.learner(), case.learner()
    one.load(given)
    other.load(given)
    teach(one, case.lessons[1:2])
    found = difference(untouched, given)
    if found:
        raise Failed(f"learning changed the state that was loaded ({found}); clone tensors in load")
    found = difference(untouched, saved(other))
    if found:
        raise Failed(f"a learner changed when another one that loaded the same state went on ({found}); clone in load")


def resumes_inside_a_lesson(case: Case) -> None:
    """Left at random steps, saved and loaded elsewhere, it ends with the same bits."""
    through, learner = case.learner(), case.learner()
    chance = random.Random(case.seed)
    for lesson in case.lessons:
        total = max(step.done for step in steps(through, lesson))
        for stop in sorted({0, chance.randrange(total + 1), chance.randrange(total + 1), total}):
            learner = _left_at(stop, case, learner, lesson)
        teach(learner, [lesson])
        _must_agree(through, learner, f"task {lesson.index + 1} was left inside and taken up again")


def _left_at(stop: int, case: Case, learner: Learner, lesson: Lesson) -> Learner:
    """Another learner, with the state that this one has when it comes to the step."""
    first = True
    for step in steps(learner, lesson):
        if first and step.done > stop:
            raise Failed(
                f"a learner left at an earlier step went on at step {step.done}, past {stop}; yield where it stood"
            )
        first = False
        if step.done >= stop:
            return heir(case, learner)
    raise Failed(f"a learner that was taken up again did not come to step {stop}; go on where the state says")


def resumes_between_lessons(case: Case) -> None:
    """Saved and loaded elsewhere after every task, it ends with the same bits."""
    through, learner = case.learner(), case.learner()
    for lesson in case.lessons:
        teach(through, [lesson])
        learner = teach(heir(case, learner), [lesson])
        _must_agree(through, learner, f"it was saved and loaded before task {lesson.index + 1}")


def goes_on_from_a_file(case: Case) -> None:
    """What it is made with and its state are enough to make it again: it predicts and learns on as if never saved."""
    learner = case.taught(2)
    copy = remade(case.cls, json.loads(json.dumps(described(learner))))
    copy.load(saved(learner))
    _must_predict_the_same(case, learner, copy, range(2), "after it was made again from a file")
    for one in (learner, copy):
        teach(one, case.lessons[2:])
    _must_agree(learner, copy, "it was made again from a file before task 3")


def _must_agree(through: Learner, learner: Learner, when: str) -> None:
    found = difference(saved(through), saved(learner)) or _outside_the_state(through, learner)
    if found:
        raise Failed(
            f"when {when} it should end as if undisturbed but {found}; put everything that learning needs into the "
            "state, random generators included"
        )


def counts_bytes(case: Case) -> None:
    """Its bytes are those of the checkpoint's tensors, and they do not grow while nothing is learned."""
    learner = case.taught(2)
    before = itemise(learner.state())
    in_checkpoint = sum(tensor.numel() * tensor.element_size() for tensor in saved(learner).tensors.values())
    if before["total"] != in_checkpoint:
        raise Failed(
            f"the checkpoint's tensors hold {in_checkpoint} bytes but {before['total']} are counted; give no tensor "
            "the name 'total'"
        )
    for task in (0, 1, 0):
        learner.predict(case.test(task).batch(slice(None))[0], task)
    for other in (learner, heir(case, learner)):
        after = itemise(other.state())
        if after != before:
            raise Failed(
                f"the bytes changed from {before} to {after} though nothing was learned; keep only what is needed"
            )


CHECKS: Sequence[Any] = (
    state_is_plain,
    loading_gives_the_same_learner,
    memory_makes_no_difference,
    loading_copies,
    resumes_inside_a_lesson,
    resumes_between_lessons,
    goes_on_from_a_file,
    counts_bytes,
)
