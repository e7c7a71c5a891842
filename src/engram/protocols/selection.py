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

from engram.errors import BadSetting
from engram.protocols.curves import Curve, Recorded, View, read_runs


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
class Step:
    """One step of a selection: what it `sees` of a run, and what it makes of that, a score or a moment."""

    sees: frozenset[str]
    judge: Callable[[View], float]

    def look(self, run: Recorded, **more: float) -> float:
        """The judgement on a run; `more` are single values that the run's curves do not have by themselves."""
        return self.judge(run.view(self.sees, **more))


def stopping_moment(d2: Curve, fraction: float) -> int:
    """The first moment with an accuracy above `fraction` of the curve's highest, or at the highest itself.

    "Above" is the paper's text (its code has "at least"); the highest counts as reached, so that there is a moment to
    stop at where the fraction is 1 or nothing was learned.
    """
    top = d2.max()
    return int(((d2 > fraction * top) | (d2 == top)).argmax())


def highest(curve: str) -> Step:
    """Scores by the best accuracy of a curve."""
    return Step(frozenset({curve}), lambda run: float(run[curve].max()))


def stopping(curve: str, fraction: float) -> Step:
    """Finds the moment at which retraining stops."""
    return Step(frozenset({curve}), lambda run: stopping_moment(run[curve], fraction))


AT_STOP = Step(frozenset({"at_stop"}), lambda run: float(run["at_stop"]))  # scores by one number, not by a curve


def select_prescient(runs: Iterable[Mapping[str, Any]]) -> Choice:
    """The best accuracy on D1 ∪ D2 over all runs and moments (algorithm 1): a bound that nobody who has yet to see
    D2 can know how to reach. It selects by the data that it reports."""
    recorded = read_runs(runs)
    step = highest("union")
    first, *ties = leaders({index: step.look(run) for index, run in enumerate(recorded)})
    union = recorded[first].curves["union"]
    stop = int(union.argmax())
    return Choice(float(union[stop]), first, stop, tuple(ties))


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
    group, left_behind = _by_first_training(recorded, highest(d1))
    stop = {index: int(stopping(d2, fraction).look(recorded[index])) for index in group}
    decisive = d2 if strict else "union"
    scores = {i: AT_STOP.look(recorded[i], at_stop=float(recorded[i].curves[decisive][stop[i]])) for i in group}
    chosen, *ties = leaders(scores)
    value = float(recorded[chosen].curves["union"][stop[chosen]])
    return Choice(value, chosen, stop[chosen], tuple(sorted([*left_behind, *ties])))


def leaders(scores: Mapping[int, float]) -> list[int]:
    """The indices of all runs with the highest score, the earliest first."""
    most = max(scores.values())
    return sorted(index for index, score in scores.items() if score == most)


def _by_first_training(runs: Sequence[Recorded], step: Step) -> tuple[list[int], list[int]]:
    """The runs with the topology and first rate that were best on D1, and all others that were as good there."""
    best = leaders({index: step.look(run) for index, run in enumerate(runs)})
    beginning = runs[best[0]].beginning
    group = [index for index, run in enumerate(runs) if run.beginning == beginning]
    return group, [index for index in best if runs[index].beginning != beginning]


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
