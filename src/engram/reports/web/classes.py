"""Accuracy on every class at the end, and what the classes are called."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engram.errors import EngramError
from engram.reports.web.csv_file import CsvFile
from engram.reports.web.matrices import level, short
from engram.reports.web.methods import Method, Topic, mean_interval

MOST_CELLS = 6000  # in a table; where there are more, the last methods are left out


@dataclass(frozen=True)
class ClassTable:
    """A row a class, a column a method: the colour and the text of each cell."""

    methods: Sequence[Method]
    rows: Sequence[tuple[str, Sequence[tuple[int, str]]]]
    csv_file: CsvFile


def class_table(topic: Topic) -> ClassTable | None:
    """None where no accuracy of single classes was measured."""
    found = {method.label: _by_class(method) for method in topic.finished}
    methods = [method for method in topic.finished if found[method.label]]
    numbers = sorted({number for own in found.values() for number in own}, key=int)
    if not numbers:
        return None
    methods = methods[: max(MOST_CELLS // len(numbers), 5)]
    names = class_names(methods[0].first.stream_spec)
    called = {number: names[int(number)] if int(number) < len(names) else number for number in numbers}
    values = {n: [found[method.label].get(n, math.nan) for method in methods] for n in numbers}
    rows = [(called[number], [(level(v), short(v)) for v in values[number]]) for number in numbers]
    header = ["class", "name", *(method.label for method in methods)]
    csv_file = CsvFile(f"{topic.name} accuracy by class", header, [[int(n), called[n], *values[n]] for n in numbers])
    return ClassTable(methods, rows, csv_file)


def _by_class(method: Method) -> dict[str, float]:
    """Mean over the seeds that have the class."""
    ends = [record.per_class[-1] for record in method.done if record.rows]
    return {number: mean_interval(own[number] for own in ends if number in own).mean for own in ends for number in own}


def class_names(spec: Mapping[str, Any]) -> tuple[str, ...]:
    """As the dataset has them, if it is here; a page runs nobody's code and is made without the data, too."""
    from engram.streams import rebuild

    if spec.get("kind") in (None, "own", "arrays"):
        return ()
    try:
        return rebuild(spec).class_names
    except EngramError:
        return ()
