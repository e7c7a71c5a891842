"""How the runs of Veniat et al. 2021 become tables: all are views of the same cells, learner × stream."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from engram.metrics import spread
from engram.papers.cross_table import Cells, by_cell
from engram.papers.paper import Answer
from engram.papers.published import printed
from engram.papers.veniat2021_models import (
    ABLATION,
    ALEXNET,
    ALEXNET_ALONE,
    FALLS,
    INDEPENDENT,
    STREAM_LEVEL,
    STREAMS,
    TRANSFER,
    WIDE,
)
from engram.record import Record
from engram.reports.content import Column, Number, Table, TableRow
from engram.reports.summary import done

MEGA = 1e6
NAMES = {"New-head": "New-head freeze", "New-leg": "New-leg freeze", "On. EWC": "Online EWC"}  # of Tables 1 and 2
WIDE_HAT = 100.0  # MB: a row of Table 16 is printed without its (Wide), and known by its size


class Pair(NamedTuple):
    """A run, and those of Independent on the same stream with the same seed: the one that the paper compares with, and
    the one with the AlexNet."""

    record: Record
    alone: Record | None
    alexnet: Record | None = None

    def against(self, read: Callable[[Record], float], relate: Callable[[float, float], float]) -> float:
        return math.nan if self.alone is None else relate(read(self.record), read(self.alone))


class Measure(NamedTuple):
    """What stands in a column: how it is read of a run, and what the paper's column is called; `share`: what is printed
    is compared with what is printed for Independent."""

    column: Column
    read: Callable[[Pair], float]
    printed: tuple[str, ...] = ()
    share: bool = False


def first(record: Record) -> float:
    """Accuracy on the first task when it was learned."""
    return record.accuracy[0][0]


def last(record: Record) -> float:
    return record.accuracy[-1][-1]


def megabytes(record: Record) -> float:
    return record.bytes["total"] / MEGA


def operations(record: Record) -> float:
    return float(record.flops)


def _metric(name: str) -> Callable[[Pair], float]:
    return lambda pair: pair.record.metrics().get(name, math.nan)


def _difference(ours: float, other: float) -> float:
    return ours - other


def _ratio(ours: float, other: float) -> float:
    return ours / other if other else math.nan


FIRST = Measure(Column("first", "acc T1", 2), lambda pair: first(pair.record), ("acc_T1",))
LAST = Measure(Column("last", "acc last", 2), lambda pair: last(pair.record), ("acc_T1_prime", "acc_T5"))
DELTA = Measure(
    Column("delta", "Δ", 2, signed=True), lambda pair: last(pair.record) - first(pair.record), ("delta_T1_T1prime",)
)
GAIN = Measure(
    Column("transfer", "T", 2, signed=True),
    lambda pair: pair.against(last, _difference),
    ("transfer", "delta_T5prime_T5"),
)
OWN_GAIN = Measure(
    Column("transfer_alexnet", "T *", 2, signed=True),
    lambda pair: math.nan if pair.alexnet is None else last(pair.record) - last(pair.alexnet),
)
AVERAGE = Measure(Column("average_accuracy", "A", 2), _metric("average_accuracy"), ("avg_acc",))
FORGETTING = Measure(Column("forgetting_ctrl", "F", 2), _metric("forgetting_ctrl"), ("forgetting",))
MEMORY = Measure(Column("megabytes", "MB", 1), lambda pair: megabytes(pair.record), ("mem_mb",))
SIZE = Measure(
    Column("memory_share", "memory / Indep.", 2), lambda pair: pair.against(megabytes, _ratio), ("mem_mb",), True
)
COMPUTE = Measure(
    Column("compute_share", "FLOPs / Indep.", 2),
    lambda pair: pair.against(operations, _ratio),
    ("tflops", "pflops"),
    True,
)
SPEED = Measure(Column("lca", "LCA@5", 2), _metric("lca"), ("lca5",))

TOTALS = (AVERAGE, FORGETTING, MEMORY, SIZE, COMPUTE)
STANDARD = (*TOTALS, SPEED)
DETAILS = (FIRST, LAST, DELTA, GAIN, OWN_GAIN, *STANDARD)
UNRELATED = (LAST, GAIN, OWN_GAIN, *STANDARD)  # where the first and the last task have nothing in common


@lru_cache(maxsize=16)
def published_rows(table: str) -> Mapping[str, Mapping[str, str]]:
    """A printed table by learner, marked as ours are."""
    rows = {}
    for row in printed("veniat2021", table):
        name = NAMES.get(row["model"], row["model"])
        if name == "HAT" and float(row["mem_mb"]) > WIDE_HAT:
            name = "HAT (Wide)"
        rows[name + ALEXNET * (row["alexnet"] == "1") + STREAM_LEVEL * (row["stream_cv"] == "1")] = row
    return rows


def published(table: str, model: str, measure: Measure, or_resnet: bool = True) -> float | None:
    """What the paper prints for a learner; `or_resnet`: one with the AlexNet that is not printed stands beside its
    ResNet's."""
    rows = published_rows(table)
    ours = _printed(rows.get(model) or rows.get(model.replace(ALEXNET, "", int(or_resnet))), measure)
    if ours is None or not measure.share:
        return ours
    alone = _printed(rows[INDEPENDENT], measure)
    return ours / alone if alone else None


def _printed(row: Mapping[str, str] | None, measure: Measure) -> float | None:
    texts = [row[name] for name in measure.printed if name in row] if row else []
    try:
        return float(texts[0]) if texts else None
    except ValueError:  # "-" and "~ 0"
        return None


def models(cells: Cells) -> list[str]:
    return list(dict.fromkeys(model for model, _, _ in cells))


def pairs(cells: Cells, model: str, stream: str) -> list[Pair]:
    """The finished runs of a learner on a stream, all instances of it, each beside Independent's: the one with the
    AlexNet takes the place of the other only where nobody has a ResNet."""
    found, only_alexnets = [], all(ALEXNET in name for name in models(cells))
    for (_, _, variant), answer in ((key, a) for key, a in cells.items() if key[:2] == (model, stream)):
        names = (INDEPENDENT, ALEXNET_ALONE)
        resnet, alexnet = (_by_seed(cells.get((name, stream, variant))) for name in names)
        for record in done(answer.records):
            alone = alexnet if only_alexnets else resnet
            found.append(Pair(record, alone.get(record.seed), alexnet.get(record.seed)))
    return found


def _by_seed(answer: Answer | None) -> dict[int, Record]:
    return {record.seed: record for record in done(answer.records)} if answer else {}


def _has(cells: Cells, model: str, stream: str) -> bool:
    return any(key[:2] == (model, stream) for key in cells)


def value(cells: Cells, model: str, stream: str, measure: Measure) -> float:
    """The mean over seeds and instances; KeyError where there is no such row, or nothing to compare it with."""
    if not _has(cells, model, stream):
        raise KeyError((model, stream))
    found = spread([measure.read(pair) for pair in pairs(cells, model, stream)])["mean"]
    if math.isnan(found):
        raise KeyError(f"{measure.column.title} of {model} {stream}")
    return found


def number(
    cells: Cells, model: str, stream: str, measure: Measure, sizes: bool, table: str | None = None
) -> Number | None:
    """A cell of the table of a stream, or of another that prints the same. A search that looks at all samples before
    its first step has no speed of learning; only a learner with the AlexNet is compared with that."""
    if not _has(cells, model, stream) or (measure is SPEED and WIDE in model):
        return None
    if measure is OWN_GAIN and ALEXNET not in model:
        return None
    values = [measure.read(pair) for pair in pairs(cells, model, stream)]
    found = spread(values)
    return Number(found["mean"], found["std"], len(values), _beside(cells, model, stream, measure, sizes, table))


def _beside(
    cells: Cells, model: str, stream: str, measure: Measure, sizes: bool, table: str | None = None
) -> float | None:
    """What was published. Sizes in MB are the paper's only where the networks are; and where ours are compared with
    Independent on the AlexNet, which the paper does not have, nothing of it stands beside them. Where there are
    ResNets too, none of those stands beside an AlexNet; and never their sizes."""
    resnets = _has(cells, INDEPENDENT, stream)
    if (measure is MEMORY and not sizes) or (measure in (GAIN, SIZE, COMPUTE) and not resnets):
        return None
    return published(table or STREAMS[stream].table, model, measure, or_resnet=not resnets and measure is not MEMORY)


def stream_table(
    stream: str, measures: Sequence[Measure], sizes: bool, table: str | None = None
) -> Callable[[Sequence[Answer]], list[Table]]:
    """Tables 2 and 11 to 18: every learner on one stream."""

    def shown(answers: Sequence[Answer]) -> list[Table]:
        cells = by_cell(answers)
        both = _has(cells, INDEPENDENT, stream) and _has(cells, ALEXNET_ALONE, stream)
        columns = [measure for measure in measures if both or measure is not OWN_GAIN]
        rows = [
            TableRow((model,), tuple(number(cells, model, stream, measure, sizes, table) for measure in columns))
            for model in models(cells)
        ]
        title = f"{_data(answers)}: published / ours"
        return [Table(("learner",), tuple(measure.column for measure in columns), tuple(rows), title, "pairs")]

    return shown


def _data(answers: Sequence[Answer]) -> str:
    """The stream as it is, with the datasets that it was made of."""
    return ", ".join(dict.fromkeys(str(record.stream) for answer in answers for record in answer.records))


def total_table(sizes: bool) -> Callable[[Sequence[Answer]], list[Table]]:
    """Table 1: means over the transfer streams, and the transfer on each. What is published is taken from Tables 13 to
    17, which have a digit more and can be averaged over the streams that are there."""

    def shown(answers: Sequence[Answer]) -> list[Table]:
        cells = by_cell(answers)
        there = transfer_streams(cells)
        gains = tuple(Column(f"transfer_{s}", f"T({s})", 2, signed=True) for s in there)
        rows = [TableRow((model,), tuple(total(cells, model, sizes))) for model in models(cells)]
        columns = (*(measure.column for measure in TOTALS), *gains)
        title = f"published (Tables 13 to 17) / ours; means are over {', '.join(there)}"
        return [Table(("learner",), columns, tuple(rows), title, "pairs")]

    return shown


def total(cells: Cells, model: str, sizes: bool = False) -> Iterable[Number | None]:
    streams = transfer_streams(cells)
    for measure in TOTALS:
        printed = [_beside(cells, model, stream, measure, sizes) for stream in streams]
        known = [value for value in printed if value is not None]
        beside = sum(known) / len(known) if len(known) == len(streams) else None
        yield over_streams(cells, model, measure, beside)
    for stream in streams:
        yield number(cells, model, stream, GAIN, sizes)


def transfer_streams(cells: Cells) -> list[str]:
    """Those of the transfer streams that any learner was asked for."""
    there = {stream for _, stream, _ in cells}
    return [stream for stream in TRANSFER if stream in there]


def over_streams(cells: Cells, model: str, measure: Measure, beside: float | None = None) -> Number | None:
    """The mean over the transfer streams that were asked for, seed by seed; None where the learner lacks one."""
    by_seed: dict[int, list[float]] = {}
    streams = transfer_streams(cells)
    for stream in streams:
        for pair in pairs(cells, model, stream):
            by_seed.setdefault(pair.record.seed, []).append(measure.read(pair))
    means = [sum(values) / len(values) for values in by_seed.values() if len(values) == len(streams)]
    if not means:
        return None
    found = spread(means)
    return Number(found["mean"], found["std"], len(means), beside)


def ablation_table(answers: Sequence[Answer]) -> list[Table]:
    """How much of Δ is lost by each change of the search: published / ours."""
    cells = by_cell(answers)
    streams = transfer_streams(cells)
    rows = []
    for model in models(cells):
        change = next((name for name in ABLATION if model.endswith(name)), "")
        base = model.removesuffix(f" {change}") if change else model
        numbers = [number(cells, model, s, DELTA, False) for s in streams]
        numbers += [_fall(cells, model, base, s, FALLS.get((change, s))) for s in streams]
        rows.append(TableRow((model,), tuple(numbers)))
    columns = [Column(f"delta_{s}", f"Δ {s}", 2, signed=True) for s in streams]
    columns += [Column(f"fall_{s}", f"change of Δ {s}", 2, signed=True) for s in streams]
    return [Table(("search",), tuple(columns), tuple(rows), "published / ours", "pairs")]


def _fall(cells: Cells, model: str, base: str, stream: str, beside: float | None) -> Number | None:
    """Δ less that of the search as it is, seed by seed."""
    if not _has(cells, base, stream):
        return None
    before = {pair.record.seed: DELTA.read(pair) for pair in pairs(cells, base, stream)}
    after = {pair.record.seed: DELTA.read(pair) for pair in pairs(cells, model, stream)}
    falls = [value - before[seed] for seed, value in after.items() if seed in before]
    found = spread(falls)
    return Number(found["mean"], found["std"], len(falls), beside)
