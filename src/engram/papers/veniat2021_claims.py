"""What Veniat et al. 2021 find, and what we want beyond it, as sentences that are held or not held."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

from engram.metrics import spread
from engram.papers.cross_table import Cells, Key, by_cell
from engram.papers.paper import Answer, ByLabel, Claim
from engram.papers.veniat2021_models import (
    AGAIN,
    ALEXNET,
    INDEPENDENT,
    MODELS,
    MODULAR,
    STANDARD,
    TRANSFER,
    WIDE,
)
from engram.papers.veniat2021_tables import (
    AVERAGE,
    COMPUTE,
    FORGETTING,
    GAIN,
    SIZE,
    Measure,
    Pair,
    first,
    last,
    models,
    number,
    over_streams,
    pairs,
    published,
    published_rows,
    transfer_streams,
    value,
)
from engram.record import makers
from engram.reports.summary import done

CLAIMING = ("small", "paper")
SHARE, LITTLE, CLEARLY = 0.8, -0.05, 0.1
MODULES = 6  # of seven
ITSELF = MODULAR + ALEXNET  # on another network
OTHERS = [m for m, e in MODELS.items() if "transfer" in e.families and not e.ours and m not in (MODULAR, ITSELF)]
RESNETS = [model for model in OTHERS if ALEXNET not in model]
NEVER_FORGETS = (INDEPENDENT, "New-head freeze", "New-leg freeze", "PNN", "MNTDP-S", "MNTDP-S (k=all)", MODULAR, WIDE)
LONG_ORDER = (
    MODULAR,
    "MNTDP-S",
    INDEPENDENT,
    "New-head freeze",
    "HAT (Wide) * †",
    "Online EWC †",
    "HAT * †",
    "Finetune",
)


def claims_of(tier: str) -> Mapping[str, tuple[Claim, ...]]:
    """Of the tiers that have the paper's sizes of tasks."""
    return _CLAIMS if tier in CLAIMING else defaultdict(tuple)


def _said(text: str, holds: Callable[[Cells], bool], among: Callable[[Cells], str] = lambda cells: "") -> Claim:
    """A sentence about learners on streams; `among` names those that are there, where not all need to be."""
    return Claim(text, lambda rows: holds(_cells(rows)), lambda rows: among(_cells(rows)))


def _cells(rows: ByLabel) -> Cells:
    return by_cell(list(rows.values()))


def _mean(cells: Cells, model: str, measure: Measure) -> float:
    """Over the five transfer streams."""
    found = over_streams(cells, model, measure)
    if found is None or len(transfer_streams(cells)) < len(TRANSFER):
        raise KeyError(f"{model} on all five streams")
    if math.isnan(found.mean):
        raise KeyError(f"{measure.column.title} of {model}")
    return found.mean


def _same_seeds(cells: Cells, learners: Sequence[str]) -> Cells:
    """On each stream, of these learners the seeds alone that all of them have: another seed draws other tasks, and who
    has more of them would be compared on what the others never saw."""
    compared = {key: answer for key, answer in cells.items() if key[0] in learners}
    seeds: dict[Key, set[int]] = {key: {r.seed for r in done(answer.records)} for key, answer in compared.items()}

    def shared(key: Key) -> set[int]:
        return set.intersection(*(own for other, own in seeds.items() if other[1:] == key[1:]))

    narrowed = {k: replace(a, records=tuple(r for r in a.records if r.seed in shared(k))) for k, a in compared.items()}
    return {**cells, **narrowed}


def _possible(cells: Cells, stream: str) -> float:
    """What knowing the first task can bring on the last: the accuracy that was reached on the first, less what a
    network of its own reaches on the last."""
    found = [first(p.record) - last(p.alone) for p in pairs(cells, MODULAR, stream) if p.alone is not None]
    if not found:
        raise KeyError((INDEPENDENT, stream))
    return spread(found)["mean"]


def transfers(stream: str) -> Claim:
    return _said(
        f"{stream}: T of MNTDP-D is at least {SHARE:g} of what is possible, accuracy on task 1 less Independent's on "
        "the last",
        lambda cells: value(cells, MODULAR, stream, GAIN) >= SHARE * _possible(cells, stream),
    )


def remembered(stream: str) -> Claim:
    retaining = (MODULAR, "New-head freeze", "EWC †")
    return _said(
        f"{stream}: T of MNTDP-D, New-head freeze and EWC is at least {CLEARLY:g}",
        lambda cells: all(value(cells, model, stream, GAIN) >= CLEARLY for model in retaining),
    )


def unharmed(stream: str) -> Claim:
    return _said(
        f"{stream}: T of MNTDP-D is at least {LITTLE:g}",
        lambda cells: value(cells, MODULAR, stream, GAIN) >= LITTLE,
    )


def _reuses(cells: Cells) -> bool:
    found = [makers(pair.record) for pair in pairs(cells, MODULAR, "S-")]
    if not all(found) or not found:
        raise KeyError((MODULAR, "S-"))
    return all(sum(maker != max(own) for maker in own[max(own)]) >= MODULES for own in found)


def _rivals(cells: Cells, learners: Sequence[str], streams: Sequence[str]) -> list[str]:
    """Those of these learners that are there on all these streams."""
    found = [m for m in models(cells) if m in learners and all((m, stream, "") in cells for stream in streams)]
    if not found:
        raise KeyError(f"another learner on {', '.join(streams)}")
    return found


def _among(cells: Cells, learners: Sequence[str], streams: Sequence[str]) -> str:
    """How many of these learners something is compared with, where that is not all."""
    there, total = len(_rivals(cells, learners, streams)), len(learners)
    return "" if there == total else f"beside {there} of {total} others"


def _is_best(cells: Cells, model: str, others: Sequence[str], stream: str, measure: Measure) -> bool:
    """Whether it is ahead of each of the others, on the seeds that the two have."""
    duels = [(_same_seeds(cells, [model, other]), other) for other in others]
    return all(value(duel, model, stream, measure) > value(duel, other, stream, measure) for duel, other in duels)


def _best_on(cells: Cells, learners: Sequence[str]) -> int:
    """On how many streams MNTDP-D has the best A of all."""
    others = _rivals(cells, learners, TRANSFER)
    return sum(_is_best(cells, MODULAR, others, stream, AVERAGE) for stream in TRANSFER)


def best_of(which: str, learners: Sequence[str], published_on: str) -> Claim:
    """Itself with the AlexNet is not another learner; how the two compare is said."""

    def said(cells: Cells) -> str:
        found = [_among(cells, learners, TRANSFER)]
        if ITSELF in _rivals(cells, [*learners, ITSELF], TRANSFER):
            with suppress(KeyError):  # its runs failed, or have no seeds in common: the claim is not about it
                found.append(f"with {ITSELF} among them on {_best_on(cells, [*learners, ITSELF])}, published: on two")
        return "; ".join(filter(None, found))

    return _said(
        f"MNTDP-D has the best A of {which} on at least four streams (published: on {published_on})",
        lambda cells: _best_on(cells, learners) >= 4,
        said,
    )


def _who_never_forgets(cells: Cells) -> dict[str, list[Pair]]:
    """The finished runs of each."""
    found = {model: [p for stream in TRANSFER for p in pairs(cells, model, stream)] for model in models(cells)}
    return {model: runs for model, runs in found.items() if model in NEVER_FORGETS and runs}


def _never_forget(cells: Cells) -> bool:
    there = _who_never_forgets(cells)
    if not there:
        raise KeyError("any of them")
    return all(FORGETTING.read(pair) == 0 for runs in there.values() for pair in runs)


def _is_wide_kept(cells: Cells) -> bool:
    """On all five streams and by every finished run: a mean could be 0 where some forgot and others gained."""
    found = [FORGETTING.read(pair) for stream in TRANSFER for pair in pairs(cells, WIDE, stream)]
    return _mean(cells, WIDE, FORGETTING) == 0 and not any(found)


def highest(model: str, stream: str) -> Claim:
    """Of the paper's learners."""
    learners = [other for other in (*OTHERS, MODULAR, ITSELF) if other != model]

    return _said(
        f"{stream}: {model} has the highest T of the paper's learners",
        lambda cells: _is_best(cells, model, _rivals(cells, learners, [stream]), stream, GAIN),
        lambda cells: _among(cells, learners, [stream]),
    )


def _in_order(cells: Cells) -> bool:
    """Of the learners that were trained, at least three."""
    there = [model for model in LONG_ORDER if model in models(cells)]
    if len(there) < 3:
        raise KeyError("a third learner")
    cells = _same_seeds(cells, there)
    means = [value(cells, model, "S_long", AVERAGE) for model in there]
    return all(better > worse for better, worse in pairwise(means))


def _is_wider_better(cells: Cells) -> bool:
    cells = _same_seeds(cells, [WIDE, MODULAR])
    return _mean(cells, WIDE, AVERAGE) >= _mean(cells, MODULAR, AVERAGE) + 0.02


def shares_little(stream: str) -> Claim:
    return _said(
        f"{stream}: MNTDP-D shares hardly anything (memory at least 0.9 of Independent's)",
        lambda cells: value(cells, MODULAR, stream, SIZE) >= 0.9,
    )


def _grows(model: str) -> Claim:
    return _said(
        f"pMNIST: {model} reaches A ≥ 0.90 with F exactly 0",
        lambda cells: value(cells, model, "pMNIST", AVERAGE) >= 0.9 and value(cells, model, "pMNIST", FORGETTING) == 0,
    )


_TRANSFER_CLAIMS = (
    *map(transfers, AGAIN),
    _said(f"S-: the last task of MNTDP-D reuses at least {MODULES} modules of 7", _reuses),
    *map(unharmed, ("S_pl", "S+")),
    _said("Finetune forgets: F at most −0.25 on average", lambda cells: _mean(cells, "Finetune", FORGETTING) <= -0.25),
    best_of("the paper's learners with the ResNet", RESNETS, "all five"),
    best_of("the paper's learners", OTHERS, "four"),
    _said(
        "F is exactly 0 for Independent, frozen New-head and New-leg, PNN and MNTDP",
        _never_forget,
        lambda cells: f"there are {', '.join(_who_never_forgets(cells))}",
    ),
    *map(remembered, AGAIN),
    highest("New-leg freeze", "S_in"),
    _said(f"S_in: T of EWC is at least {CLEARLY:g}", lambda cells: value(cells, "EWC †", "S_in", GAIN) >= CLEARLY),
    _said(
        f"S_pl: T of EWC and New-head freeze is at most {-CLEARLY:g}",
        lambda cells: all(value(cells, m, "S_pl", GAIN) <= -CLEARLY for m in ("EWC †", "New-head freeze")),
    ),
    _said(
        "MNTDP-D trains with at most 2.5 times the operations of Independent on every stream (published: 3.7 to 6.5)",
        lambda cells: all(value(cells, MODULAR, stream, COMPUTE) <= 2.5 for stream in TRANSFER),
    ),
)
_BEYOND = (
    _said("S_in: T of the wide search is at least +0.25", lambda cells: value(cells, WIDE, "S_in", GAIN) >= 0.25),
    _said("F of the wide search is exactly 0", _is_wide_kept),
    _said(
        "A of the wide search, mean of five streams, is at least that of MNTDP-D + 0.02",
        _is_wider_better,
    ),
    _said(
        "A of the wide search, mean of five streams, is above the published 0.64 of MNTDP-D",
        lambda cells: _mean(cells, WIDE, AVERAGE) > 0.64,
    ),
)
_LONG = (
    _said(
        "by A the learners rank " + " > ".join(LONG_ORDER) + ", as far as they are there",
        _in_order,
        lambda cells: f"there are {', '.join(model for model in LONG_ORDER if model in models(cells))}",
    ),
    _said(
        "MNTDP-D keeps less than 0.6 of what Independent keeps",
        lambda cells: value(cells, MODULAR, "S_long", SIZE) < 0.6,
    ),
)
_CLAIMS: Mapping[str, tuple[Claim, ...]] = defaultdict(
    tuple,
    {
        "table1": (*_TRANSFER_CLAIMS, *_BEYOND),
        "beyond": _BEYOND,
        "table2": _LONG,
        "fig4": _LONG,
        "table11": (shares_little(STANDARD[0]), *map(_grows, ("DEN †", "RCL †"))),
        "table12": (shares_little(STANDARD[1]),),
    },
)

FAR = 0.06
AS_PUBLISHED = ("alexnet", "paper")  # tiers with networks of the paper's sizes


def remarks(stream: str, table: str, tier: str) -> Callable[[Sequence[Answer]], list[str]]:
    """What there is to say about a table of one stream."""

    def noted(answers: Sequence[Answer]) -> list[str]:
        cells = by_cell(answers)
        return [*(_far(cells, stream, table, tier) if tier in AS_PUBLISHED else ()), *_errors(cells, table)]

    return noted


def _far(cells: Cells, stream: str, table: str, tier: str) -> list[str]:
    """A note for every learner whose A is more than 0.06 from the published one, with what is known about why."""
    compared = [
        (model, ours, beside)
        for model in models(cells)
        for ours, beside in [(_average(cells, model, stream), published(table, model, AVERAGE, tier == "alexnet"))]
        if beside is not None and not math.isnan(ours)
    ]
    found = [
        f"{model} on {stream}: A {ours:.2f}, published {beside:.2f}. {_reason(model, table, tier)}"
        for model, ours, beside in compared
        if abs(ours - beside) > FAR
    ]
    return found or [f"No A is more than {FAR:g} from the published one."] * bool(compared)


def _errors(cells: Cells, table: str) -> list[str]:
    """The published standard errors, where a table has them: of the long stream alone."""
    rows = published_rows(table)
    found = [f"{model} {rows[model]['avg_acc_se']}" for model in models(cells) if "avg_acc_se" in rows.get(model, {})]
    return [f"Published standard errors of A, over three instances of the stream: {', '.join(found)}."] if found else []


def _average(cells: Cells, model: str, stream: str) -> float:
    found = number(cells, model, stream, AVERAGE, False)
    return math.nan if found is None else found.mean


def _reason(model: str, table: str, tier: str) -> str:
    if tier == "paper":
        return "Other draws of classes; datasets that stand in for others are in the title."
    if model not in published_rows(table):
        return "The published number is the ResNet's."
    return "One point of the grid and one other draw of classes; datasets that stand in for others are in the title."
