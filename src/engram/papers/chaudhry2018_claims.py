"""What Chaudhry et al. 2018 say in words, and how near we want to be, as sentences that are held or not held."""

from __future__ import annotations

import math
from collections.abc import Sequence

from engram.papers.paper import KILOBYTES, ByLabel, Claim, at_least
from engram.reports.summary import done


def _near(label: str, points: float) -> Claim:
    """Within some points of the published accuracy."""
    return Claim(
        f"{label}: within {points:g} points of published",
        lambda rows: 100 * abs(rows[label].mean() - rows[label].question.published["average_accuracy"]) <= points,
    )


def _no_forgetting(label: str) -> Claim:
    return Claim(f"{label}: forgetting ≤ 0.02", lambda rows: rows[label].mean("forgetting_rwalk") <= 0.02)


def _rwalk_at_its_best(rows: ByLabel) -> bool:
    """Within its own spread (one deviation over seeds) of 80 %."""
    found = {label: rows[label].ours("average_accuracy") for label in _STRENGTHS["RWalk"]}
    best = max(found, key=lambda label: found[label]["mean"])
    if math.isnan(found[best]["std"]):
        raise KeyError(f"a second seed of {best}")
    return found[best]["mean"] + found[best]["std"] >= 0.80


def _range(rows: ByLabel, labels: Sequence[str], metric: str) -> float:
    """Of all these rows: of some it would be smaller."""
    values = [rows[label].mean(metric) for label in labels]
    return max(values) - min(values)


def _keep_little(rows: ByLabel) -> bool:
    """Every finished run."""
    row = rows["single: exemplars"]
    return row.mean(KILOBYTES) < 100 and all(r.bytes["total"] < 100_000 for r in done(row.records))


def _lift(rows: ByLabel, method: str) -> float:
    return rows[f"single: {method}-S"].mean() - rows[f"single: {method}"].mean()


_MULTI, _SINGLE, _WITH = (
    [f"multi: {m}" for m in ("EWC", "PI", "RWalk")],
    [f"single: {m}" for m in ("Vanilla", "EWC", "PI")],
    [f"single: {m}-S" for m in ("Vanilla", "EWC", "PI")],
)

_STRENGTHS = {
    method: [f"{method} λ={strength}" for strength in strengths]
    for method, strengths in {"PI": ("0.1", "100", "10000"), "RWalk": ("0.1", "10", "100", "1000", "10000")}.items()
}
_STORING = [f"single: {m}" for m in ("iCaRL-hb1", "iCaRL", "Vanilla-S", "EWC-S", "PI-S", "RWalk")]

_FLOOR = Claim(
    "the stored exemplars alone, augmented, beat every row of the table that stores exemplars",
    lambda rows: rows["single: exemplars"].mean() > max(rows[label].mean() for label in _STORING),
)

CLAIMS: dict[str, tuple[Claim, ...]] = {
    "table1": (
        at_least("multi: EWC", 0.985),
        at_least("multi: PI", 0.985),
        at_least("multi: RWalk", 0.975),
        *(_no_forgetting(label) for label in _MULTI),
        Claim("multi: Vanilla: 91 ± 5", lambda rows: 0.86 <= rows["multi: Vanilla"].mean() <= 0.96),
        *(_near(label, 5) for label in _SINGLE),
        *(_near(label, 3) for label in _WITH),
        Claim(
            "single-head without exemplars is much harder than multi-head (every method loses at least 25 points)",
            lambda rows: all(
                rows[f"multi: {m}"].mean() - rows[f"single: {m}"].mean() >= 0.25 for m in ("Vanilla", "EWC", "PI")
            ),
        ),
        Claim(
            "exemplars lift Vanilla, EWC and PI by at least 15 points",
            lambda rows: all(_lift(rows, m) >= 0.15 for m in ("Vanilla", "EWC", "PI")),
        ),
        Claim(
            "RWalk with exemplars is ahead of EWC and PI with exemplars",
            lambda rows: rows["single: RWalk"].mean() > max(rows[f"single: {m}-S"].mean() for m in ("EWC", "PI")),
        ),
        Claim(
            "regularised methods with exemplars are ahead of Vanilla with exemplars",
            lambda rows: (
                min(rows[f"single: {m}"].mean() for m in ("EWC-S", "PI-S", "RWalk")) > rows["single: Vanilla-S"].mean()
            ),
        ),
        at_least("single: exemplars", 0.93),
        _FLOOR,
        Claim(
            "the learner that keeps nothing but exemplars keeps less than 100 kB",
            _keep_little,
        ),
    ),
    "table3": (
        Claim("RWalk at its best strength is within its own spread of 80 %", _rwalk_at_its_best),
        Claim(
            "RWalk's forgetting hardly depends on the strength (at most 0.02 over five decades)",
            lambda rows: _range(rows, _STRENGTHS["RWalk"], "forgetting_rwalk") <= 0.02,
        ),
        Claim(
            "RWalk's accuracy depends less on the strength than PI's",
            lambda rows: (
                _range(rows, _STRENGTHS["RWalk"], "average_accuracy")
                < _range(rows, _STRENGTHS["PI"], "average_accuracy")
            ),
        ),
    ),
    "fig5": (
        Claim(
            "mean of features is the best choice of exemplars for every method",
            lambda rows: all(
                rows[f"{m} @ mof"].mean()
                >= max(rows[f"{m} @ {s}"].mean() for s in ("uniform", "plane-distance", "entropy"))
                for m in ("Vanilla", "EWC", "PI", "RWalk")
            ),
        ),
    ),
}


def of_variants(labels: Sequence[str]) -> tuple[Claim, ...]:
    """Of a search with these rows, all of them."""
    steady = [label for label in labels if label.startswith("not normalised, ε = 1e-8")]
    return (
        Claim(
            "not normalised, ε = 1e-8: accuracy within 2 points and forgetting within 0.02 whatever the strength",
            lambda rows: (
                _range(rows, steady, "average_accuracy") <= 0.02 and _range(rows, steady, "forgetting_rwalk") <= 0.02
            ),
        ),
        Claim(
            "a variant reaches the published 82.5 % at some strength",
            lambda rows: max(rows[label].mean() for label in labels) >= 0.825,
        ),
    )


_REGULARISED = ("EWC", "PI", "RWalk")

CNN_CLAIMS: dict[str, tuple[Claim, ...]] = {
    "table1": (
        Claim(
            "multi-head is easy and single-head is hard: Vanilla, EWC and PI lose at least 15 points",
            lambda rows: all(
                rows[f"multi: {m}"].mean() - rows[f"single: {m}"].mean() >= 0.15 for m in ("Vanilla", "EWC", "PI")
            ),
        ),
        Claim(
            "multi-head: every regularised method is ahead of Vanilla",
            lambda rows: min(rows[f"multi: {m}"].mean() for m in _REGULARISED) > rows["multi: Vanilla"].mean(),
        ),
        Claim(
            "exemplars lift Vanilla, EWC and PI",
            lambda rows: all(_lift(rows, m) > 0 for m in ("Vanilla", "EWC", "PI")),
        ),
        Claim(
            "regularised methods with exemplars are ahead of Vanilla with exemplars",
            lambda rows: (
                min(rows[f"single: {m}"].mean() for m in ("EWC-S", "PI-S", "RWalk")) > rows["single: Vanilla-S"].mean()
            ),
        ),
        _FLOOR,
    ),
}
