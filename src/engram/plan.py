"""Before a long experiment: how many nodes there are to train, how many are shared or known, and how long it may take.

Every run's policy is asked for its nodes as in training, but nothing is trained. Where the store knows a node the
policy is told the truth, elsewhere something made up: that decides which nodes a policy asks for, not how many. Of
several the middle one is made the best, since grids are mostly given in some order and it is neither small nor large.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from engram.core import Stream
from engram.errors import BadSetting
from engram.estimate import Asked, estimate
from engram.execute.walk import Walk
from engram.protocols import Outcome
from engram.runs import Run
from engram.store import Store

LATEST = 3  # runs with other seeds whose times are looked up
CURVES = ("d1", "d1_validation", "d2", "d2_validation", "union")


@dataclass(frozen=True)
class Forecast:
    """Nodes as all runs together ask for them (`nodes`), each counted once (`distinct`), and those of the latter that
    were grown or failed before (`known`). `seconds` is CPU time of growing the rest, `longest_seconds` what the longest
    run takes at least; both are not numbers where none of the `kinds` of nodes could be measured. Of `timed` nodes the
    store knows how long their lessons took with other seeds. Of others `stopping` may stop by themselves, nobody knows
    when, and count with all their steps."""

    runs: int
    nodes: int
    distinct: int
    known: int
    seconds: float
    longest_seconds: float
    jobs: int
    kinds: int
    measured_kinds: int
    timed: int = 0
    stopping: int = 0

    @property
    def shared(self) -> int:
        return self.nodes - self.distinct

    @property
    def to_train(self) -> int:
        return self.distinct - self.known

    @property
    def wall_seconds(self) -> float:
        """The work spread over the workers; but a run has to wait for one task before it begins the next."""
        return max(self.seconds / self.jobs, self.longest_seconds)

    def to_json(self) -> dict[str, Any]:
        derived = {"shared": self.shared, "to_train": self.to_train, "wall_seconds": self.wall_seconds}
        return {**vars(self), **derived}


def plan(runs: Sequence[Run], store: Store | None = None, jobs: int = 1) -> Forecast:
    """What executing these runs with so many workers would do. Without a store nothing is known yet."""
    if jobs < 1:
        raise BadSetting(f"jobs={jobs} is out of range; it must be at least 1")
    tree = _Wanted(store)
    for run in runs:
        tree.follow(run)
    found = estimate(list(tree.missing.values()))
    seconds = dict(zip(tree.missing, found.seconds, strict=True))
    return Forecast(
        runs=len(runs),
        nodes=tree.nodes,
        distinct=len(tree.known) + len(tree.missing),
        known=len(tree.known),
        seconds=math.fsum(found.seconds),
        longest_seconds=max((_waiting(rounds, seconds) for rounds in tree.rounds), default=0.0),
        jobs=jobs,
        kinds=found.kinds,
        measured_kinds=found.measured,
        timed=sum(asked.learned is not None for asked in tree.missing.values()),
        stopping=sum(asked.stops_by_itself for asked in tree.missing.values()),
    )


class _Wanted:
    """The part of the tree that runs want: how often they name a node, which nodes are known, which are missing, and
    the keys that each run asks for together, one round after another."""

    def __init__(self, store: Store | None):
        self.store = store
        self.nodes = 0
        self.known: set[str] = set()
        self.missing: dict[str, Asked] = {}
        self.rounds: list[list[list[str]]] = []
        self._streams: dict[str, Stream] = {}
        self._results: dict[str, list[Mapping[str, Any]]] = {}  # of runs that are done, by all but their seeds
        for entry in store.runs() if store else ():
            if entry["status"] == "done":
                self._results.setdefault(_but_seeds(entry["spec"]), []).append(entry["result"])

    def follow(self, run: Run) -> None:
        walk, lessons = Walk(run), iter(self._lessons_before(run))
        self.rounds.append([])
        while walk.waiting_for:
            self.nodes += len(walk.nodes)
            learned = {node.key: next(lessons, None) for node in walk.nodes}
            nodes = {node.key: node for node in walk.nodes}  # each is told once: after the last the run asks for others
            self.rounds[-1].append(list(nodes))
            for place, (key, node) in enumerate(nodes.items()):
                asked = Asked(node, self._stream(run, node.validation), learned[key])
                outcome = walk.remembered(node, self.store) if self.store else None
                if outcome is None:
                    self.missing.setdefault(key, asked)
                else:
                    self.known.add(key)
                walk.tell(key, outcome or made_up(asked, best=place == len(nodes) // 2))

    def _lessons_before(self, run: Run) -> list[float]:
        """Seconds of the lessons of this run, as it asks for them, when it was done with other seeds: the mean of the
        last few."""
        results = self._results.get(_but_seeds(run.to_json()), [])[-LATEST:]
        rows = [[self.store.row(key) for key in result["grown"]] for result in results] if self.store else []
        whole = [[row.cost.seconds for row in path if row is not None] for path in rows if None not in path]
        return [fmean(seconds) for seconds in zip(*whole)]

    def _stream(self, run: Run, validation: float) -> Stream:
        """The run's stream, or one like it: tasks of another seed are as large, and need not be built again."""
        spec = {name: value for name, value in run.stream.spec.items() if name != "seed"}
        key = json.dumps([spec, validation], sort_keys=True)
        return self._streams.setdefault(key, run.holding_out(validation))


def made_up(asked: Asked, best: bool) -> Outcome:
    """An outcome that every policy can read: one accuracy of everything, at two moments. The second comes just before
    the end of the lesson: a protocol that goes on from the best weights then has to train them."""
    growth = asked.growth
    accuracy = 0.6 if best else 0.5
    steps = asked.presented() // growth.settings["batch"] if growth.every else 0
    return Outcome(
        validation=(accuracy,) * len(asked.node.tasks),
        curves={**dict.fromkeys(CURVES, (accuracy, accuracy)), "union_at_stop": lambda moment: accuracy},
        steps=(0, max(steps - 1, 1)),
    )


def _but_seeds(spec: Mapping[str, Any]) -> str:
    """What a run is, whatever its seeds."""
    stream = {name: value for name, value in spec["stream"].items() if name != "seed"}
    return json.dumps({**spec, "seed": None, "stream": stream}, sort_keys=True, default=dict)


def _waiting(rounds: Sequence[Sequence[str]], seconds: Mapping[str, float]) -> float:
    """Seconds of a run with a worker for every node that it asks for: in each round it waits for the slowest."""
    return math.fsum(max(seconds.get(key, 0.0) for key in keys) for keys in rounds)
