"""Every class in one task (Chaudhry et al. 2018: digits two by two, CIFAR-100 ten by ten)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from engram.errors import BadSetting
from engram.settings import Setting
from engram.streams.inputs import INPUTS
from engram.streams.plan import Kind, Part, Plan, title
from engram.streams.seeding import shuffled
from engram.streams.source import Source


def plan(sources: Sequence[Source], seed: int, options: Mapping[str, Any]) -> Plan:
    """Tasks of the given sizes, or of sizes that differ by at most one, larger tasks first."""
    source = sources[0]
    sizes = options["sizes"] or even_sizes(source, options["tasks"])
    _check_sizes(source, sizes, options["tasks"])
    classes = class_order(source, options["order"], seed)
    return Plan(tuple(class_parts(source, classes, sizes)), {**options, "tasks": len(sizes), "sizes": sizes})


def even_sizes(source: Source, tasks: int) -> tuple[int, ...]:
    """Numbers of classes that differ by at most one, larger ones first."""
    if tasks > source.class_count:
        raise BadSetting(
            f"tasks={tasks} is more than the {source.class_count} classes of {source.name}; "
            f"it must be at most {source.class_count}"
        )
    small, extra = divmod(source.class_count, tasks)
    return (small + 1,) * extra + (small,) * (tasks - extra)


def class_order(source: Source, order: str, seed: int) -> tuple[int, ...]:
    """All class numbers, ascending ("given") or in random order ("seeded")."""
    if order == "given":
        return tuple(range(source.class_count))
    return tuple(shuffled(source.class_count, seed, "classes").tolist())


def class_parts(source: Source, classes: Sequence[int], sizes: Sequence[int]) -> list[Part]:
    """Consecutive pieces of `classes`, one for each size."""
    pieces = [tuple(classes[end - size : end]) for end, size in zip(accumulate(sizes), sizes, strict=True)]
    return [Part(title(source.name, piece), source, piece) for piece in pieces]


def _check_sizes(source: Source, sizes: Sequence[int], tasks: int) -> None:
    if tasks not in (len(sizes), TASKS.default):
        raise BadSetting(f"tasks={tasks} contradicts the {len(sizes)} numbers in sizes; give only one of the two")
    if sum(sizes) != source.class_count:
        raise BadSetting(
            f"sizes={'-'.join(map(str, sizes))} takes {sum(sizes)} classes, but {source.name} has "
            f"{source.class_count}; give sizes that add up to {source.class_count}"
        )


TASKS = Setting(5, "number of tasks; where classes do not divide evenly, first tasks get one more", at_least=1)
ORDER = Setting("given", "order of the classes: by number, or random by the seed", choices=("given", "seeded"))

KIND = Kind(
    name="split",
    version=1,
    help="every class in one task, several classes a task",
    options={
        "tasks": TASKS,
        "order": ORDER,
        "sizes": Setting((), "classes in each task, for example 5-5 (instead of tasks)", at_least=1),
        **INPUTS,
    },
    plan=plan,
)
