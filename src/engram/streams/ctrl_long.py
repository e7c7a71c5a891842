"""The long stream of CTrL (Veniat et al. 2021, Tables 5 and 6): a hundred tasks of five classes, large ones ever rarer.

Instance 1 is the published one. Others, and what comes after its hundredth task, are drawn by the paper's law: a
dataset and five of its classes, each with equal chances, and whether the task is large: of the first 33 one in two is,
of the next 33 one in four, and of the others none.
Labels and the numbers of classes are those of `ctrl`.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from functools import cache, partial
from importlib.resources import files
from typing import Any, NamedTuple

from engram.datasets import class_names
from engram.errors import BadSetting
from engram.settings import Setting
from engram.streams.drawn import DATASETS, NORMALISED, TEST_SAMPLES, Drawn, cast, choose, marks, offsets, set_apart
from engram.streams.plan import Kind, Plan, title
from engram.streams.seeding import drawn, shuffled
from engram.streams.source import Source

CLASSES = 5
SMALL = 5  # training samples a class
NAMES = {
    "mnist": class_names.DIGITS,
    "svhn": class_names.DIGITS,
    "cifar10": class_names.CIFAR10,
    "fashion-mnist": class_names.FASHION,
    "cifar100": class_names.CIFAR100,
}


class Draw(NamedTuple):
    """A task: its dataset, its classes in the order of their labels, and its size."""

    role: str
    classes: tuple[int, ...]
    large: bool


@cache
def published() -> tuple[Draw, ...]:
    """The tasks of instance 1."""
    text = (files("engram.streams") / "data" / "ctrl_long.csv").read_text(encoding="utf-8")
    return tuple(_read(row) for row in csv.DictReader(text.splitlines()))


def _read(row: Mapping[str, str]) -> Draw:
    classes = tuple(NAMES[row["dataset"]].index(name) for name in row["classes"].split("|"))
    return Draw(row["dataset"], classes, int(row["n_train"]) > CLASSES * SMALL)


def task(instance: int, number: int) -> Draw:
    """Task 1, 2, … of an instance."""
    if instance == 1 and number <= len(published()):
        return published()[number - 1]
    role = list(NAMES)[int(drawn(1, len(NAMES), instance, "long", number, "dataset"))]
    classes = shuffled(len(NAMES[role]), instance, "long", number, "classes")[:CLASSES]
    return Draw(role, tuple(classes.tolist()), _is_large(instance, number))


def _is_large(instance: int, number: int) -> bool:
    """Of the first third one in two, of the second one in four, of the rest none."""
    chances = 2 if number <= 33 else 4
    return number <= 66 and int(drawn(1, chances, instance, "long", number, "size")) == 0


def plan(sources: Sequence[Source], seed: int, options: Mapping[str, Any]) -> Plan:
    """The instance's tasks, with samples that the seed decides."""
    actors = cast(KIND.name, list(NAMES), sources)
    draws = [task(options["instance"], number) for number in range(1, options["tasks"] + 1)]
    for role in dict.fromkeys(draw.role for draw in draws):
        source = actors[role]
        if source.class_count < len(NAMES[role]):
            raise BadSetting(
                f"stream '{KIND.name}' needs {len(NAMES[role])} classes in the place of {role}, and {source.name} has "
                f"{source.class_count}; name another dataset"
            )
    start, apart, parts = offsets(actors), set_apart(actors), []
    for number, (role, classes, large) in enumerate(draws, start=1):
        part = Drawn(
            name=title(actors[role].name, classes),
            source=actors[role],
            classes=classes,
            offset=start[role],
            count=options["large"] if large else SMALL,
            apart=apart[role],
            number=number,
            test_samples=options["test_samples"],
            copies=options["validation_copies"],
        )
        parts.append(part)
    return Plan(tuple(parts), options, marks(actors))


KIND = Kind(
    name="ctrl-long",
    version=1,
    help="many tasks of five classes from five datasets, large ones ever rarer (Veniat et al. 2021)",
    options={
        "tasks": Setting(100, "number of tasks", at_least=1, at_most=10_000),
        "instance": Setting(1, "which stream: 1 is the published one, others are drawn by the same law", at_least=1),
        "datasets": DATASETS,
        "large": Setting(1000, "training samples a class of large tasks; half as many for validation", at_least=1),
        "validation_copies": Setting(4, "mirrored and shifted copies of every validation sample", at_least=0),
        "test_samples": TEST_SAMPLES,
        "normalised": NORMALISED,
    },
    plan=plan,
    many=True,
    choose=partial(choose, list(NAMES)),
    roles=tuple(NAMES),
    widens=True,
)
