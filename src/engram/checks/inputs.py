"""Odd and bad lessons: either finite results, or an error of ours that names the task."""

from __future__ import annotations

from dataclasses import replace

import torch

from engram.checks.case import Case, Failed, asked, scores_of, steps, teach
from engram.core import Learner, Lesson, Split
from engram.errors import EngramError


def survives_odd_lessons(case: Case) -> None:
    """One sample, one class, a class seen again, no validation data: finite scores, or an EngramError."""
    first = case.lessons[0]
    nothing = case.split(first.classes, 0, "validation")
    odd = {
        "a last batch of one sample": [_first_samples(first, 17)],
        "a task of one sample": [first, _first_samples(case.lesson(1, (5,)), 1)],
        "a first task of one class": [case.lesson(0, (3,)), case.lesson(1, (5, 1))],
        "a task of one class": [first, case.lesson(1, (5,))],
        "a class that is seen again": [first, case.lesson(1, (5, 3))],
        "the same classes again": [first, case.lesson(1, (3, 0))],
        "classes in another order": [first, case.lesson(1, (0, 3))],
        "no validation data": [replace(first, validation=nothing)],
    }
    for what, lessons in odd.items():
        learner = case.learner()
        if _taught_or_refused(learner, lessons, what):
            _finite(learner, lessons, what)


def _first_samples(lesson: Lesson, count: int) -> Lesson:
    return replace(lesson, train=lesson.train.take(torch.arange(count)))


def _taught_or_refused(learner: Learner, lessons: list[Lesson], what: str) -> bool:
    try:
        teach(learner, lessons)
    except EngramError:
        return False
    except Failed:
        raise
    except Exception as error:
        text = " ".join(str(error).split())
        raise Failed(
            f"{what} should be learned, or refused with an EngramError, but raised {type(error).__name__}: {text}"
        ) from error
    return True


def _finite(learner: Learner, lessons: list[Lesson], what: str) -> None:
    if not learner.parameters().isfinite().all():
        raise Failed(f"{what} gave parameters that are not finite; raise Diverged")
    x, _ = lessons[0].train.batch(slice(0, 1))
    x = torch.nan_to_num(x, 0.0, 0.0, 0.0)
    for lesson in lessons:
        scores_of(learner, x, lesson.index, lesson.classes, f"after {what}")
    if asked(learner, 0) is None:
        scores_of(learner, x, None, [label for lesson in lessons for label in lesson.classes], f"after {what}")


def refuses_an_empty_lesson(case: Case) -> None:
    """A lesson without samples is refused with an EngramError that names the task."""
    for before in (0, 1):
        learner = case.taught(before)
        lesson = replace(case.lessons[before], train=case.split(case.lessons[before].classes, 0, "train"))
        try:
            teach(learner, [lesson])
        except EngramError as error:
            _must_name(lesson, error)
        else:
            raise Failed(
                f"a task {before + 1} without samples should raise BadData but was learned; raise it, naming the task"
            )


def never_learns_silently_from_nan(case: Case) -> None:
    """NaN or infinity in the samples gives an EngramError that names the task, or finite results all the same."""
    for value in (float("nan"), float("inf"), float("-inf")):
        for at in (0, 1):
            lessons = case.lessons[: at + 1]
            spoiled = lessons[at].train.x.clone()
            spoiled[-1, 3] = value
            lessons[at] = replace(lessons[at], train=Split(spoiled, lessons[at].train.y))
            learner, what = case.taught(at), f"{value} in the samples of task {at + 1}"
            try:
                for _ in steps(learner, lessons[at]):
                    pass
            except EngramError as error:
                _must_name(lessons[at], error)
            else:
                _finite(learner, lessons, what)


def _must_name(lesson: Lesson, error: EngramError) -> None:
    if lesson.name not in str(error) and f"task {lesson.index + 1}" not in str(error):
        raise Failed(f"the refusal should name task {lesson.index + 1} ({lesson.name}) but says: {error}") from error


CHECKS = (survives_odd_lessons, refuses_an_empty_lesson, never_learns_silently_from_nan)
