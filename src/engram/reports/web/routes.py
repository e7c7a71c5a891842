"""The paths of learners that share modules: which task made the module that a task uses in each layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engram.record import Record, makers
from engram.reports.web.csv_file import CsvFile
from engram.reports.web.methods import Method, Topic

FACTS = ("kind", "source", "kept", "validation")  # of the candidate that became a path, where the learner notes it


@dataclass(frozen=True)
class Route:
    """A task's path: for each layer the task, from 1, that made the module there."""

    task: int
    makers: Sequence[int]
    kind: str

    @property
    def new(self) -> int:
        return sum(maker == self.task for maker in self.makers)


@dataclass(frozen=True)
class RouteMap:
    """All paths of one run, the first that is done."""

    method: Method
    seed: int
    layers: Sequence[str]
    routes: Sequence[Route]


def route_maps(topic: Topic) -> list[RouteMap]:
    """Of the methods that have paths."""
    found = [(method, method.done[0]) for method in topic.finished]
    return [
        RouteMap(method, record.seed, _layers(routes), routes)
        for method, record in found
        if (routes := _routes(record))
    ]


def csv_file(topic: Topic) -> CsvFile:
    """Every task of every run that has paths."""
    own = [(method, record, _routes(record)) for method in topic.finished for record in method.done]
    layers = max((route.makers for _, _, routes in own for route in routes), key=len, default=())
    header = ["learner", "seed", "task", *(f"made_by_{layer}" for layer in range(1, len(layers) + 1)), *FACTS]
    rows = [
        [method.label, record.seed, route.task, *route.makers, *[""] * (len(layers) - len(route.makers)), *facts]
        for method, record, routes in own
        for route, facts in zip(routes, _facts(record))
    ]
    return CsvFile(f"{topic.name} paths", header, rows)


def _routes(record: Record) -> list[Route]:
    return [Route(task, own, str(record.rows[task - 1].notes.get("kind", ""))) for task, own in makers(record).items()]


def _facts(record: Record) -> list[list[object]]:
    each = [row.notes for row in record.rows if "path" in row.notes]
    return [["" if notes.get(name) is None else notes[name] for name in FACTS] for notes in each]


def _layers(routes: Sequence[Route]) -> list[str]:
    """Their names in a header: numbers, and the outputs."""
    return [*map(str, range(1, len(routes[0].makers))), "outputs"]
