"""Runs as a table of methods: mean and standard deviation over seeds, as the terminal shows them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from engram.errors import BadRecord, UnknownName
from engram.metrics import METRICS, SHOWN_AS
from engram.record import Record
from engram.reports.content import Column, Number, Table, TableRow
from engram.reports.listing import differing
from engram.reports.summary import by_method, cost_spreads, done, metric_spreads
from engram.reports.tables import PREFIXES, power_of

USUAL = ("average_accuracy", "forgetting_rwalk", "bytes", "flops", "seconds")  # what 'engram demo' has in its columns
COLUMNS = {
    **{name: Column(name, name.replace("_", " ")) for name in METRICS},
    "average_accuracy": Column("average_accuracy", "accuracy"),
    "forgetting_rwalk": Column("forgetting_rwalk", "forgetting"),
    "bytes": Column("bytes", "memory (B)", digits=1),
    "flops": Column("flops", "compute (FLOP)", digits=1),
    "search_flops": Column("search_flops", "compute with search (FLOP)", digits=1),
    "seconds": Column("seconds", "time (s)", digits=2),
}
COUNTED = ("bytes", "flops", "search_flops")  # large whole numbers, shown in a multiple of their unit
UNKNOWN = {"mean": math.nan, "std": math.nan}


def means(records: Sequence[Record], metrics: Sequence[str] = USUAL) -> Table:
    """One row a method, failed ones too, but for runs on their way. Names that all share are left out, but for the
    learner's."""
    columns = [column_of(name) for name in metrics]
    groups = by_method(record for record in records if record.status != "pending")
    if not groups:
        raise BadRecord("none of these runs is done; 'engram resume' goes on with them")
    about = [_about(group[0]) for group in groups]
    for names, own in zip(about, _settings([group[0] for group in groups]), strict=True):
        names["settings"] = own
    shown = [name for name in about[0] if name == "learner" or len({names[name] for names in about}) > 1]
    numbers = [shown_numbers(group, columns) for group in groups]
    columns = [in_unit(column, some) for column, some in zip(columns, zip(*numbers), strict=True)]
    rows = [TableRow(tuple(names[n] for n in shown), tuple(own)) for names, own in zip(about, numbers, strict=True)]
    title = " · ".join([*(value for name, value in about[0].items() if name not in shown and value), _seeds(groups)])
    return Table(tuple(shown), tuple(columns), tuple(rows), title)


def in_unit(column: Column, numbers: Sequence[Number]) -> Column:
    """Costs are shown in the multiple of their unit that suits the smallest of them."""
    if column.metric not in COUNTED:
        return column
    power = power_of(min((number.mean for number in numbers if number.mean >= 1), default=1.0))
    return replace(column, title=column.title.replace("(", f"({PREFIXES[power]}"), scale=1000.0**-power)


def mean_rows(records: Sequence[Record], metrics: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The same as flat rows for machines, with every name and, unless some are asked for, every metric."""
    columns = [column_of(name) for name in metrics or COLUMNS]
    groups = by_method(records)
    settings = _settings([group[0] for group in groups])
    rows: list[dict[str, Any]] = []
    for group, own in zip(groups, settings, strict=True):
        rows.append(
            {**_about(group[0]), "settings": own, "n": len(done(group)), "not_done": len(group) - len(done(group))}
        )
        for column, number in zip(columns, numbers_of(group, columns), strict=True):
            rows[-1] |= {f"{column.metric}_mean": known(number.mean), f"{column.metric}_std": known(number.std)}
    return rows


def known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _seeds(groups: Sequence[Sequence[Record]]) -> str:
    counts = sorted({len(done(group)) for group in groups})
    many = "–".join(map(str, dict.fromkeys([counts[0], counts[-1]])))
    return f"mean and standard deviation over {many} seeds" if many != "1" else "one seed"


def column_of(metric: str) -> Column:
    if metric not in COLUMNS:
        raise UnknownName("metric", metric, COLUMNS, SHOWN_AS.get(metric))
    return COLUMNS[metric]


def _about(record: Record) -> dict[str, str]:
    return {
        "stream": record.stream,
        "learner": record.learner,
        "network": record.network,
        "protocol": record.marked_protocol,
        "head": record.head,
    }


def _settings(records: Sequence[Record]) -> list[str]:
    """In what the methods of a learner differ from each other: those of other learners have other settings anyway."""
    found = [""] * len(records)
    for learner in {record.learner for record in records}:
        own = [place for place, record in enumerate(records) if record.learner == learner]
        for place, text in zip(own, differing([_all_settings(records[each]) for each in own]), strict=True):
            found[place] = text
    return found


def _all_settings(record: Record) -> dict[str, Any]:
    return {**record.settings, **record.stream_spec.get("options", {}), **record.beside}


def numbers_of(group: Sequence[Record], columns: Sequence[Column]) -> list[Number]:
    spreads = {**metric_spreads(group), **cost_spreads(group)}
    found = [spreads.get(column.metric, UNKNOWN) for column in columns]
    return [Number(each["mean"], each["std"], len(done(group))) for each in found]


def shown_numbers(group: Sequence[Record], columns: Sequence[Column]) -> list[Number]:
    """For people: what is counted and the same for all seeds has no deviation."""
    pairs = zip(columns, numbers_of(group, columns), strict=True)
    return [replace(n, std=math.nan) if column.metric in COUNTED and n.std == 0 else n for column, n in pairs]
