"""Where theory says that a method cannot help, and what may."""

from __future__ import annotations

from collections.abc import Sequence

from engram.learners import LEARNERS, learners
from engram.record import Record

PENALTIES_ALONE = (
    "penalties alone rarely help when the task is not given; "
    "try --learner icarl, --learner ridge, --set exemplars=10 or --head multi"
)


ONE_CLASS = (
    "the first session has one class, which no offline model gets wrong, so omega_base and omega_all are plain "
    "accuracies; give it more classes (--set base=2), or look at omega_all_fair"
)


def advice(records: Sequence[Record]) -> list[str]:
    """Sentences about the runs of one method."""
    doubts = {PENALTIES_ALONE: _is_a_penalty_alone, ONE_CLASS: _begins_with_one_class}
    return [sentence for sentence, applies in doubts.items() if any(map(applies, records))]


def _begins_with_one_class(record: Record) -> bool:
    return record.ideals is not None and bool(record.rows) and len(record.per_class[0]) == 1


def _is_a_penalty_alone(record: Record) -> bool:
    """Where tasks bring new classes, old and new ones are never seen together, and no penalty on parameters can tell
    them apart."""
    kind = learners().get(LEARNERS.proper(record.learner))
    penalises = kind is not None and kind.penalises
    keeps = record.settings.get("exemplars") or record.settings.get("exemplar_budget")
    return penalises and not keeps and record.head == "single" and _has_new_classes(record)


def _has_new_classes(record: Record) -> bool:
    """Whether the last task measured classes that the first one did not have."""
    measured = [set(row.per_class[record.head]) for row in record.rows if record.head in row.per_class]
    return bool(measured) and not measured[-1] <= measured[0]
