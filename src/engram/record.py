"""The record of a run: what was measured on its path through the tree, and what follows from it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from engram import metrics, omega
from engram.core import Cost, Curve, Machine, Row
from engram.omega import Alphas

OPTIONAL = ("places", "machine", "notes")  # of a row, kept where there is something to keep


def row_to_json(row: Row) -> dict[str, Any]:
    """A row as it is stored. Where all tasks were measured their places go without saying."""
    data = {name: v for name, v in vars(row).items() if name not in OPTIONAL or v not in (None, {})}
    curves = {head: _curve_to_json(curve) for head, curve in row.curves.items()}
    return {**data, "curves": curves, "cost": asdict(row.cost)}


def row_from_json(data: Mapping[str, Any]) -> Row:
    data = data if "curves" in data else _in_readings(data)
    places, machine = data.get("places"), data.get("machine")
    return Row(
        single=None if data["single"] is None else tuple(data["single"]),
        multi=tuple(data["multi"]),
        per_class=data["per_class"],
        validation={head: tuple(values) for head, values in data["validation"].items()},
        curves={head: _curve_from_json(curve) for head, curve in data["curves"].items()},
        cost=Cost(**data["cost"]),
        parameters_sha256=data["parameters_sha256"],
        union=data["union"],
        places=None if places is None else tuple(places),
        machine=None if machine is None else Machine(*machine),
        notes=data.get("notes", {}),
    )


def _in_readings(data: Mapping[str, Any]) -> dict[str, Any]:
    """A row of an older store, which had one reading of most things and did not name it."""
    head = "multi" if data["single"] is None else "single"
    names = ("per_class", "curve", "union")
    named = {name: {} if data.get(name) in (None, {}) else {head: data[name]} for name in names}
    validation = {name: values for name, values in data["validation"].items() if name in (head, "multi")}
    return {**data, **named, "curves": named["curve"], "validation": validation}


def _curve_to_json(curve: Curve) -> dict[str, Any]:
    """What was measured; a curve of the current task alone has steps and accuracy only."""
    return {name: values for name, values in asdict(curve).items() if values}


def _curve_from_json(data: Mapping[str, Any]) -> Curve:
    tasks = tuple(tuple(values) for values in data.get("tasks", ()))
    plain = {name: tuple(values) for name, values in data.items() if name != "tasks"}
    return Curve(**plain, tasks=tasks)


def at_stop(row: Row, step: int) -> Row:
    """What was measured in the middle of a lesson, in place of its end: no accuracy of single classes. A reading that
    has no curve is not known there."""
    found = {head: (curve, curve.steps.index(step)) for head, curve in row.curves.items()}
    tasks = {head: curve.tasks[moment] for head, (curve, moment) in found.items()}
    return replace(
        row,
        single=None if row.single is None else tasks.get("single", _unknown(row.single)),
        multi=tasks.get("multi", _unknown(row.multi)),
        union={head: curve.union[moment] for head, (curve, moment) in found.items()},
        per_class={},
        validation={},
    )


def _unknown(values: Sequence[float]) -> tuple[float, ...]:
    return (math.nan,) * len(values)


@dataclass(frozen=True)
class Ideals:
    """What the offline models reached (`engram.offline`): of the first session, or of each dataset alone; of
    everything seen after each session, if that was asked for; and how their settings were chosen."""

    alone: tuple[Row, ...]
    seen: tuple[Row, ...] = ()
    decisions: tuple[Mapping[str, Any], ...] = ()
    modalities: bool = False  # whether the sessions are different datasets


@dataclass(frozen=True)
class Record:
    """One learner's life on one stream with one seed. A result is never shown without the protocol that chose it."""

    stream: str
    learner: str
    network: str
    settings: Mapping[str, Any]
    protocol: str
    head: str
    seed: int
    key: str
    status: str
    error: str | None
    rows: tuple[Row, ...]
    chosen: tuple[Mapping[str, Any], ...]  # the settings that the protocol kept, task by task
    joint: tuple[float, ...] | None = None  # a*_k, where references were asked for
    isolated: tuple[float, ...] | None = None
    stream_spec: Mapping[str, Any] = field(default_factory=dict)
    stop: int | None = None  # steps of the last task after which the protocol stops; the last row was measured there
    error_kind: str | None = None
    ties: int = 0  # how many other choices were as good as the one that the protocol made
    decisions: tuple[Mapping[str, Any], ...] = ()  # how the protocol came to choose: see `protocols.Decision`
    search_flops: int | None = None  # operations of everything that was grown to choose from; None: not recorded
    warning: str = ""  # what a reader must know about the way in which the protocol chose
    ideals: Ideals | None = None  # where offline models were asked for
    evaluate: str = "all"  # after which tasks which of those seen were measured
    moments: tuple[int, ...] = ()  # steps of every task at which a learning curve was asked for
    beside: Mapping[str, Any] = field(default_factory=dict)  # beside settings: the share held out, digests of own code

    @property
    def accuracy(self) -> list[list[float]]:
        """Row k: test accuracy on tasks 1 … k after task k, read with this record's head; nan where not measured."""
        return [_line(row, self.head, seen) for seen, row in enumerate(self.rows, 1)]

    @property
    def per_class(self) -> list[Mapping[str, float]]:
        """After every task: the accuracy on each class seen, by class number, read with this record's head."""
        return [row.per_class.get(row.reading(self.head), {}) for row in self.rows]

    @property
    def curves(self) -> list[Curve | None]:
        """The learning curve of every task, read with this record's head; None where that was not measured."""
        return [row.curves.get(row.reading(self.head)) for row in self.rows]

    @property
    def bytes(self) -> Mapping[str, int]:
        return self.rows[-1].cost.bytes if self.rows else {"total": 0}

    @property
    def flops(self) -> int:
        return self.rows[-1].cost.flops if self.rows else 0

    @property
    def uncounted(self) -> str:
        """Kinds of layers whose operations `flops` leaves out."""
        return self.rows[-1].cost.uncounted if self.rows else ""

    @property
    def seconds(self) -> float:
        return sum(row.cost.seconds for row in self.rows)

    @property
    def parameters_sha256(self) -> str | None:
        return self.rows[-1].parameters_sha256 if self.rows else None

    @property
    def machines(self) -> list[Machine]:
        """The kinds of machines that grew its nodes, as far as they are known."""
        return list(dict.fromkeys(row.machine for row in self.rows if row.machine is not None))

    def metrics(self) -> dict[str, float]:
        """Every metric that this record defines; one that is not defined is nan."""
        found = metrics.summary(
            self.accuracy,
            per_class=(self.per_class[-1] if self.rows else {}).values() or None,
            union=self.union,
            intransigence_reference=list(self.joint) if self.joint else None,
            isolated=list(self.isolated) if self.isolated else None,
            curves=self._beginnings() or None,
        )
        return found | self._omegas()

    @property
    def alphas(self) -> Alphas:
        """After every task the accuracy on the first session, on the newest and on everything seen, as Ω has them."""
        return omega.alphas(self.rows, self.head, omega.groups_of(self.rows, self.head))

    def _omegas(self) -> dict[str, float]:
        offline = self.offline()
        if self.ideals is None or offline is None or not self.rows:
            return {}
        return omega.omegas(self.alphas, *offline, self.ideals.modalities)

    def offline(self) -> tuple[tuple[float, ...], Alphas | None] | None:
        """What the offline models reached: that of the first session on it, or of each dataset on its own; those of
        everything seen as `alphas` has it, if they were asked for."""
        if self.ideals is None:
            return None
        groups = omega.groups_of(self.rows, self.head)
        seen = omega.alphas(self.ideals.seen, self.head, groups) if self.ideals.seen else None
        return omega.ideals(self.ideals.alone, self.head, groups), seen

    def _beginnings(self) -> list[list[float]]:
        """The learning curves that were asked for, as LCA reads them. One that an older store has in the other reading
        only is unknown; those that a protocol measures for itself do not count."""
        asked = [row.curves.values() for row in self.rows]
        return [
            [math.nan] if curve is None else curve_by_step(curve, max(self.moments, default=-1))
            for curve, known in zip(self.curves, asked, strict=True)
            if known and not any(other.union for other in known)
        ]

    @property
    def marked_protocol(self) -> str:
        """The protocol's name, with a mark where its results come with a warning."""
        return f"{self.protocol}*" if self.warning else self.protocol

    @property
    def union(self) -> float | None:
        """Accuracy on the test samples of all tasks together, after the last one, read with this record's head."""
        return self.rows[-1].union.get(self.rows[-1].reading(self.head)) if self.rows else None

    def _offline_json(self) -> dict[str, Any] | None:
        offline = self.offline()
        if self.ideals is None or offline is None:
            return None
        alone, seen = offline
        decisions = [dict(decision) for decision in self.ideals.decisions]
        return {"alone": list(alone), "seen": None if seen is None else seen.to_json(), "decisions": decisions}

    def to_json(self) -> dict[str, Any]:
        """One run as the command line's --json shows it."""
        return {
            "seed": self.seed,
            "key": self.key,
            "status": self.status,
            "error": self.error,
            "head": self.head,
            "evaluate": self.evaluate,
            "accuracy": self.accuracy,
            "per_class": self.per_class,
            "curves": [None if curve is None else _curve_to_json(curve) for curve in self.curves],
            "bytes": dict(self.bytes),
            "flops": self.flops,
            "uncounted": self.uncounted,
            "search_flops": self.search_flops,
            "seconds": self.seconds,
            "parameters_sha256": self.parameters_sha256,
            "chosen": [dict(settings) for settings in self.chosen],
            "decisions": [dict(decision) for decision in self.decisions],
            "joint": None if self.joint is None else list(self.joint),
            "isolated": None if self.isolated is None else list(self.isolated),
            "alphas": self.alphas.to_json(),
            "offline": self._offline_json(),
            "stop": self.stop,
            "ties": self.ties,
            "warning": self.warning,
            "machines": list(map(str, self.machines)),
            "notes": [dict(row.notes) for row in self.rows],
        }


def _line(row: Row, head: str, seen: int) -> list[float]:
    """The accuracy on every task seen, nan on those that were not measured."""
    if row.places is None:
        return list(row.accuracy(head))
    line = [math.nan] * seen
    for place, value in zip(row.places, row.accuracy(head), strict=True):
        line[place] = value
    return line


def curve_by_step(curve: Curve, last: int = -1) -> list[float]:
    """A curve measured at 0, 1, 2, … as a plain list: what LCA reads. It ends at the first gap, or at the `last` step
    that was asked for; what follows is not a number, because a curve that merely ends is taken to go on as it was.

    >>> curve_by_step(Curve((0, 1, 2, 5), (0.1, 0.2, 0.3, 0.6)))
    [0.1, 0.2, 0.3, nan]
    >>> curve_by_step(Curve((0, 1), (0.1, 0.2))), curve_by_step(Curve((0, 1), (0.1, 0.2)), last=1)
    ([0.1, 0.2], [0.1, 0.2, nan])
    """
    values: list[float] = []
    for step, value in zip(curve.steps, curve.accuracy, strict=True):
        if step != len(values):
            return [*values, math.nan]
        values.append(value)
    return [*values, math.nan] if len(values) == last + 1 else values


def makers(record: Record) -> dict[int, list[int]]:
    """Of every task that has a path, numbered from 1, which task made the module in each layer. An adapter and the
    first module behind it are one that is new."""
    first: dict[tuple[int, int], int] = {}
    paths = {task: row.notes["path"] for task, row in enumerate(record.rows, 1) if "path" in row.notes}
    return {task: [first.setdefault(module, task) for module in enumerate(path)] for task, path in paths.items()}
