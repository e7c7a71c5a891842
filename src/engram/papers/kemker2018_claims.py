"""What Kemker et al. 2018 find, as sentences that are held or not held, and why single cells differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, pairwise

from engram.papers.cross_table import by_cell
from engram.papers.kemker2018_models import INCREMENTAL, KINDS, MULTIMODAL, PAPERS_MODELS, PERMUTATION
from engram.papers.kemker2018_more import increment_table, overall, redundancy, tick_table
from engram.papers.kemker2018_tables import LOWEST, measured, published
from engram.papers.paper import Answer, ByLabel, Claim
from engram.papers.published import printed
from engram.reports.content import Table
from engram.reports.summary import done

NEAR, CLEARLY = 0.10, 0.10
DATA = {PERMUTATION: ("MNIST", "CUB", "AS"), INCREMENTAL: ("MNIST", "CUB", "AS"), MULTIMODAL: ("CUB", "AS")}
COMPARED = {
    PERMUTATION: ("MLP", "EWC", "PathNet", "FEL"),
    INCREMENTAL: ("MLP", "EWC", "GeppNet", "GeppNet+STM", "FEL"),
}
GEPPNETS = ("GeppNet", "GeppNet+STM")


def claims_of(tier: str, dataset: str | None) -> Mapping[str, tuple[Claim, ...]]:
    """Of the published setting only."""
    return _CLAIMS if tier == "paper" and dataset is None else defaultdict(tuple)


def _all(rows: ByLabel, model: str, data: str, kind: str, metric: str = "omega_all") -> float:
    return rows[f"{model} {data} {kind}"].mean(metric)


def _printed(kind: str, data: str) -> dict[str, float]:
    """The published Ω all of every model, the best first."""
    found = {model: published(model, data, kind).get("omega_all") for model in PAPERS_MODELS}
    known = {model: value for model, value in found.items() if value is not None}
    return dict(sorted(known.items(), key=lambda item: -item[1]))


def near(model: str, kind: str, data: str = "MNIST", row: str = "") -> Claim:
    """Of the published value of a model; `row` is ours if it has another name."""
    value = _printed(kind, data)[model]
    return Claim(
        f"{data}, {kind}: Ω all of {row or model} is within {NEAR:.2f} of the published {value:.3f}",
        lambda rows: abs(_all(rows, row or model, data, kind) - value) <= NEAR,
    )


def ranking(kind: str, data: str) -> tuple[Claim, Claim]:
    """As published, to the place; and where the published values are clearly apart."""
    order = list(_printed(kind, data))
    apart = [(a, b) for a, b in combinations(order, 2) if _printed(kind, data)[a] - _printed(kind, data)[b] >= CLEARLY]

    def first(rows: ByLabel, pairs: Iterable[tuple[str, str]]) -> bool:
        return all(_all(rows, better, data, kind) > _all(rows, worse, data, kind) for better, worse in pairs)

    exactly = f"{data}, {kind}: by Ω all the models rank {' > '.join(order)}"
    clearly = f"{data}, {kind}: models whose published Ω all are {CLEARLY:.2f} apart or more are in this order"
    return Claim(exactly, lambda rows: first(rows, pairwise(order))), Claim(clearly, lambda rows: first(rows, apart))


def best(winners: Sequence[str], kind: str, data: str) -> Claim:
    def holds(rows: ByLabel) -> bool:
        ours = {model: _all(rows, model, data, kind) for model in _printed(kind, data)}
        return max(ours, key=ours.__getitem__) in winners

    who = " or ".join(winners)
    return Claim(f"{data}, {kind}: {who} has the best Ω all of the paper's models", holds)


def forgotten(data: str) -> Claim:
    return Claim(
        f"{data}, incremental: MLP and EWC forget nearly everything (Ω all at most 0.2)",
        lambda rows: all(_all(rows, model, data, INCREMENTAL) <= 0.2 for model in ("MLP", "EWC")),
    )


def harder(model: str) -> Claim:
    return Claim(
        f"permutation: {model} has a lower Ω all on CUB and on AudioSet than on MNIST",
        lambda rows: all(
            _all(rows, model, data, PERMUTATION) < _all(rows, model, "MNIST", PERMUTATION) for data in ("CUB", "AS")
        ),
    )


def beyond(data: str) -> Claim:
    return Claim(
        f"{data}, incremental: SLDA has Ω all ≥ 1 against the offline model of all classes seen, in every session",
        lambda rows: _all(rows, "SLDA", data, INCREMENTAL, LOWEST) >= 1.0,
    )


ODD = ("Inc-4", "GeppNet+STM")  # printed: the new class learned best of all rows, and the lowest accuracy overall


def _column_within(points: float, place: int, title: str, without: tuple[str, ...] = ()) -> Claim:
    asked = [(row["test"], row["model"]) for row in printed("kemker2018", "s6")]

    def holds(rows: ByLabel) -> bool:
        table = increment_table([rows[" ".join(names)] for names in asked if names != without])[0]
        numbers = [row.numbers[place] for row in table.rows]
        found = [abs(n.mean - n.published) for n in numbers if n is not None and n.published is not None]
        return sum(found) / len(found) <= points / 100

    but = f", but for {' '.join(without)}, which is printed oddly" if without else ""
    return Claim(f"{title}{but}: within {points:g} points of the published on average", holds)


def _drift(rows: ByLabel) -> list[tuple[float, float]]:
    """Accuracy by share of drifting data, from none to all, with the published one."""
    printed_ = printed("kemker2018", "s7")
    ours = [measured(rows[f"FEL @ {row['non_stationary_percentage']}"], overall).mean for row in printed_]
    return [(value, float(row["fel_accuracy_percent"]) / 100) for value, row in zip(ours, printed_, strict=True)]


def _falls(rows: ByLabel) -> bool:
    return all(before > after for (before, _), (after, _) in pairwise(_drift(rows)))


def _is_near(rows: ByLabel) -> bool:
    return all(abs(ours - value) <= 0.08 for ours, value in _drift(rows))


def _ticks(table: Callable[[Sequence[Answer]], Sequence[Table]]) -> Claim:
    """Of the paper's models, each on all of its data: an average over fewer is another tick."""
    asked = [f"{model} {data} {kind}" for kind in KINDS for data in DATA[kind] for model in _printed(kind, data)]

    def holds(rows: ByLabel) -> bool:
        numbers = [n for row in table([rows[label] for label in asked])[0].rows for n in row.numbers if n is not None]
        return all(n.mean == n.published for n in numbers if n.published is not None)

    return Claim("every tick is as published", holds)


def _less_redundant(rows: ByLabel) -> bool:
    shares = [len(found.kept) / found.features for found in map(redundancy, ("cub200-lite0", "mnist", "audioset100"))]
    return shares[0] > max(shares[1:])


_CLAIMS: Mapping[str, tuple[Claim, ...]] = defaultdict(
    tuple,
    {
        "table2": (
            *(near(model, kind) for kind, compared in COMPARED.items() for model in compared),
            near("FEL", INCREMENTAL, row="FEL-SGD"),
            *(claim for kind in KINDS for data in DATA[kind] for claim in ranking(kind, data)),
            *(best(["EWC"] if data == "CUB" else ["PathNet"], PERMUTATION, data) for data in DATA[PERMUTATION]),
            *(best(GEPPNETS, INCREMENTAL, data) for data in DATA[INCREMENTAL]),
            *map(forgotten, DATA[INCREMENTAL]),
            *(best(["EWC"], MULTIMODAL, data) for data in DATA[MULTIMODAL]),
            *map(harder, PAPERS_MODELS),
            *map(beyond, ("CUB", "AS")),
        ),
        "table5": (_ticks(tick_table),),
        "s6": (
            *(_column_within(4, k, title) for k, title in enumerate(("base", "new class", "overall"))),
            _column_within(4, 1, "new class", ODD),
        ),
        "s7": (Claim("accuracy falls with every quarter", _falls), Claim("every share: within 8 points", _is_near)),
        "s9": (Claim("features of CUB-200 are the least redundant", _less_redundant),),
    },
)


def remarks(tier: str) -> Callable[[Sequence[Answer]], list[str]]:
    """A note for every cell whose Ω all is more than 0.10 from the published one, with what is known about why."""
    return lambda answers: [] if tier == "quick" else list(_remarks(answers))


def _remarks(answers: Sequence[Answer]) -> Iterable[str]:
    for (model, data, kind), answer in by_cell(answers).items():
        value = answer.question.published.get("omega_all")
        if value is None or not done(answer.records) or abs(answer.mean("omega_all") - value) <= NEAR:
            continue
        ours = f"{model} on {data}, {kind}: Ω all {answer.mean('omega_all'):.3f}, published {value:.3f}."
        yield f"{ours} {_reason(model, data, kind)}"


def _reason(model: str, data: str, kind: str) -> str:
    return REASONS.get((model, kind)) or OTHER_FEATURES if data != "MNIST" else REASONS.get((model, kind), UNKNOWN)


UNKNOWN = "No reason is known."
OTHER_FEATURES = "Other features than the paper's, and of sounds a fifth of its training data."
REASONS = {
    ("FEL", INCREMENTAL): (
        "With the published optimiser and rate the first steps on one class take all outputs away from the others. "
        "Looking at validation accuracy after every step, fewer units that fire, fewer connections, constant values "
        "and moments that are kept were tried once each, on test data, and did not help. The row FEL-SGD has plain "
        "steps of the same rate."
    ),
    ("GeppNet", PERMUTATION): (
        "Half of a later session draws from all data here, which the paper leaves open, and permutations are learned "
        "that the paper's map did not learn; GeppNet+STM, which learns in sleep only, comes nearer."
    ),
    ("PathNet", PERMUTATION): (
        "After three or four sessions all modules are frozen here (`engram show` says how many are), and later "
        "sessions learn a head only; the paper's PathNet forgets a third of the first session and learns the "
        "later ones better."
    ),
}
