"""A run as one flat row of plain values, and rows as columns of one kind each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from engram.metrics import METRICS
from engram.record import Record
from engram.reports.tables import written

Flat = dict[str, Any]
MOST = 2**63  # whole numbers from here on are not one machine word


def flat(record: Record) -> Flat:
    """What was asked for, how it ended, every metric and what it cost. Settings begin with `setting_`, metrics have
    their names; what is not defined is None."""
    machines = record.machines
    return {
        "key": record.key,
        "stream": record.stream,
        "learner": record.learner,
        "network": record.network,
        "protocol": record.protocol,
        "head": record.head,
        "seed": record.seed,
        "evaluate": record.evaluate,
        "status": record.status,
        "error": record.error,
        "chosen_by_test_data": bool(record.warning),
        "warning": record.warning or None,
        "tasks_learned": len(record.rows),
        **_metrics(record),
        **_costs(record),
        "parameters_sha256": record.parameters_sha256,
        **{
            name: "; ".join(dict.fromkeys(getattr(m, name) for m in machines)) or None for name in ("torch", "platform")
        },
        "processor": "; ".join(dict.fromkeys(machine.capability for machine in machines)) or None,
        **{f"stream_{name}": _plain(value) for name, value in _of_stream(record.stream_spec).items()},
        **{f"setting_{name}": _plain(value) for name, value in record.settings.items()},
    }


def _metrics(record: Record) -> dict[str, float | None]:
    """Of a run that did not come to its end there are none: they would be those of other tasks."""
    values = record.metrics() if record.status == "done" else {}
    return {name: value if math.isfinite(value := values.get(name, math.nan)) else None for name in METRICS}


def _costs(record: Record) -> dict[str, Any]:
    if not record.rows:
        return dict.fromkeys(("bytes", "flops", "search_flops", "seconds", "uncounted"))
    uncounted = record.uncounted or None
    costs = {"flops": record.flops, "search_flops": record.search_flops, "seconds": record.seconds}
    return {"bytes": record.bytes["total"], **costs, "uncounted": uncounted}


def _of_stream(spec: Mapping[str, Any]) -> dict[str, Any]:
    """What the stream is made of, as far as it is plain."""
    named = {name: spec[name] for name in ("dataset", "tasks", "seed") if name in spec}
    return {**named, **spec.get("options", {})}


def _plain(value: Any) -> Any:
    """A number, truth or text as it is; several values as they are written on a command line."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return written(tuple(value) if isinstance(value, list) and _all_whole(value) else value)


def _all_whole(values: Sequence[Any]) -> bool:
    return all(isinstance(value, int) for value in values)


def columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Every name of any row, with a value for each row, all of one kind: numbers if all are numbers, else text."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: _of_one_kind([row.get(name) for row in rows]) for name in names}


def _of_one_kind(values: list[Any]) -> list[Any]:
    """
    >>> _of_one_kind([1, None, 0.5]), _of_one_kind([0.1, "0.1,0.01"]), _of_one_kind([True, None])
    ([1.0, None, 0.5], ['0.1', '0.1,0.01'], [True, None])
    """
    kinds = {type(value) for value in values if value is not None}
    make: Callable[[Any], Any]
    if kinds <= {int} and all(abs(value) < MOST for value in values if value is not None):
        return values
    if kinds in ({bool}, {str}):
        return values
    make = float if kinds <= {int, float} else written
    return [None if value is None else make(value) for value in values]
