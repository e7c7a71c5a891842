"""A run: one learner on one stream with one seed, under one protocol; which nodes it wants, and its record."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from engram.core import Row, Stream
from engram.errors import BadSetting, UnknownName
from engram.learners import create, learner_settings
from engram.networks import Blueprint, network_class
from engram.protocols import Outcome, Protocol, grid_of, protocol
from engram.record import Record
from engram.settings import Setting, declared
from engram.store import Store
from engram.streams import kind_of, rebuild, stream
from engram.tree import Growth, Node

HEADS = ("single", "multi")
TRAINING = ("epochs", "batch", "rate", "schedule", "optimizer", "momentum")  # what a reference has of a method


@dataclass(frozen=True)
class Result:
    """What a finished run leaves in the store: keys of nodes, and the settings that were kept on its path."""

    path: list[str]
    chosen: list[dict[str, Any]]
    joint: list[str]
    isolated: list[str]
    grown: list[str]


@dataclass(frozen=True, eq=False)
class Run:
    """Everything that was asked for. `grid` holds the settings to choose from: one, unless the protocol selects."""

    stream: Stream
    learner: str
    network: Blueprint
    grid: tuple[Mapping[str, Any], ...]
    protocol: str
    head: str
    seed: int
    validation: float
    curve: tuple[int, ...] = ()
    references: bool = False

    @cached_property
    def key(self) -> str:
        text = json.dumps([self.to_json(), self.root.key], sort_keys=True, default=dict)
        return hashlib.sha256(text.encode()).hexdigest()[:40]

    @property
    def root(self) -> Node:
        return Node(self.learner, self.network, self.seed, self.stream.spec, self.validation)

    @property
    def taught(self) -> Stream:
        """The stream with the share of training data held out that this run has."""
        return self.stream.with_validation(self.validation)

    def size(self) -> int:
        """How many nodes there are to grow."""
        return protocol(self.protocol).size(len(self.stream), self.grid) + self.references * (len(self.stream) + 1)

    def walk(self) -> Generator[list[Node], list[Outcome], Result]:
        """The protocol's policy, then the references if they were asked for."""
        grown: list[str] = []
        policy = protocol(self.protocol).policy(self.root, len(self.stream), self.grid, self.curve)
        try:
            nodes = next(policy)
            while True:
                grown += [node.key for node in nodes]
                nodes = policy.send((yield nodes))
        except StopIteration as end:
            path: tuple[Node, ...] = end.value
        joint, isolated = self._references(path) if self.references else ([], [])
        if joint:
            yield [*joint, *isolated]
        keys = [[node.key for node in nodes] for nodes in (path, joint, isolated)]
        chosen = [dict(node.path[-1].settings) for node in path]
        return Result(keys[0], chosen, keys[1], keys[2], grown + keys[1] + keys[2])

    def _references(self, path: Sequence[Node]) -> tuple[list[Node], list[Node]]:
        """Joint models a*_k of tasks 1 … k at once, and the last task alone, each trained from the root with the
        settings that were kept. A plain network stands in for a method that has one."""
        plain = "finetune" if "rate" in learner_settings(self.learner) else self.learner
        root = Node(plain, self.network, self.seed, self.stream.spec, self.root.validation)
        known = learner_settings(plain)
        grown: list[Node] = []
        for node in path:
            chosen = node.path[-1].settings
            kept = {name: chosen[name] for name in (TRAINING if "rate" in known else known) if name in chosen}
            settings = {name: kept.get(name, setting.default) for name, setting in known.items()}
            grown.append(root.child(range(len(grown) + 1), settings))
        alone = Growth((len(path) - 1,), grown[-1].path[-1].settings)
        return grown, [root.child(alone.tasks, alone.settings)]

    def to_json(self) -> dict[str, Any]:
        return {
            "stream": dict(self.stream.spec),
            "learner": self.learner,
            "network": [self.network.name, dict(self.network.settings)],
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
        name, settings = data["network"]
        return Run(
            stream=rebuild(data["stream"]),
            learner=data["learner"],
            network=Blueprint.of(name, **settings),
            grid=tuple(data["grid"]),
            protocol=data["protocol"],
            head=data["head"],
            seed=data["seed"],
            validation=data["validation"],
            curve=tuple(data["curve"]),
            references=data["references"],
        )


def prepare(
    stream_or_name: Stream | str,
    learner: str,
    *,
    seed: int = 0,
    head: str | None = None,
    protocol_name: str = "sequential",
    network: str | None = None,
    dataset: str | None = None,
    tasks: int | None = None,
    stream_seed: int | None = None,
    curve: Sequence[int] = (),
    references: bool = False,
    settings: Mapping[str, Any] | None = None,
) -> Run:
    """Check everything that can be checked before any work, and fill in every default.

    `settings` may be the learner's, the network's or the stream's, each by its name; several values (a list) make a
    grid for a protocol that selects.
    """
    given = dict(settings or {})
    network_name = network or "mlp"
    policy = protocol(protocol_name)
    learner_known, network_known = learner_settings(learner), declared(network_class(network_name))
    stream_known = stream_options(stream_or_name) if isinstance(stream_or_name, str) else {}
    known = {**learner_known, **network_known, **stream_known}
    for name in given:
        if name not in known:
            raise UnknownName(f"setting of learner '{learner}', its network or its stream called", name, known)
    stream_given = {name: given.pop(name) for name in list(given) if name not in {**learner_known, **network_known}}
    tasks = stream_given.pop("tasks", tasks)
    share = _share(stream_given.pop("validation", None), policy)
    made = _stream(stream_or_name, seed if stream_seed is None else stream_seed, dataset, tasks, stream_given)
    network_given = {name: given.pop(name) for name in list(given) if name not in learner_known}
    blueprint = Blueprint.of(network_name, **network_given)
    if head not in (None, *HEADS):
        raise UnknownName("head", str(head), HEADS)
    if head == "multi" and "loss_over" in learner_known and "loss_over" not in given:
        given["loss_over"] = "task"
    grid = tuple(_grid(learner, given))
    if len(grid) > 1 and not policy.selects:
        next(policy.policy(Node(learner, blueprint, seed, made.spec, 0.0), 1, grid))
    head = _check_head(learner, made, blueprint, grid, head)
    return Run(made, learner, blueprint, grid, policy.name, head, seed, share, _steps(curve), references)


def stream_options(name: str) -> dict[str, Setting]:
    """The options of the kind of stream that a name begins with."""
    kind = kind_of(name)
    return dict(kind.options) if kind else {}


def _share(given: Any, policy: Protocol) -> float:
    """The share of training data held out: the protocol's, unless the user says another."""
    if given is None:
        return policy.validation
    share = Setting(0.1, "share held out", at_least=0, below=1).parse("validation", given)
    if policy.selects and share == 0:
        raise BadSetting(f"the protocol '{policy.name}' selects by validation data; validation must be above 0")
    return float(share)


def _stream(given: Stream | str, seed: int, dataset: str | None, tasks: int | None, options: dict[str, Any]) -> Stream:
    if not isinstance(given, (Stream, str)):
        raise BadSetting(f"stream={given!r} is neither a name such as 'split-digits' nor a Stream")
    if isinstance(given, str):
        return stream(given, seed=seed, dataset=dataset, tasks=tasks, **options)
    if dataset is not None or tasks is not None:
        raise BadSetting(f"stream '{given.name}' is made already; give dataset and tasks to engram.stream instead")
    return given


def _grid(learner: str, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    known = learner_settings(learner)
    values = {}
    for name, setting in known.items():
        many = given[name] if isinstance(given.get(name), list) else [given.get(name, setting.default)]
        if not many:
            raise BadSetting(f"{name} has no values to choose from; give at least one")
        values[name] = [setting.parse(name, value) for value in many]
    return grid_of(values)


def _check_head(
    learner: str, made: Stream, network: Blueprint, grid: Sequence[Mapping[str, Any]], head: str | None
) -> str:
    """Build the learner once, so that a setting it refuses is found now, and see whether it must be told the task."""
    needs = any(create(learner, made.outline, 0, network, settings).needs_task for settings in grid[:1])
    if needs and head == "single":
        raise BadSetting(
            f"learner '{learner}' has to be told the task, so it has no single-head accuracy; use --head multi"
        )
    return head or ("multi" if needs else "single")


def _steps(curve: Sequence[int]) -> tuple[int, ...]:
    listed = isinstance(curve, (list, tuple, range))
    if not listed or any(isinstance(step, bool) or not isinstance(step, int) or step < 0 for step in curve):
        shown = list(curve) if listed else curve
        raise BadSetting(f"curve={shown} is not a list of steps; give whole numbers from 0, as in 0-1-2-5-10")
    return tuple(sorted(set(curve)))


def record_of(entry: Mapping[str, Any], store: Store) -> Record:
    """The record of a run in the store, whole or as far as it came."""
    spec, result = entry["spec"], entry["result"]
    rows = [row for row in map(store.row, result["path"]) if row is not None] if result else []
    joint, isolated = [
        tuple(_last(store.row(key), spec["head"]) for key in result[name]) if result and result[name] else None
        for name in ("joint", "isolated")
    ]
    grid = spec["grid"]
    settings = {name: value if len(grid) == 1 else [s[name] for s in grid] for name, value in grid[0].items()}
    return Record(
        stream=spec["stream"]["name"],
        stream_spec=spec["stream"],
        learner=spec["learner"],
        network=spec["network"][0],
        settings={**settings, **spec["network"][1]},
        protocol=spec["protocol"],
        head=spec["head"],
        seed=spec["seed"],
        key=entry["key"],
        status=entry["status"],
        error=entry["error"],
        rows=tuple(rows),
        chosen=tuple(result["chosen"]) if result else (),
        joint=joint,
        isolated=isolated,
    )


def _last(row: Row | None, head: str) -> float:
    if row is None:
        return float("nan")
    return (row.multi if head == "multi" or row.single is None else row.single)[-1]


def result_to_json(result: Result) -> dict[str, Any]:
    return asdict(result)
