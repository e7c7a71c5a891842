"""What a protocol is: a policy that says which nodes to grow and which to keep, given only what it may look at.

A policy is a generator. It yields nodes that it wants grown, is sent one `Outcome` for each, and returns the path that
it kept. It never trains and never reads a file, so it can be tested on outcomes that somebody made up.
"""

from __future__ import annotations

import itertools
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from engram.errors import BadSetting, EngramError
from engram.tree import Node


@dataclass(frozen=True)
class Outcome:
    """What a policy is told about a node: validation accuracy on the tasks seen, or why it failed. No test data."""

    validation: tuple[float, ...]
    error: str | None = None


class RunFailed(EngramError):
    """Nothing that the protocol wanted could be grown."""

    exit_code = 1


Policy = Generator[list[Node], list[Outcome], tuple[Node, ...]]
Grid = Sequence[Mapping[str, Any]]


class Protocol:
    """One file per policy. `validation` is the share of training data that it holds out."""

    name: ClassVar[str] = ""
    help: ClassVar[str] = ""
    validation: ClassVar[float] = 0.1
    selects: ClassVar[bool] = True

    def policy(self, root: Node, tasks: int, grid: Grid, curve: Sequence[int] = ()) -> Policy:
        raise NotImplementedError

    def size(self, tasks: int, grid: Grid) -> int:
        """How many nodes the policy grows."""
        return tasks * len(grid)


def grid_of(settings: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Every combination of the values of every setting, the first ones varying slowest.

    >>> grid_of({"rate": [0.1, 0.01], "epochs": [1]})
    [{'rate': 0.1, 'epochs': 1}, {'rate': 0.01, 'epochs': 1}]
    """
    return [dict(zip(settings, values, strict=True)) for values in itertools.product(*settings.values())]


def best(outcomes: Sequence[Outcome], scores: Sequence[float]) -> int:
    """The place of the highest score among those that did not fail; the earliest of equals."""
    finished = [place for place, outcome in enumerate(outcomes) if outcome.error is None]
    if not finished:
        raise RunFailed(outcomes[0].error or "nothing could be grown")
    if len(outcomes) > 1 and not all(outcomes[place].validation for place in finished):
        raise RunFailed(
            f"there are no validation samples to choose one of {len(outcomes)} settings by; "
            "give every task a class with at least 2 training samples, or use --protocol sequential"
        )
    return max(finished, key=lambda place: (scores[place], -place))


def one_of(grid: Grid, protocol: str) -> Mapping[str, Any]:
    """The only settings of a grid, for a protocol that selects nothing."""
    if len(grid) != 1:
        varied = [name for name in grid[0] if len({str(settings[name]) for settings in grid}) > 1]
        raise BadSetting(
            f"the protocol '{protocol}' takes one value of each setting, {', '.join(varied)} has several; "
            "choose --protocol task-level or stream-level to select among them"
        )
    return grid[0]
