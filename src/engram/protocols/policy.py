"""What a protocol is: a policy that says which nodes to grow and which to keep, given only what it may look at.

A policy is a generator. It yields nodes that it wants grown, is sent one `Outcome` for each, and returns what it kept.
It never trains and never reads a file, so it can be tested on outcomes that somebody made up. An outcome holds what
the protocol declares in `sees` and nothing else.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import index
from typing import Any, ClassVar

from engram.core import Row
from engram.errors import BadSetting, EngramError
from engram.nodes import Node
from engram.protocols.curves import Candidate, Peeked, View
from engram.protocols.measuring import PLAIN, Measuring
from engram.settings import apply, declared, resolve


@dataclass(frozen=True)
class Outcome(Candidate):
    """What a policy is told about a node: validation accuracy on the tasks seen and the curves that its protocol
    declares, with the steps at which they were measured; or why the node failed."""

    validation: tuple[float, ...] = ()
    error: EngramError | None = None
    curves: Mapping[str, Any] = field(default_factory=lambda: View({}, ()))
    steps: tuple[int, ...] = ()
    flops: int = 0  # operations of training on the whole way to the node


@dataclass(frozen=True)
class Decision:
    """A choice among candidates: the settings in which they differ, what each reached of that `by` which the policy
    chose (None: it failed), and the place of the one that it took. It is made of what the policy was shown."""

    by: str
    candidates: tuple[Mapping[str, Any], ...]
    scores: tuple[float | None, ...]
    chosen: int


@dataclass(frozen=True)
class Kept:
    """What a policy decided: a path; after how many steps of its last lesson it stops, if before the end; how many
    others were as good, but came later; and how it came to that."""

    path: tuple[Node, ...]
    stop: int | None = None
    ties: int = 0
    decisions: tuple[Decision, ...] = ()


class RunFailed(EngramError):
    """Nothing that the protocol wanted could be grown: why is a sentence, or the error of a node."""

    exit_code = 1

    def __init__(self, why: str | EngramError | None):
        super().__init__(str(why))
        self.error = why if isinstance(why, EngramError) else self


Policy = Generator[list[Node], list[Outcome], Kept]
Grid = Sequence[Mapping[str, Any]]


class Protocol:
    """One file per policy. `validation` is the share of training data that it holds out, `sees` what its policy is
    shown, `warning` what a reader of its results must know. Its settings are declared as those of learners are."""

    name: ClassVar[str] = ""
    help: ClassVar[str] = ""
    validation: ClassVar[float] = 0.1
    selects: ClassVar[bool] = True
    selects_networks: ClassVar[bool] = False
    needs_validation: ClassVar[bool] = True
    single_head: ClassVar[bool] = False  # reads accuracies over all classes, unless the learner must be told the task
    warning: str = ""

    def __init__(self, **settings: Any):
        apply(self, resolve(f"protocol '{self.name}'", declared(type(self)), settings))

    def settings(self) -> dict[str, Any]:
        """All its settings with their values."""
        return {name: getattr(self, name) for name in declared(type(self))}

    @property
    def sees(self) -> frozenset[str]:
        return frozenset({"validation"})

    def policy(self, roots: Sequence[Node], tasks: int, grid: Grid, measuring: Measuring = PLAIN) -> Policy:
        """`roots` are untrained learners: one, unless the protocol chooses among networks."""
        raise NotImplementedError

    def size(self, roots: int, tasks: int, grid: Grid) -> int:
        """How many nodes the policy grows."""
        return tasks * len(grid)

    def check(self, learner: str, tasks: int, grid: Grid, measuring: Measuring = PLAIN) -> None:
        """Refuse what the protocol cannot work with, before anything is trained."""


def outcome_of(row: Row, head: str, lessons: int, sees: frozenset[str]) -> Outcome:
    """What a protocol that `sees` this may know of a node after so many lessons."""
    validation = row.validation.get(row.reading(head), ())
    curves = _curves(row, lessons)
    return Outcome(
        validation=tuple(validation) if "validation" in sees else (),
        curves=View(curves, sees & curves.keys()),
        steps=next((curve.steps for curve in row.curves.values()), ()),
        flops=row.cost.flops,
    )


def _curves(row: Row, lessons: int) -> dict[str, Any]:
    """The curves of a two-task run by the names that selections know them by: over all classes, where that exists."""
    curve = row.curves.get(row.reading("single"))
    if curve is None or not curve.union:
        return {}
    if lessons == 1:
        found: dict[str, Any] = {"d1": curve.accuracy, "d1_validation": curve.validation}
    else:
        found = {"d2": curve.accuracy, "d2_validation": curve.validation, "union": curve.union}
        found["union_at_stop"] = one_look(curve.union)
    return {name: values for name, values in found.items() if values}


def one_look(values: Sequence[float]) -> Callable[[int], float]:
    """A curve that can be read at one moment, and after that at no other."""
    looked: list[int] = []

    def at(moment: int) -> float:
        place = index(moment)  # one number: no slice
        if looked and looked != [place]:
            raise Peeked(f"a curve was read at moment {looked[0]}; it cannot be read at moment {place} as well")
        looked[:] = [place]
        return values[place]

    return at


def grid_of(settings: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Every combination of the values of every setting, the first ones varying slowest.

    >>> grid_of({"rate": [0.1, 0.01], "epochs": [1]})
    [{'rate': 0.1, 'epochs': 1}, {'rate': 0.01, 'epochs': 1}]
    """
    return [dict(zip(settings, values, strict=True)) for values in itertools.product(*settings.values())]


def grown(outcomes: Sequence[Outcome]) -> list[int]:
    """The places of those that did not fail; it is a failure of the run if all did."""
    places = [place for place, outcome in enumerate(outcomes) if outcome.error is None]
    if not places:
        raise RunFailed(outcomes[0].error)
    return places


def best(outcomes: Sequence[Outcome], scores: Sequence[float]) -> int:
    """The place of the highest score among those that did not fail; the earliest of equals."""
    finished = grown(outcomes)
    if len(outcomes) > 1 and not all(outcomes[place].validation for place in finished):
        raise RunFailed(
            f"there are no validation samples to choose one of {len(outcomes)} settings by; "
            "give every task a class with at least 2 training samples, or use --protocol sequential"
        )
    return max(finished, key=lambda place: (scores[place], -place))


def decision(by: str, candidates: Grid, scores: Mapping[int, float], chosen: int) -> list[Decision]:
    """A choice by `scores`, which those that failed do not have; none where there was nothing to choose from."""
    if len(candidates) < 2:
        return []
    varied = [name for name in candidates[0] if len({str(settings[name]) for settings in candidates}) > 1]
    differing = tuple({name: settings[name] for name in varied} for settings in candidates)
    return [Decision(by, differing, tuple(scores.get(place) for place in range(len(candidates))), chosen)]


def one_of(grid: Grid, protocol: str) -> Mapping[str, Any]:
    """The only settings of a grid, for a protocol that selects nothing."""
    if len(grid) != 1:
        varied = [name for name in grid[0] if len({str(settings[name]) for settings in grid}) > 1]
        raise BadSetting(
            f"the protocol '{protocol}' takes one value of each setting, {', '.join(varied)} has several; "
            "choose --protocol task-level or stream-level to select among them"
        )
    return grid[0]
