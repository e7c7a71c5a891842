"""Records of several seeds as one line: mean, standard deviation, how many."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from engram.metrics import spread
from engram.record import Record


def done(records: Iterable[Record]) -> list[Record]:
    return [record for record in records if record.status == "done"]


def machines(records: Iterable[Record]) -> list[str]:
    """The kinds of machines on which these were trained, as far as they are known."""
    return list(dict.fromkeys(str(machine) for record in records for machine in record.machines))


def metric_spreads(records: Sequence[Record]) -> dict[str, dict[str, float]]:
    """Every metric over the runs that are done. A failed run is counted in none and shown as failed."""
    values = [record.metrics() for record in done(records)]
    names = dict.fromkeys(name for value in values for name in value)
    return {name: spread([value.get(name, math.nan) for value in values]) for name in names}


def cost_spreads(records: Sequence[Record]) -> dict[str, dict[str, float]]:
    finished = done(records)
    return {
        "bytes": spread([float(record.bytes["total"]) for record in finished]),
        "flops": spread([float(record.flops) for record in finished]),
        "search_flops": spread([float(record.search_flops or record.flops) for record in finished]),
        "seconds": spread([record.seconds for record in finished]),
    }


def by_method(records: Iterable[Record]) -> list[list[Record]]:
    """Records that differ only in their seed, together, in the order in which they came. A seed counts once, whatever
    was measured beside the accuracies."""

    def method(record: Record) -> str:
        stream = {name: value for name, value in record.stream_spec.items() if name != "seed"}
        how = (record.stream, sorted(stream.items()), record.learner, record.network, record.head, record.protocol)
        return repr((how, record.evaluate, sorted(record.settings.items(), key=str), sorted(record.beside.items())))

    places: dict[str, int] = {}
    listed = list(records)
    for record in listed:
        places.setdefault(method(record), len(places))
    ordered = sorted(listed, key=lambda record: places[method(record)])
    groups = [part for _, group in groupby(ordered, key=method) for part in _by_stream_seed(list(group))]
    return [_each_seed_once(group) for group in groups]


def _by_stream_seed(group: list[Record]) -> list[list[Record]]:
    """Those whose stream is drawn by their own seed, and those who share the stream of one seed: what one of the others
    shares with itself is in both."""
    drawn = {record.key: record.stream_spec.get("seed", record.seed) for record in group}
    shared = dict.fromkeys(drawn[record.key] for record in group if record.seed != drawn[record.key])
    own = [record for record in group if record.seed == drawn[record.key]]
    parts = {"own": own} if any(record.seed not in shared for record in own) else {}
    parts |= {str(seed): [record for record in group if drawn[record.key] == seed] for seed in shared}
    if len(parts) < 2:
        return [group]
    return [[replace(r, beside={**r.beside, "stream_seed": seed}) for r in part] for seed, part in parts.items()]


def _each_seed_once(group: Sequence[Record]) -> list[Record]:
    """Of several runs of one seed the one that measured most, with what only others measured."""
    found: dict[int, list[Record]] = {}
    for record in group:
        found.setdefault(record.seed, []).append(record)
    return [_joined(max(records, key=_extent), records) for records in found.values()]


def _joined(record: Record, others: Sequence[Record]) -> Record:
    """A record with the learning curves and references of others that came to the same parameters."""
    for other in others:
        if other.status != record.status or other.parameters_sha256 != record.parameters_sha256:
            continue
        if other.moments and not record.moments:
            record = replace(record, rows=other.rows, moments=other.moments)
        for name in ("joint", "isolated", "ideals"):
            if getattr(record, name) is None and getattr(other, name) is not None:
                record = replace(record, **{name: getattr(other, name)})
    return record


def _extent(record: Record) -> tuple[bool, int, int]:
    references = (record.joint, record.isolated, record.ideals)
    return record.status == "done", sum(each is not None for each in references), len(record.moments)


def plain(value: Any) -> Any:
    """A value as strict JSON: not-a-number and infinities become null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict) or hasattr(value, "items"):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return value
