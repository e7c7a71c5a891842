"""Prescient and realistic selection (Pfülb et al. 2018, algorithms 1 and 2) as pure functions of recorded curves.

    >>> run = {"topology": "400-400", "first_rate": 0.01, "second_rate": 0.001,
    ...        "d1": [0.9, 0.98], "d2": [0.5, 0.945, 0.95], "union": [0.9, 0.7, 0.4]}
    >>> select_prescient([run]).value, select_realistic([run]).value, select_realistic([run], 0.999).value
    (0.9, 0.7, 0.4)

A run maps `topology`, `first_rate` and `second_rate` to what was set, `d1` to the accuracies on D1 while D1 was
trained, `d2` and `union` to those on D2 and on D1 ∪ D2 at the same moments of retraining. Each selecting step declares
what it sees, and is handed views that hold nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from engram.errors import BadSetting
from engram.protocols.curves import Accuracies, Candidate, Recorded, View, read_runs

Candidates = Mapping[int, Candidate]  # by their places


@dataclass(frozen=True)
class Choice:
    """The accuracy on D1 ∪ D2 that a selection reports, the run it kept (by its index), and the moment of retraining
    at which it stopped (an index into the curves). `ties`: the other runs that lost only by coming later, in
    whichever step that was."""

    value: float
    run: int
    stop: int
    ties: tuple[int, ...] = ()


@dataclass(frozen=True)
class Judge:
    """What a step of a selection `sees` of a candidate, and the score or the moment that it makes of that."""

    sees: frozenset[str]
    judge: Callable[[View], float]

    def look(self, candidate: Candidate, **more: float) -> float:
        """The judgement on a candidate; `more` are single values that its curves do not have by themselves."""
        return self.judge(candidate.view(self.sees, **more))


@dataclass(frozen=True)
class Ranking:
    """What candidates scored, by their places; the best of them, the earliest of equals, and those that equal it."""

    scores: Mapping[int, float]

    @property
    def leaders(self) -> list[int]:
        """The places of all with the highest score, the earliest first."""
        most = max(self.scores.values())
        return sorted(place for place, score in self.scores.items() if score == most)

    @property
    def best(self) -> int:
        return self.leaders[0]

    @property
    def ties(self) -> list[int]:
        return self.leaders[1:]


def highest(curve: str) -> Judge:
    """Scores by the best accuracy of a curve."""
    return Judge(frozenset({curve}), lambda seen: float(np.max(seen[curve])))


def first_highest(curve: str) -> Judge:
    """Finds the first moment with the best accuracy of a curve."""
    return Judge(frozenset({curve}), lambda seen: int(np.argmax(seen[curve])))


def stopping(curve: str, fraction: float) -> Judge:
    """Finds the moment at which retraining stops."""
    return Judge(frozenset({curve}), lambda seen: stopping_moment(np.asarray(seen[curve]), fraction))


AT_STOP = Judge(frozenset({"at_stop"}), lambda seen: float(seen["at_stop"]))  # scores by one number, not by a curve


def stopping_moment(d2: Accuracies, fraction: float) -> int:
    """The first moment with an accuracy above `fraction` of the curve's highest, or at the highest itself.

    "Above" is the paper's text (its code has "at least"); the highest counts as reached, so that there is a moment to
    stop at where the fraction is 1 or nothing was learned.
    """
    top = d2.max()
    return int(((d2 > fraction * top) | (d2 == top)).argmax())


def by_highest(candidates: Candidates, curve: str) -> Ranking:
    """Step: who was best on a curve, at any moment."""
    return Ranking({place: highest(curve).look(candidate) for place, candidate in candidates.items()})


def moment_of_highest(candidate: Candidate, curve: str) -> int:
    """Step: when one was best on a curve, for the first time."""
    return int(first_highest(curve).look(candidate))


def stops(candidates: Candidates, curve: str, fraction: float) -> dict[int, int]:
    """Step: where the retraining of each ends."""
    return {place: int(stopping(curve, fraction).look(candidate)) for place, candidate in candidates.items()}


def by_stop(candidates: Candidates, curve: str, moments: Mapping[int, int]) -> Ranking:
    """Step: who is best on a curve at the moment of its stop. Only that moment is looked at."""
    return Ranking({place: AT_STOP.look(c, at_stop=c.at(curve, moments[place])) for place, c in candidates.items()})


def select_prescient(runs: Iterable[Mapping[str, Any]]) -> Choice:
    """The best accuracy on D1 ∪ D2 over all runs and moments (algorithm 1): a bound that nobody who has yet to see
    D2 can know how to reach. It selects by the data that it reports."""
    recorded = read_runs(runs)
    ranking = by_highest(dict(enumerate(recorded)), "union")
    chosen = recorded[ranking.best]
    stop = moment_of_highest(chosen, "union")
    return Choice(chosen.at("union", stop), ranking.best, stop, tuple(ranking.ties))


def select_realistic(runs: Iterable[Mapping[str, Any]], stop_fraction: float = 0.99, *, strict: bool = False) -> Choice:
    """What somebody who sees D1 first and D2 later could have reached (algorithm 2).

    1. Topology and first rate are those of the run with the best accuracy on D1, over all runs and moments.
    2. For each second rate, retraining stops as soon as D2 is learned, see `stopping_moment`.
    3. Of these the best on D1 ∪ D2 at its stop, as the paper has it; `strict`: the best on D2 at its stop.

    `stop_fraction` is 0.99 in the paper's text and 0.999 in the authors' code. A strict selection uses the curves
    `d1_validation` and `d2_validation` in place of `d1` and `d2` where the runs have them.
    """
    fraction = _checked(stop_fraction)
    recorded = read_runs(runs, validation=strict)
    d1, d2 = (_measured(recorded[0], name, strict) for name in ("d1", "d2"))
    group, left_behind = _by_beginning(recorded, by_highest(dict(enumerate(recorded)), d1))
    moments = stops(group, d2, fraction)
    ranking = by_stop(group, d2 if strict else "union", moments)
    stop = moments[ranking.best]
    value = recorded[ranking.best].at("union", stop)
    return Choice(value, ranking.best, stop, tuple(sorted([*left_behind, *ranking.ties])))


def _by_beginning(runs: Sequence[Recorded], ranking: Ranking) -> tuple[Candidates, list[int]]:
    """The runs with the topology and first rate of the best, and the places of all others that were as good."""
    beginning = runs[ranking.best].beginning
    group = {place: run for place, run in enumerate(runs) if run.beginning == beginning}
    return group, [place for place in ranking.leaders if place not in group]


def _measured(run: Recorded, name: str, strict: bool) -> str:
    """The curve to choose by: of validation data where a strict selection has it."""
    validation = f"{name}_validation"
    return validation if strict and validation in run.curves else name


def _checked(fraction: Any) -> float:
    if isinstance(fraction, bool) or not isinstance(fraction, Real) or not 0 < float(fraction) <= 1:
        raise BadSetting(
            f"stop_fraction={fraction!r} is out of range; give a number above 0 and at most 1, such as 0.99"
        )
    return float(fraction)
