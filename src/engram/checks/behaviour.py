"""What a learner is seen to do: declare itself, learn, score, count."""

from __future__ import annotations

import re
from typing import Any

import torch
from torch import Tensor

from engram.checks.case import CLASSES, Case, Failed, asked, same_bits, scores_of, steps, teach
from engram.core import Learner, Lesson, Split, Step, Stream, Task
from engram.errors import EngramError, NeedsTask
from engram.learners.finetune import Finetune
from engram.settings import declared

GOOD = 0.75  # of samples right, on a task of two classes that are far apart


def declares_itself(case: Case) -> None:
    """It has a name, and every setting has help and a default that the setting itself allows."""
    name = case.cls.name
    if not re.fullmatch(r"[a-z0-9]+([-+][a-z0-9]+)*[+]*", name):
        raise Failed(f"the class attribute name should be lower-case words joined by - or + but is {name!r}; set it")
    for key, setting in declared(case.cls).items():
        if not setting.help.strip():
            raise Failed(f"setting '{key}' has no help; say in a few words what it does")
        if setting.parse(key, setting.default) != setting.default:
            raise Failed(
                f"setting '{key}' reads its own default {setting.default!r} as another value; change one of them"
            )


def refuses_bad_settings(case: Case) -> None:
    """A setting that does not exist, or has an impossible value, is refused by name."""
    for name in ("no_such_setting", *declared(case.cls)):
        impossible: dict[str, Any] = {name: object()}
        try:
            case.learner(**impossible)
        except EngramError as error:
            if name not in str(error):
                raise Failed(
                    f"the refusal of a bad '{name}' should name it but says: {error}; name the setting"
                ) from error
        else:
            raise Failed(f"'{name}' with an impossible value should be refused but was taken; call settings.resolve")


def steps_reach_the_total(case: Case) -> None:
    """Learning yields steps whose count never falls, never exceeds the total and ends at it."""
    learner = case.learner()
    for lesson in case.lessons:
        last = None
        for step in steps(learner, lesson):
            if not isinstance(step, Step):
                raise Failed(f"learn should yield engram.core.Step(done, total) but yielded {step!r}; yield steps")
            if not (last.done if last else 0) <= step.done <= step.total:
                raise Failed(f"{step} came after {last}; done must not fall and not exceed the total")
            last = step
        if last is None or last.done != last.total:
            raise Failed(f"the last step should have done = total but was {last}; yield one at the end")


def scores_every_class_seen(case: Case) -> str | None:
    """Scores are finite, one column for each class seen, in the order that columns() says."""
    learner, seen = case.learner(), set[int]()
    x, _ = case.test(0).batch(slice(None))
    for lesson in case.lessons:
        teach(learner, [lesson])
        seen |= set(lesson.classes)
        if learner.needs_task:
            return "does not apply: it has to be told the task"
        scores_of(learner, x, None, seen, f"after task {lesson.index + 1}")
    return None


def scores_a_task_alone(case: Case) -> None:
    """Told the task, it scores that task's classes and no others, from the first step of the lesson on."""
    learner = case.learner()
    for lesson in case.lessons:
        for _ in steps(learner, lesson):
            x, _y = case.test(lesson.index).batch(slice(None))
            scores_of(learner, x, lesson.index, lesson.classes, f"while task {lesson.index + 1} is learned")
        for task in range(lesson.index + 1):
            scores_of(learner, x, task, CLASSES[task], f"after task {lesson.index + 1}")


def asks_for_the_task(case: Case) -> None:
    """Without a task that it needs, or with one that it has not learned, it says so."""
    learner = case.taught(2)
    x, _ = case.test(0).batch(slice(None))
    if learner.needs_task:
        _refuses(lambda: learner.predict(x), "predict without a task", NeedsTask)
        _refuses(lambda: learner.columns(), "columns without a task", NeedsTask)
    _refuses(lambda: learner.predict(x, 2), "predict with a task that was not learned", EngramError)
    _refuses(lambda: learner.columns(2), "columns of a task that was not learned", EngramError)


def _refuses(act: Any, what: str, kind: type[EngramError]) -> None:
    try:
        act()
    except kind:
        return
    except Exception as error:
        raise Failed(f"{what} should raise {kind.__name__} but raised {type(error).__name__}: {error}") from error
    raise Failed(f"{what} should raise {kind.__name__} but gave an answer; raise it")


def learns(case: Case) -> None:
    """Right after an easy task of two classes it gets at least three quarters of its test samples right."""
    learner = case.learner()
    for lesson in case.lessons:
        teach(learner, [lesson])
        x, y = case.test(lesson.index).batch(slice(None))
        columns = torch.tensor(learner.columns(lesson.index))
        right = (columns[learner.predict(x, lesson.index).argmax(1)] == y).double().mean().item()
        if right < GOOD:
            raise Failed(
                f"after task {lesson.index + 1}, whose two classes lie far apart, {right:.0%} of its test samples were "
                f"right instead of at least {GOOD:.0%}; correct the training, or give settings that suit 80 samples"
            )


def scores_each_sample_alone(case: Case) -> None:
    """A sample's scores do not depend on the other samples that are scored with it."""
    learner = case.taught(2)
    x, _ = case.test(1).batch(slice(0, 6))
    task = asked(learner, 1)
    together, alone = learner.predict(x, task), torch.cat([learner.predict(x[k : k + 1], task) for k in range(len(x))])
    if not torch.allclose(together, alone, rtol=1e-3, atol=1e-4):
        raise Failed(
            "scores of a batch should equal those of its samples one by one but differ; use no batch statistics"
        )


def parameters_are_one_vector(case: Case) -> None:
    """The parameters are one float32 vector of finite values, the same each time it is asked for."""
    learner = case.taught(2)
    first = learner.parameters().detach().clone()
    if first.dim() != 1 or first.dtype != torch.float32 or not len(first):
        raise Failed(f"parameters() should be a float32 vector but is {first.dtype} of shape {tuple(first.shape)}")
    if not first.isfinite().all():
        raise Failed("parameters() holds values that are not finite; raise Diverged where they arise")
    learner.predict(case.test(0).batch(slice(None))[0], 0)
    if not torch.equal(first, learner.parameters()):
        raise Failed("parameters() gave other values when asked again; return the trained parameters as they are")


def says_what_a_lesson_changes(case: Case) -> None:
    """Tasks that changed_by leaves out are predicted as before the lesson, to the last bit."""
    learner, before = case.learner(), dict[int, Tensor]()
    for lesson in case.lessons:
        teach(learner, [lesson])
        changed = learner.changed_by(lesson)
        samples = {task: case.test(task).batch(slice(None))[0] for task in (*before, lesson.index)}
        scores = {task: learner.predict(x, task) for task, x in samples.items()}
        for task in set() if changed is None else before.keys() - set(changed):
            if not same_bits(before[task], scores[task]):
                raise Failed(
                    f"changed_by(task {lesson.index + 1}) is {changed} and leaves out task {task + 1}, which is "
                    "predicted differently since; name that task too, or return None for all"
                )
        before = scores


def keeps_no_lesson(case: Case) -> None:
    """A lesson has no test data, and after learning no lesson is kept outside the state."""
    learner = case.taught(2)
    kept = {tensor.data_ptr() for tensor in learner.state().tensors.values()}
    for name, value in vars(learner).items():
        members = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else (value,)
        outside = (m for m in members if not isinstance(m, Split) or m.x.data_ptr() not in kept)
        if any(isinstance(member, (Lesson, Task, Stream, Split)) for member in outside):
            raise Failed(f"attribute '{name}' still holds data of a lesson; keep samples as tensors of the state")


def is_finetune_without_strength(case: Case) -> str | None:
    """With strength 0 a penalty method is finetune, bit for bit, after every task."""
    if not case.cls.penalises:
        return "does not apply: it is no penalty method"
    if "strength" not in declared(case.cls):
        raise Failed("a learner that penalises should have a setting 'strength' but has none; declare it")
    _same_as_finetune(case, case.learner(strength=0), case.lessons)
    return None


def is_finetune_on_the_first_task(case: Case) -> str | None:
    """A penalty method learns its first task as finetune does, bit for bit."""
    if not case.cls.penalises:
        return "does not apply: it is no penalty method"
    _same_as_finetune(case, case.learner(), case.lessons[:1])
    return None


def _same_as_finetune(case: Case, learner: Learner, lessons: list[Lesson]) -> None:
    shared = {name: getattr(learner, name, setting.default) for name, setting in declared(Finetune).items()}
    plain = Finetune(case.outline, case.seed, case.network, **shared)
    for lesson in lessons:
        teach(learner, [lesson])
        teach(plain, [lesson])
        if not torch.equal(learner.parameters(), plain.parameters()):
            raise Failed(
                f"the parameters after task {lesson.index + 1} should equal finetune's to the last bit but differ; "
                "leave order, gradient and random numbers of the plain training as they are"
            )


CHECKS = (
    declares_itself,
    refuses_bad_settings,
    steps_reach_the_total,
    scores_every_class_seen,
    scores_a_task_alone,
    asks_for_the_task,
    learns,
    scores_each_sample_alone,
    parameters_are_one_vector,
    says_what_a_lesson_changes,
    keeps_no_lesson,
    is_finetune_without_strength,
    is_finetune_on_the_first_task,
)
