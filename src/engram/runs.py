"""A run: one learner on one stream with one seed, under one protocol; which nodes it wants, and its record."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from engram.core import Outline, Row, Stream
from engram.errors import BadSetting, UnknownName
from engram.learners import create, learner_settings
from engram.networks import Blueprint, network_class
from engram.protocols import Kept, Outcome, Protocol, grid_of, protocol, protocol_class
from engram.record import Record, at_stop
from engram.settings import Setting, declared
from engram.store import Store
from engram.streams import kind_of, rebuild, stream
from engram.tree import Node

HEADS = ("single", "multi")
# what a reference has of a method
TRAINING = ("epochs", "iterations", "batch", "rate", "schedule", "optimizer", "momentum")


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

    @cached_property
    def policy(self) -> Protocol:
        return protocol(self.protocol, **self.options)

    @cached_property
    def key(self) -> str:
        text = json.dumps([self.to_json(), self.root.key], sort_keys=True, default=dict)
        return hashlib.sha256(text.encode()).hexdigest()[:40]

    @property
    def root(self) -> Node:
        return self.roots[0]

    @property
    def roots(self) -> list[Node]:
        """One untrained learner for every network."""
        return [Node(self.learner, network, self.seed, self.stream.spec, self.validation) for network in self.networks]

    @property
    def taught(self) -> Stream:
        """The stream with the share of training data held out that this run has."""
        return self.stream.with_validation(self.validation)

    def size(self) -> int:
        """How many nodes there are to grow."""
        chosen = self.policy.size(len(self.networks), len(self.stream), self.grid)
        return chosen + self.references * (len(self.stream) + 1)

    def walk(self) -> Generator[list[Node], list[Outcome], Result]:
        """The protocol's policy, then the references if they were asked for."""
        grown: list[Node] = []
        policy = self.policy.policy(self.roots, len(self.stream), self.grid, self.curve)
        try:
            nodes = next(policy)
            while True:
                grown += nodes
                nodes = policy.send((yield nodes))
        except StopIteration as end:
            kept: Kept = end.value
        path = kept.path
        joint, isolated = self._references(path) if self.references else ([], [])
        if joint:
            yield [*joint, *isolated]
        keys = [[node.key for node in nodes] for nodes in (path, joint, isolated)]
        network = dict(path[-1].network.settings) if len(self.networks) > 1 else {}
        chosen = [{**node.path[-1].settings, **network} for node in path]
        all_grown = [node.key for node in [*grown, *joint, *isolated]]
        beginnings = list(dict.fromkeys(node.key for node in grown if len(node.path) == 1))
        return Result(keys[0], chosen, keys[1], keys[2], all_grown, beginnings, kept.stop, kept.ties)

    def _references(self, path: Sequence[Node]) -> tuple[list[Node], list[Node]]:
        """Joint models a*_k of tasks 1 … k at once, and the last task alone, each trained from the root with the
        settings that were kept. A plain network stands in for a method that has one."""
        plain = "finetune" if "rate" in learner_settings(self.learner) else self.learner
        root = Node(plain, path[-1].network, self.seed, self.stream.spec, self.validation)
        known = learner_settings(plain)
        grown: list[Node] = []
        for node in path:
            chosen = node.path[-1].settings
            kept = {name: chosen[name] for name in (TRAINING if "rate" in known else known) if name in chosen}
            settings = {name: kept.get(name, setting.default) for name, setting in known.items()}
            if settings.get("iterations"):  # as many steps as the tasks had one after another
                settings["iterations"] *= len(grown) + 1
            grown.append(root.child(range(len(grown) + 1), settings))
        last = dict(grown[-1].path[-1].settings)
        if last.get("iterations"):
            last["iterations"] //= len(path)
        return grown, [root.child([len(path) - 1], last)]

    def to_json(self) -> dict[str, Any]:
        more: dict[str, Any] = {"options": dict(self.options)} if self.options else {}
        if len(self.networks) > 1:
            more["networks"] = [[network.name, dict(network.settings)] for network in self.networks]
        return more | {
            "stream": dict(self.stream.spec),
            "learner": self.learner,
            "network": [self.networks[0].name, dict(self.networks[0].settings)],
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
        networks = data.get("networks", [data["network"]])
        return Run(
            stream=rebuild(data["stream"]),
            learner=data["learner"],
            networks=tuple(Blueprint.of(name, **settings) for name, settings in networks),
            grid=tuple(data["grid"]),
            protocol=data["protocol"],
            head=data["head"],
            seed=data["seed"],
            validation=data["validation"],
            curve=tuple(data["curve"]),
            references=data["references"],
            options=data.get("options", {}),
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

    `settings` may be the learner's, the network's, the stream's or the protocol's, each by its name; several values
    (a list) make a grid for a protocol that selects.
    """
    given = dict(settings or {})
    network_name = network or "mlp"
    protocol_known = declared(protocol_class(protocol_name))
    learner_known, network_known = learner_settings(learner), declared(network_class(network_name))
    stream_known = stream_options(stream_or_name) if isinstance(stream_or_name, str) else {}
    known = {**learner_known, **network_known, **stream_known, **protocol_known}
    for name in given:
        if name not in known:
            raise UnknownName(
                f"setting of learner '{learner}', its network, its stream or its protocol called", name, known
            )
    options = _options(protocol_known, {name: given.pop(name) for name in list(given) if name in protocol_known})
    policy = protocol(protocol_name, **options)
    stream_given = {name: given.pop(name) for name in list(given) if name not in {**learner_known, **network_known}}
    tasks = stream_given.pop("tasks", tasks)
    share = _share(stream_given.pop("validation", None), policy)
    made = _stream(stream_or_name, seed if stream_seed is None else stream_seed, dataset, tasks, stream_given)
    network_given = {name: given.pop(name) for name in list(given) if name not in learner_known}
    networks = _networks(network_name, network_given, policy)
    if head not in (None, *HEADS):
        raise UnknownName("head", str(head), HEADS)
    if head == "multi" and "loss_over" in learner_known and "loss_over" not in given:
        given["loss_over"] = "task"
    grid = tuple(_grid(learner, given))
    if len(grid) > 1 and not policy.selects:
        next(policy.policy([Node(learner, networks[0], seed, made.spec, 0.0)], 1, grid))
    policy.check(learner, len(made), grid, curve)
    for blueprint in networks:
        head = _check_head(learner, made, blueprint, grid, head, policy)
    return Run(made, learner, networks, grid, policy.name, str(head), seed, share, _steps(curve), references, options)


def stream_options(name: str) -> dict[str, Setting]:
    """The options of the kind of stream that a name begins with."""
    kind = kind_of(name)
    return dict(kind.options) if kind else {}


def _options(known: Mapping[str, Setting], given: Mapping[str, Any]) -> dict[str, Any]:
    """The protocol's settings that are not at their defaults."""
    parsed = {name: known[name].parse(name, value) for name, value in given.items()}
    return {name: value for name, value in parsed.items() if value != known[name].default}


def _networks(name: str, given: Mapping[str, Any], policy: Protocol) -> tuple[Blueprint, ...]:
    """A network for every combination of its settings: several only for a protocol that chooses among networks."""
    values = {setting: value if isinstance(value, list) else [value] for setting, value in given.items()}
    empty = next((setting for setting, many in values.items() if not many), None)
    if empty is not None:
        raise BadSetting(f"{empty} has no values to choose from; give at least one")
    several = next((setting for setting, many in values.items() if len(many) > 1), None)
    if several is not None and not policy.selects_networks:
        raise BadSetting(
            f"the protocol '{policy.name}' takes one network, and {several} has several values; choose one of them, "
            "or --protocol realistic for a stream of two tasks"
        )
    return tuple(Blueprint.of(name, **settings) for settings in grid_of(values))


def _share(given: Any, policy: Protocol) -> float:
    """The share of training data held out: the protocol's, unless the user says another."""
    if given is None:
        return policy.validation
    share = Setting(0.1, "share held out", at_least=0, below=1).parse("validation", given)
    if policy.selects and policy.needs_validation and share == 0:
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
    learner: str,
    made: Stream,
    network: Blueprint,
    grid: Sequence[Mapping[str, Any]],
    head: str | None,
    policy: Protocol,
) -> str:
    """Find a setting that the learner refuses now, and see whether it must be told the task."""
    outline = Outline(made.outline.shape, tuple(sorted(made.outline.classes)))
    needs = _needs_task(learner, outline, network.name, _text(network.settings), _text(grid[0]))
    if needs and head == "single":
        raise BadSetting(
            f"learner '{learner}' has to be told the task, so it has no single-head accuracy; use --head multi"
        )
    if policy.single_head and head == "multi" and not needs:
        raise BadSetting(f"the protocol '{policy.name}' reads accuracies over all classes; leave --head multi out")
    return head or ("multi" if needs else "single")


@lru_cache(maxsize=4096)
def _needs_task(learner: str, outline: Outline, network: str, network_settings: str, settings: str) -> bool:
    """Build the learner once, however many runs have it: large networks take their time."""
    blueprint = Blueprint.of(network, **json.loads(network_settings))
    return create(learner, outline, 0, blueprint, json.loads(settings)).needs_task


def _text(settings: Mapping[str, Any]) -> str:
    return json.dumps(dict(settings), sort_keys=True)


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
    stop = result.get("stop") if result else None
    if rows and stop is not None:
        rows[-1] = at_stop(rows[-1], stop)
    joint, isolated = [
        tuple(_last(store.row(key), spec["head"]) for key in result[name]) if result and result[name] else None
        for name in ("joint", "isolated")
    ]
    networks = [settings for _, settings in spec.get("networks", [spec["network"]])]
    policy = protocol(spec["protocol"], **spec.get("options", {}))
    return Record(
        stream=spec["stream"]["name"],
        stream_spec=spec["stream"],
        learner=spec["learner"],
        network=spec["network"][0],
        settings={**_alternatives(spec["grid"]), **_alternatives(networks), **_plain(policy.settings())},
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
        stop=stop,
        ties=result.get("ties", 0) if result else 0,
        warning=policy.warning,
    )


def _alternatives(grid: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Every setting with its value, or with the list of its values if there were several to choose from."""
    values = {name: list(dict.fromkeys(_tuple(settings[name]) for settings in grid)) for name in grid[0]}
    return {name: many[0] if len(many) == 1 else many for name, many in values.items()}


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    return _alternatives([settings]) if settings else {}


def _tuple(value: Any) -> Any:
    """Several numbers that are one value, as JSON gives them back."""
    return tuple(value) if isinstance(value, list) else value


def _last(row: Row | None, head: str) -> float:
    if row is None:
        return float("nan")
    return (row.multi if head == "multi" or row.single is None else row.single)[-1]


def result_to_json(result: Result) -> dict[str, Any]:
    return asdict(result)
