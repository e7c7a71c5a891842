"""Prescient selection (Pfülb et al. 2018, algorithm 1): the best accuracy on both tasks over everything that was tried.

It selects by the test data that it reports, so it bounds what could be had by somebody who knows the future.
"""

from __future__ import annotations

from collections.abc import Sequence

from engram.nodes import Node
from engram.protocols.measuring import PLAIN, Measuring
from engram.protocols.policy import Grid, Kept, Policy, decision, grown
from engram.protocols.selection import by_highest, moment_of_highest
from engram.protocols.two_tasks import TwoTasks, chosen_of


class Prescient(TwoTasks):
    name = "prescient"
    help = "two tasks, every network and rate; keeps the best moment on the test data of both: a bound, not a result"
    needs_validation = False
    warning = "chosen by the test data that it reports: a bound that nobody reaches who has yet to see the second task"

    @property
    def sees(self) -> frozenset[str]:
        return frozenset({"union"} if self.start == "last" else {"union", "d1"})

    def policy(self, roots: Sequence[Node], tasks: int, grid: Grid, measuring: Measuring = PLAIN) -> Policy:
        first = self.beginnings(roots, grid)
        outcomes = yield first
        places = grown(outcomes)
        starts = yield from self.starting_points([first[k] for k in places], [outcomes[k] for k in places])
        second = [
            node
            for k, start in zip(places, starts, strict=True)
            for node in self.retrainings(start, first[k].last.settings)
        ]
        outcomes = yield second
        ranking = by_highest({k: outcomes[k] for k in grown(outcomes)}, "union")
        chosen = ranking.best
        stop = outcomes[chosen].steps[moment_of_highest(outcomes[chosen], "union")]
        rates = {k: self.rates(first[k].last.settings) for k in places}
        candidates = [{**chosen_of(first[k]), **rate} for k in places for rate in rates[k]]
        decisions = decision("best accuracy on both tasks, test data", candidates, ranking.scores, chosen)
        return Kept((second[chosen].parent, second[chosen]), stop, len(ranking.ties), tuple(decisions))

    def size(self, roots: int, tasks: int, grid: Grid) -> int:
        first = roots * len(grid)
        return first * (1 + len(self.rates(grid[0]))) + (first if self.start == "best" else 0)
