"""Realistic selection (Pfülb et al. 2018, algorithm 2): what somebody could do who sees D1 first and D2 later.

1. The network and the first rate are those with the best accuracy on D1.
2. For every second rate, retraining stops as soon as D2 is learned, see `stopping_moment`.
3. Of these the best on both tasks at its stop, as the paper has it; `strict`: the best on D2 at its stop.

The paper measures all of this on test data. `strict` does it on held-out training data, and never looks at D1 again.
"""

from __future__ import annotations

from collections.abc import Sequence

from engram.nodes import Node
from engram.protocols.measuring import PLAIN, Measuring
from engram.protocols.policy import Grid, Kept, Outcome, Policy, RunFailed, decision, grown
from engram.protocols.selection import by_highest, by_stop, stops
from engram.protocols.two_tasks import TwoTasks, chosen_of
from engram.settings import setting


class Realistic(TwoTasks):
    name = "realistic"
    help = "two tasks; the network and first rate by the first task alone, retraining stops when the second is learned"

    stop_fraction = setting(
        0.99, "share of the best accuracy on the second task at which retraining stops", above=0, at_most=1
    )
    strict = setting(False, "choose by held-out training data, and among second rates by the second task alone")

    @property
    def needs_validation(self) -> bool:  # type: ignore[override]
        return bool(self.strict)

    @property
    def sees(self) -> frozenset[str]:
        return frozenset({self.first_curve, self.second_curve} | (set() if self.strict else {"union_at_stop"}))

    @property
    def first_curve(self) -> str:  # type: ignore[override]
        return "d1_validation" if self.strict else "d1"

    @property
    def second_curve(self) -> str:
        return "d2_validation" if self.strict else "d2"

    @property
    def warning(self) -> str:  # type: ignore[override]
        return "" if self.strict else "chosen by test data of the first task, then of the second, as in the paper"

    def policy(self, roots: Sequence[Node], tasks: int, grid: Grid, measuring: Measuring = PLAIN) -> Policy:
        first = self.beginnings(roots, grid)
        outcomes = yield first
        by_first = by_highest(_measured(outcomes, self.first_curve), self.first_curve)
        chosen = by_first.best
        on_first = f"best accuracy on the first task, {self._data}"
        decisions = decision(on_first, [*map(chosen_of, first)], by_first.scores, chosen)
        starts = yield from self.starting_points([first[chosen]], [outcomes[chosen]])
        second = self.retrainings(starts[0], first[chosen].last.settings)
        outcomes = yield second
        retrained = _measured(outcomes, self.second_curve)
        moments = stops(retrained, self.second_curve, self.stop_fraction)
        by_second = by_stop(retrained, self.second_curve if self.strict else "union_at_stop", moments)
        last = by_second.best
        on_second = f"accuracy on {'the second task' if self.strict else 'both tasks'} at the stop, {self._data}"
        decisions += decision(on_second, self.rates(first[chosen].last.settings), by_second.scores, last)
        ties = len(by_first.ties) + len(by_second.ties)
        return Kept((starts[0], second[last]), outcomes[last].steps[moments[last]], ties, tuple(decisions))

    @property
    def _data(self) -> str:
        return "held-out data" if self.strict else "test data"

    def size(self, roots: int, tasks: int, grid: Grid) -> int:
        return roots * len(grid) + len(self.rates(grid[0])) + (1 if self.start == "best" else 0)


def _measured(outcomes: Sequence[Outcome], curve: str) -> dict[int, Outcome]:
    """Those that did not fail, by their places; all of them have the curve to choose by."""
    found = {place: outcomes[place] for place in grown(outcomes)}
    if not all(curve in outcome.curves for outcome in found.values()):
        raise RunFailed("there are no validation samples to choose by; give every class at least 2 training samples")
    return found
