"""Stream-level selection (Veniat et al. 2021, †): one setting for the whole stream, chosen at its end."""

from __future__ import annotations

from collections.abc import Sequence

from engram.nodes import Node
from engram.protocols.measuring import PLAIN, Measuring
from engram.protocols.policy import Grid, Kept, Outcome, Policy, Protocol, best, decision, grown


class StreamLevel(Protocol):
    name = "stream-level"
    help = "the grid of whole paths; keeps the best mean validation accuracy over all tasks at the end of the stream"

    def policy(self, roots: Sequence[Node], tasks: int, grid: Grid, measuring: Measuring = PLAIN) -> Policy:
        paths: list[list[Node]] = [[roots[0]] for _ in grid]
        alive = list(range(len(grid)))
        latest = [Outcome(()) for _ in grid]
        for task in range(tasks):
            if not alive:
                break
            for place in alive:
                paths[place].append(paths[place][-1].child([task], grid[place], **measuring.after(task, tasks)))
            outcomes = yield [paths[place][-1] for place in alive]
            for place, outcome in zip(alive, outcomes, strict=True):
                latest[place] = outcome
            alive = [place for place in alive if latest[place].error is None]
        means = [sum(o.validation) / len(o.validation) if o.validation else 0.0 for o in latest]
        chosen = best(latest, means)
        scores = {place: means[place] for place in grown(latest)}
        decisions = decision("validation accuracy over all tasks at the end", grid, scores, chosen)
        return Kept(tuple(paths[chosen][1:]), decisions=tuple(decisions))
