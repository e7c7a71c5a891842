"""The five transfer streams of CTrL (Veniat et al. 2021, Table 4): what of the first task helps with the last?

    ctrl-minus   the last task is the first one again, with a tenth of its samples
    ctrl-plus    the first task has a tenth of the last one's samples
    ctrl-in      the same digits again on another background colour, with very few samples
    ctrl-out     the first task again, every class under the next label
    ctrl-pl      five tasks that have nothing in common, the last one large

Tasks have ten classes in an order that the seed decides, and a label is a place in that order: `Task.classes` of the
last task of ctrl-out is that of the first, turned by one. The numbers of classes are those of the whole stream, one for
each class of each dataset, whatever its label: a learner with outputs of its own for every task sees labels, one with a
single head sees classes. With the same seed the five streams have the same classes in the same order.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib.resources import files
from typing import Any

from engram.errors import BadSetting
from engram.settings import Setting
from engram.streams.drawn import DATASETS, NORMALISED, TEST_SAMPLES, Drawn, cast, choose, marks, offsets, set_apart
from engram.streams.plan import Kind, Plan, clip
from engram.streams.seeding import shuffled
from engram.streams.source import Source

CLASSES = 10
COLOURS = {"red": (1.0, 0.0, 0.0), "green": (0.0, 1.0, 0.0), "blue": (0.0, 0.0, 1.0)}
RAINBOW = "rainbow-mnist"  # mnist on a coloured background
ALIKE = ("ctrl-minus", "ctrl-out")  # with one seed they differ in their last task alone
LARGE, SMALL = 400, 40  # training samples a class in the table
STREAMS = {
    "ctrl-minus": ("S_minus", "a large task, others, the first one again with few samples"),
    "ctrl-plus": ("S_plus", "a task with few samples, others, the first one again with many"),
    "ctrl-in": ("S_in", "digits on one colour, other tasks, the same digits on another colour"),
    "ctrl-out": ("S_out", "a large task, others, the first one again with other labels"),
    "ctrl-pl": ("S_pl", "tasks that have nothing in common"),
}
OPTIONS = {
    "datasets": DATASETS,
    "middle": Setting(4, "most tasks between the first and the last", at_least=0, at_most=4),
    "large": Setting(LARGE, "training samples a class of the large task; half as many for validation", at_least=1),
    "small": Setting(SMALL, "training samples a class of the other tasks; half as many for validation", at_least=1),
    "probe": Setting(0, "training samples a class of the last task (0: as in the paper)", at_least=0),
    "test_samples": TEST_SAMPLES,
    "normalised": NORMALISED,
}


@cache
def table(stream: str) -> tuple[dict[str, str], ...]:
    """The rows of a stream in the published table."""
    text = (files("engram.streams") / "data" / "ctrl_streams.csv").read_text(encoding="utf-8")
    return tuple(row for row in csv.DictReader(text.splitlines()) if row["stream"] == STREAMS[stream][0])


def roles(stream: str) -> list[str]:
    """The datasets that a stream is made of, in order of appearance."""
    return list(dict.fromkeys(map(_role, table(stream))))


def _role(row: Mapping[str, str]) -> str:
    return "mnist" if row["dataset"] == RAINBOW else row["dataset"]


def plan(stream: str, sources: Sequence[Source], seed: int, options: Mapping[str, Any]) -> Plan:
    """The tasks of the table, the last one as its name says."""
    actors = cast(stream, roles(stream), sources)
    colours = [list(COLOURS)[k] for k in shuffled(len(COLOURS), seed, "colours").tolist()]
    first, *middle, last = table(stream)
    apart, parts = set_apart(actors), []
    for row in (first, *middle[: options["middle"]], last):
        role, count = _role(row), _count(row, row is last, options)
        classes = _classes(stream, role, actors[role], seed)
        turned = stream == "ctrl-out" and row is last
        colour = colours[row is last] if row["dataset"] == RAINBOW else None
        part = Drawn(
            name=actors[role].name + (f" on {colour}" if colour else ""),
            source=actors[role],
            classes=classes[-1:] + classes[:-1] if turned else classes,
            offset=offsets(actors)[role],
            count=count,
            apart=apart[role],
            number=int(row["task_id"]),
            test_samples=options["test_samples"],
            colour=COLOURS[colour] if colour else None,
        )
        parts.append(replace(part, name=clip(part.name, f", {part.there} a class")))
    return Plan(tuple(parts), options, marks(actors))


def _count(row: Mapping[str, str], is_last: bool, options: Mapping[str, Any]) -> int:
    """Training samples a class."""
    published = int(row["n_train_per_class"])
    if is_last and options["probe"]:
        return int(options["probe"])
    return int({LARGE: options["large"], SMALL: options["small"]}.get(published, published))


def _classes(stream: str, role: str, source: Source, seed: int) -> tuple[int, ...]:
    """Ten classes in random order."""
    if source.class_count < CLASSES:
        raise BadSetting(
            f"stream '{stream}' needs {CLASSES} classes of every dataset, and {source.name} has {source.class_count}; "
            f"name another in the place of {role}"
        )
    return tuple(shuffled(source.class_count, seed, "classes", role)[:CLASSES].tolist())


def _kind(name: str) -> Kind:
    return Kind(
        name=name,
        version=1,
        help=f"{STREAMS[name][1]} (Veniat et al. 2021)",
        options=OPTIONS,
        plan=partial(plan, name),
        many=True,
        choose=lambda asked: choose(roles(name), asked),
        begins_alike=name in ALIKE,
        roles=tuple(roles(name)),
    )


KINDS = {name: _kind(name) for name in STREAMS}
