"""That a learner counts the operations of its training, held against torch's own count of what it did.

The band is narrow because both count the same products. A learner may say a little more than torch sees: by the common
rule a backward pass is two forward passes, while the first layer needs no gradient of its input (here 3 %) and a frozen
trunk none at all (9 %). It may leave out small products that no pass over samples is made of.
"""

from __future__ import annotations

from engram.checks.case import Case, Failed, teach
from engram.costs import counter
from engram.networks import Blueprint
from engram.settings import declared

LEAST, MOST = 0.95, 1.10  # of what torch counts
NETWORK = Blueprint.of("mlp", widths=(16, 64))  # most of its work is in no first layer
BRIEF = {"epochs": 1}  # so that what is done once a task weighs as much as it can


def counts_operations(case: Case) -> None:
    """The operations of its training are a whole number that grows with every lesson by what torch counts."""
    brief = {name: value for name, value in BRIEF.items() if name in declared(case.cls)}
    learner, before = case.learner(network=NETWORK, **brief), 0
    for lesson in case.lessons:
        with counter() as counted:
            now = teach(learner, [lesson]).flops()
        if type(now) is not int or now <= before:
            raise Failed(
                f"flops() should be an int above {before} after task {lesson.index + 1} but is {now!r}; count them"
            )
        _compare(case, now - before, counted.get_total_flops(), f"in task {lesson.index + 1}")
        before = now


def _compare(case: Case, said: int, seen: int, when: str) -> None:
    if said < LEAST * seen:
        raise Failed(
            f"flops() grew by {said} {when} but torch counted {seen}; count every pass over samples: one for forward, "
            "two for backward, three for an exact Fisher pass"
        )
    if said > MOST * seen and not getattr(case.cls, "counts_more", False):
        raise Failed(
            f"flops() grew by {said} {when} but torch counted only {seen}; count 2 a multiply-add and what is done "
            "only, or say `counts_more = True` in the class if much of its work is in no product"
        )


CHECKS = (counts_operations,)
