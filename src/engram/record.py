"""The record of a run: what was measured on its path through the tree, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from engram import metrics
from engram.core import Cost, Curve, Row


def row_to_json(row: Row) -> dict[str, Any]:
    return asdict(row)


def row_from_json(data: Mapping[str, Any]) -> Row:
    curve = data["curve"]
    return Row(
        single=None if data["single"] is None else tuple(data["single"]),
        multi=tuple(data["multi"]),
        per_class=data["per_class"],
        validation={head: tuple(values) for head, values in data["validation"].items()},
        curve=None if curve is None else _curve_from_json(curve),
        cost=Cost(**data["cost"]),
        parameters_sha256=data["parameters_sha256"],
        union=data.get("union"),
    )


def _curve_to_json(curve: Curve) -> dict[str, Any]:
    """What was measured; a curve of the current task alone has steps and accuracy only."""
    return {name: values for name, values in asdict(curve).items() if values}


def _curve_from_json(data: Mapping[str, Any]) -> Curve:
    tasks = tuple(tuple(values) for values in data.get("tasks", ()))
    plain = {name: tuple(values) for name, values in data.items() if name != "tasks"}
    return Curve(**plain, tasks=tasks)


def at_stop(row: Row, step: int) -> Row:
    """What was measured in the middle of a lesson, in place of its end. There is one reading of the head, and no
    accuracy of single classes."""
    assert row.curve is not None
    moment = row.curve.steps.index(step)
    tasks = row.curve.tasks[moment]
    single = None if row.single is None else tasks
    return replace(row, single=single, multi=tasks, union=row.curve.union[moment], per_class={}, validation={})


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
    ties: int = 0  # how many other choices were as good as the one that the protocol made
    warning: str = ""  # what a reader must know about the way in which the protocol chose

    @property
    def accuracy(self) -> list[list[float]]:
        """Row k: test accuracy on tasks 1 … k after task k, read with this record's head."""
        return [list(self.read(row)) for row in self.rows]

    def read(self, row: Row) -> tuple[float, ...]:
        return row.multi if self.head == "multi" or row.single is None else row.single

    @property
    def per_class(self) -> list[Mapping[str, float]]:
        """After every task: the accuracy on each class seen, by class number; single-head where that exists."""
        return [row.per_class for row in self.rows]

    @property
    def curves(self) -> list[Curve | None]:
        return [row.curve for row in self.rows]

    @property
    def bytes(self) -> Mapping[str, int]:
        return self.rows[-1].cost.bytes if self.rows else {"total": 0}

    @property
    def flops(self) -> int:
        return self.rows[-1].cost.flops if self.rows else 0

    @property
    def seconds(self) -> float:
        return sum(row.cost.seconds for row in self.rows)

    @property
    def parameters_sha256(self) -> str | None:
        return self.rows[-1].parameters_sha256 if self.rows else None

    def metrics(self) -> dict[str, float]:
        """Every metric that this record defines; one that is not defined is nan."""
        curves = [curve_by_step(row.curve) for row in self.rows if row.curve is not None and not row.curve.union]
        return metrics.summary(
            self.accuracy,
            union=self.union,
            intransigence_reference=list(self.joint) if self.joint else None,
            isolated=list(self.isolated) if self.isolated else None,
            curves=curves or None,
        )

    @property
    def marked_protocol(self) -> str:
        """The protocol's name, with a mark where its results come with a warning."""
        return f"{self.protocol}*" if self.warning else self.protocol

    @property
    def union(self) -> float | None:
        """Accuracy on the test samples of all tasks together, after the last one."""
        readable = bool(self.rows) and (self.head == "single" or self.rows[-1].single is None)
        return self.rows[-1].union if readable else None

    def to_json(self) -> dict[str, Any]:
        """One run as the command line's --json shows it."""
        return {
            "seed": self.seed,
            "key": self.key,
            "status": self.status,
            "error": self.error,
            "accuracy": self.accuracy,
            "per_class": self.per_class,
            "curves": [None if curve is None else _curve_to_json(curve) for curve in self.curves],
            "bytes": dict(self.bytes),
            "flops": self.flops,
            "seconds": self.seconds,
            "parameters_sha256": self.parameters_sha256,
            "chosen": [dict(settings) for settings in self.chosen],
            "joint": None if self.joint is None else list(self.joint),
            "isolated": None if self.isolated is None else list(self.isolated),
            "stop": self.stop,
            "ties": self.ties,
            "warning": self.warning,
        }


def curve_by_step(curve: Curve) -> list[float]:
    """A curve measured at 0, 1, 2, … as a plain list, up to the first gap: what LCA reads."""
    values: list[float] = []
    for step, value in zip(curve.steps, curve.accuracy, strict=True):
        if step != len(values):
            break
        values.append(value)
    return values
