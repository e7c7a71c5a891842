"""A run: one learner on one stream with one seed, under one protocol; which nodes it wants, and its record."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from typing import Any, NamedTuple, TypeVar

from engram.core import Row, Stream
from engram.errors import StoreTrouble
from engram.learners import learner_settings
from engram.networks import Blueprint
from engram.nodes import Node, find_own, own_to_json, revisions
from engram.offline import SEES, Found, Offline, has_modalities
from engram.own.specs import digests_of
from engram.parts.stopping import looks_at
from engram.protocols import Decision, Measuring, Outcome, Protocol, RunFailed, protocol
from engram.record import Ideals, Record, at_stop
from engram.store import Store
from engram.streams import rebuild

T = TypeVar("T")

# what a reference has of a method
TRAINING = ("epochs", "iterations", "batch", "rate", "schedule", "optimizer", "momentum")


STOPPED_ON_TEST = "every task ended by a look at its own test data (stop_on=test), so accuracies on them flatter"


class Round(NamedTuple):
    """Nodes that a run wants grown, and what of their outcomes it may be shown."""

    nodes: list[Node]
    sees: frozenset[str]


@dataclass(frozen=True)
class Result:
    """What a finished run leaves in the store: keys of nodes, and the settings that were kept on its path."""

    path: list[str]
    chosen: list[dict[str, Any]]
    joint: list[str]
    isolated: list[str]
    grown: list[str]
    beginnings: list[str]  # of the nodes grown those after a first lesson, which other runs may go on from
    stop: int | None = None  # steps of the last lesson after which the protocol stops, if before its end
    ties: int = 0  # how many others were as good
    decisions: list[Decision] = field(default_factory=list)  # how the protocol came to this path
    search_flops: int = 0  # operations of everything that it grew to choose from, what was kept among it
    offline: Mapping[str, Any] | None = None  # see `offline.Found`


@dataclass(frozen=True, eq=False)
class Run:
    """Everything that was asked for. `networks` and `grid` hold what there is to choose from: one network and one set
    of settings, unless the protocol selects. `options` are the protocol's own settings."""

    stream: Stream
    learner: str
    networks: tuple[Blueprint, ...]
    grid: tuple[Mapping[str, Any], ...]
    protocol: str
    head: str
    seed: int
    validation: float
    curve: tuple[int, ...] = ()
    references: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    evaluate: str = "all"  # see `Measuring`
    ideal: str = ""  # which offline models are asked for, see `offline`

    @cached_property
    def policy(self) -> Protocol:
        return protocol(self.protocol, **self.options)

    @cached_property
    def key(self) -> str:
        revised = [found for settings in self.grid if (found := revisions(self.learner, settings))]
        text = json.dumps([self.to_json(), self.root.key, *revised], sort_keys=True, default=dict)
        return hashlib.sha256(text.encode()).hexdigest()[:40]

    @property
    def root(self) -> Node:
        return self.roots[0]

    @property
    def roots(self) -> list[Node]:
        """One untrained learner for every network."""
        return [Node(self.learner, network, self.seed, self.stream.spec, self.validation) for network in self.networks]

    @cached_property
    def holding_out(self) -> Callable[[float], Stream]:
        """The stream with a share of training data held out. It keeps the tasks that it built."""
        return cache(self.stream.with_validation)

    @property
    def taught(self) -> Stream:
        """The stream with the share held out that this run has; its offline models have another."""
        return self.holding_out(self.validation)

    @property
    def offline(self) -> Offline | None:
        if not self.ideal:
            return None
        return Offline(self.ideal, self.stream.spec, len(self.stream), self.networks[0], self.seed)

    def size(self) -> int:
        """How many nodes there are to grow."""
        chosen = self.policy.size(len(self.networks), len(self.stream), self.grid)
        references = self.references * (len(self.stream) + 1)
        return chosen + references + (self.offline.size() if self.offline else 0)

    def walk(self) -> Generator[Round, list[Outcome], Result]:
        """The protocol's policy, then the references and the offline models if they were asked for."""
        policy = self.policy.policy(self.roots, len(self.stream), self.grid, Measuring(self.curve, self.evaluate))
        kept, grown, outcomes = yield from _followed(policy, self.policy.sees)
        path = kept.path
        joint, isolated = self._references(path) if self.references else ([], [])
        if joint:
            answers = yield Round([*joint, *isolated], frozenset())
            failed = next((answer.error for answer in answers if answer.error is not None), None)
            if failed is not None:
                raise RunFailed(f"a reference could not be trained ({failed}); leave references out to see all else")
        offline: Found | None = None
        tried: list[Node] = []
        if self.offline is not None:
            offline, tried, _ = yield from _followed(self.offline.search(), SEES)
        keys = [[node.key for node in nodes] for nodes in (path, joint, isolated)]
        network = dict(path[-1].network.settings) if len(self.networks) > 1 else {}
        chosen = [{**node.last.settings, **network} for node in path]
        all_grown = [node.key for node in [*grown, *joint, *isolated, *tried]]
        beginnings = list(dict.fromkeys(node.key for node in grown if node.depth == 1))
        search = _operations(grown, outcomes)
        decisions = list(kept.decisions)
        how = (kept.stop, kept.ties, decisions, search, offline.to_json() if offline else None)
        return Result(keys[0], chosen, keys[1], keys[2], all_grown, beginnings, *how)

    def _references(self, path: Sequence[Node]) -> tuple[list[Node], list[Node]]:
        """Joint models a*_k of tasks 1 … k at once, and the last task alone, each trained from the root with the
        settings that were kept. A plain network stands in for a method that has one."""
        plain = "finetune" if "rate" in learner_settings(self.learner) else self.learner
        root = Node(plain, path[-1].network, self.seed, self.stream.spec, self.validation)
        known = learner_settings(plain)
        grown: list[Node] = []
        for node in path:
            chosen = node.last.settings
            kept = {name: chosen[name] for name in (TRAINING if "rate" in known else known) if name in chosen}
            settings = {name: kept.get(name, setting.default) for name, setting in known.items()}
            if settings.get("iterations"):  # as many steps as the tasks had one after another
                settings["iterations"] *= len(grown) + 1
            grown.append(root.child(range(len(grown) + 1), settings))
        last = dict(grown[-1].last.settings)
        if last.get("iterations"):
            last["iterations"] //= len(path)
        return grown, [root.child([len(path) - 1], last)]

    def to_json(self) -> dict[str, Any]:
        more: dict[str, Any] = {"options": dict(self.options)} if self.options else {}
        more |= own_to_json(self.root.own)
        if self.evaluate != "all":
            more["evaluate"] = self.evaluate
        if self.ideal:
            more["offline"] = self.ideal
        if len(self.networks) > 1:
            more["networks"] = [network.to_json() for network in self.networks]
        return more | {
            "stream": dict(self.stream.spec),
            "learner": self.learner,
            "network": self.networks[0].to_json(),
            "grid": [dict(settings) for settings in self.grid],
            "protocol": self.protocol,
            "head": self.head,
            "seed": self.seed,
            "validation": self.validation,
            "curve": list(self.curve),
            "references": self.references,
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Run:
        find_own(data)
        networks = data.get("networks", [data["network"]])
        return Run(
            stream=rebuild(data["stream"]),
            learner=data["learner"],
            networks=tuple(Blueprint.from_json(*network) for network in networks),
            grid=tuple(data["grid"]),
            protocol=data["protocol"],
            head=data["head"],
            seed=data["seed"],
            validation=data["validation"],
            curve=tuple(data["curve"]),
            references=data["references"],
            options=data.get("options", {}),
            evaluate=data.get("evaluate", "all"),
            ideal=data.get("offline", ""),
        )


def _followed(
    policy: Generator[list[Node], list[Outcome], T], sees: frozenset[str]
) -> Generator[Round, list[Outcome], tuple[T, list[Node], list[Outcome]]]:
    """What a policy decides, with all nodes that it asked for and their outcomes."""
    grown: list[Node] = []
    outcomes: list[Outcome] = []
    try:
        nodes = next(policy)
        while True:
            answers = yield Round(nodes, sees)
            grown += nodes
            outcomes += answers
            nodes = policy.send(answers)
    except StopIteration as end:
        return end.value, grown, outcomes


def record_of(entry: Mapping[str, Any], store: Store) -> Record:
    """The record of a run in the store, whole or as far as it came."""
    spec, result = entry["spec"], entry["result"] or {}
    rows = [_measured(store, key, entry) for key in result.get("path", ())] or _reached(store, result)
    stop = result.get("stop")
    if rows and stop is not None:
        rows[-1] = at_stop(rows[-1], stop)
    joint, isolated = [
        tuple(_last(_measured(store, key, entry), spec["head"]) for key in result.get(name, ())) or None
        for name in ("joint", "isolated")
    ]
    policy = protocol(spec["protocol"], **spec.get("options", {}))
    return Record(
        stream=spec["stream"]["name"],
        stream_spec=spec["stream"],
        learner=spec["learner"],
        network=spec["network"][0],
        settings=settings_of(spec, policy),
        protocol=spec["protocol"],
        head=spec["head"],
        seed=spec["seed"],
        key=entry["key"],
        status=entry["status"],
        error=entry["error"],
        error_kind=entry["kind"],
        rows=tuple(rows),
        chosen=tuple(result.get("chosen", ())),
        joint=joint,
        isolated=isolated,
        stop=stop,
        ties=result.get("ties", 0),
        decisions=tuple(map(_decision, result.get("decisions", ()))),
        search_flops=result.get("search_flops"),
        warning=warning_of(spec, policy),
        ideals=_ideals(result, store, entry),
        evaluate=spec.get("evaluate", "all"),
        moments=tuple(spec.get("curve", ())),
        beside={"validation": spec["validation"], **digests_of(spec)},
    )


def _ideals(result: Mapping[str, Any], store: Store, entry: Mapping[str, Any]) -> Ideals | None:
    found = result.get("offline")
    if not found:
        return None
    alone, seen = (tuple(_measured(store, key, entry) for key in found[name]) for name in ("alone", "seen"))
    return Ideals(alone, seen, tuple(map(_decision, found["decisions"])), has_modalities(entry["spec"]["stream"]))


def warning_of(spec: Mapping[str, Any], policy: Protocol) -> str:
    """What a reader of a run's results must know: how its protocol chose, and what its tasks ended by."""
    stopped = any(looks_at(settings) == "test" for settings in spec["grid"])
    return "; ".join(filter(None, [policy.warning, STOPPED_ON_TEST if stopped else ""]))


def settings_of(spec: Mapping[str, Any], policy: Protocol) -> dict[str, Any]:
    """The settings of a run's learner, network and protocol; and the device, if it is another than the CPU."""
    networks = [
        {**settings, **({"device": device[0]} if device else {})}
        for _, settings, *device in spec.get("networks", [spec["network"]])
    ]
    return {**_alternatives(spec["grid"]), **_alternatives(networks), **_plain(policy.settings())}


def _alternatives(grid: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Every setting with its value, or with the list of its values if there were several to choose from."""
    values = {name: list(dict.fromkeys(_tuple(settings[name]) for settings in grid)) for name in grid[0]}
    return {name: many[0] if len(many) == 1 else many for name, many in values.items()}


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    return _alternatives([settings]) if settings else {}


def _tuple(value: Any) -> Any:
    """Several numbers that are one value, as JSON gives them back."""
    return tuple(value) if isinstance(value, list) else value


def _decision(data: Mapping[str, Any]) -> dict[str, Any]:
    candidates = [{name: _tuple(value) for name, value in settings.items()} for settings in data["candidates"]]
    return {**data, "candidates": candidates}


def _operations(nodes: Sequence[Node], outcomes: Sequence[Outcome]) -> int:
    """What all these nodes took, each once: its own lesson is its way from the root without its parent's. What a lesson
    took that failed is not known."""
    whole = {node.key: o.flops for node, o in zip(nodes, outcomes, strict=True) if o.error is None}
    parents = {node.key: node.parent.key for node in nodes}
    return sum(flops - whole.get(parents[key], 0) for key, flops in whole.items())


def _measured(store: Store, key: str, entry: Mapping[str, Any]) -> Row:
    """What was measured at a node of a finished run."""
    row = store.row(key)
    if row is None:
        raise StoreTrouble(
            f"a part of run {entry['key'][:10]} is missing in {store.folder} or damaged; give the command of the run "
            "again, it trains that part again to the same bits"
        )
    return row


def _reached(store: Store, result: Mapping[str, Any]) -> list[Row]:
    """What was measured before a run failed, as far as it is still there."""
    rows: list[Row] = []
    for key in result.get("reached", ()):
        row = store.row(key)
        if row is None:
            break
        rows.append(row)
    return rows


def _last(row: Row, head: str) -> float:
    return row.accuracy(head)[-1]


def result_to_json(result: Result) -> dict[str, Any]:
    return asdict(result)
