"""What is asked for, once: the same object from Python, the command line and papers, checked before any work is done.

A value that is not given is the default of whoever declares the setting, on every road.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from engram.core import Learner, Outline, Stream
from engram.errors import BadSetting, UnknownName
from engram.learners import LEARNERS, create, learner_class, learner_settings, look_ahead
from engram.networks import NETWORKS, Blueprint, find_device, network_class, refuse_if_of_others
from engram.nodes import Node
from engram.offline import IDEALS
from engram.protocols import Measuring, Protocol, grid_of, protocol, protocol_class, read_evaluate
from engram.runs import Run
from engram.settings import Setting, declared
from engram.streams import options_of, stream
from engram.streams.validation import SHARE
from engram.tree import one_thread

HEADS = ("single", "multi")


@dataclass(frozen=True)
class Request:
    """A learner on a stream. `settings` may be the learner's, the network's, the stream's or the protocol's, each by
    its name; several values (a list) make a grid for a protocol that selects. Stream, learner and network may be names,
    places such as "mas.py:MAS", or the functions and classes themselves."""

    stream: Stream | str | Callable[..., Stream]
    learner: str | type[Learner]
    head: str | None = None
    protocol: str = "sequential"
    network: str | Callable[..., Any] | None = None
    dataset: str | None = None
    tasks: int | None = None
    stream_seed: int | None = None
    curve: Sequence[int] = ()
    references: bool = False
    offline: str | None = None
    evaluate: str = "all"
    device: str = "cpu"
    settings: Mapping[str, Any] = field(default_factory=dict)

    def runs(self, seeds: Sequence[int]) -> list[Run]:
        return [self.run(seed) for seed in seeds]

    def run(self, seed: int = 0) -> Run:
        """Everything that can be checked before any work is checked, and every default filled in."""
        learner, network_name = LEARNERS.name_of(self.learner), NETWORKS.name_of(self.network or "mlp")
        learner_known, network_known = learner_settings(learner), declared(network_class(network_name))
        protocol_known = declared(protocol_class(self.protocol))
        stream_known = {} if isinstance(self.stream, Stream) else options_of(_named(self.stream))
        given = dict(self.settings)
        _check_names(learner, given, [learner_known, network_known, stream_known, protocol_known])
        options = _options(protocol_known, _taken(given, protocol_known))
        policy = protocol(self.protocol, **options)
        stream_given = _taken(given, [name for name in given if name not in {**learner_known, **network_known}])
        tasks = stream_given.pop("tasks", self.tasks)
        held_out = stream_given.pop("validation", None)
        stream_seed = seed if self.stream_seed is None else self.stream_seed
        made = _stream(self.stream, stream_seed, self.dataset, tasks, stream_given)
        network_given = _taken(given, [name for name in given if name not in learner_known])
        networks = _networks(network_name, network_given, policy, find_device(self.device))
        if self.head not in (None, *HEADS):
            raise UnknownName("head", str(self.head), HEADS)
        if self.head == "multi" and "loss_over" in learner_known:
            given.setdefault("loss_over", "task")
        grid = tuple(_grid(learner, given))
        share = _share(held_out, policy, made, any(map(learner_class(learner).uses_validation, grid)))
        learner_class(learner).require_tasks(made.with_validation(share))
        if len(grid) > 1 and not policy.selects:
            next(policy.policy([Node(learner, networks[0], seed, made.spec, 0.0)], 1, grid))
        measuring = Measuring(_steps(self.curve), read_evaluate(self.evaluate))
        policy.check(learner, len(made), grid, measuring)
        for network in networks:
            look_ahead(learner, made.outline, network, grid)
        heads = [_check_head(learner, made, network, grid, self.head, policy) for network in networks]
        asked = (measuring.curve, self.references, options, measuring.evaluate, self._ideal())
        return Run(made, learner, networks, grid, policy.name, heads[0], seed, share, *asked)

    def _ideal(self) -> str:
        """Which offline models are trained: those asked for, and with all other references all of them."""
        if self.offline not in (None, "no", *IDEALS):
            raise UnknownName("offline model", str(self.offline), ("no", *IDEALS))
        asked = self.offline or ("seen" if self.references else "no")
        return "" if asked == "no" else asked


def prepare(stream: Stream | str, learner: str, *, seed: int = 0, **asked: Any) -> Run:
    """One run of what is asked for."""
    return Request(stream, learner, **asked).run(seed)


def _named(given: Any) -> Any:
    if not isinstance(given, str) and not callable(given):
        raise BadSetting(f"stream={given!r} is neither a name such as 'split-digits' nor a Stream")
    return given


def _taken(given: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Those of the given settings that have these names; they are taken out."""
    return {name: given.pop(name) for name in list(names) if name in given}


def _check_names(learner: str, given: Mapping[str, Any], owners: Sequence[Mapping[str, Setting]]) -> None:
    known = {name for owner in owners for name in owner}
    for name in given:
        if name not in known:
            refuse_if_of_others(name, known)
            raise UnknownName(
                f"setting of learner '{learner}', its network, its stream or its protocol called", name, known
            )
        if sum(name in owner for owner in owners) > 1:
            raise BadSetting(
                f"both the learner '{learner}' and its network or stream have a setting '{name}'; rename it"
            )


def _options(known: Mapping[str, Setting], given: Mapping[str, Any]) -> dict[str, Any]:
    """The protocol's settings that are not at their defaults."""
    parsed = {name: known[name].parse(name, value) for name, value in given.items()}
    return {name: value for name, value in parsed.items() if value != known[name].default}


def _networks(name: str, given: Mapping[str, Any], policy: Protocol, device: str) -> tuple[Blueprint, ...]:
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
    return tuple(Blueprint.of(name, **settings).on(device) for settings in grid_of(values))


def _share(given: Any, policy: Protocol, made: Stream, used: bool) -> float:
    """The share of training data held out: the protocol's, unless the user says another or the stream has its own; some
    in any case where the learner uses it, as early stopping does."""
    if made.brings_validation:
        return 0.0
    if given is None:
        return policy.validation or (SHARE.default if used else 0.0)
    share = SHARE.parse("validation", given)
    if used and share == 0:
        raise BadSetting("validation=0 holds nothing out, and these settings need held-out data, as stop=patience does")
    if policy.selects and policy.needs_validation and share == 0:
        raise BadSetting(f"the protocol '{policy.name}' selects by validation data; validation must be above 0")
    return float(share)


def _stream(given: Any, seed: int, dataset: str | None, tasks: int | None, options: dict[str, Any]) -> Stream:
    if not isinstance(given, Stream):
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
    classes = (learner_class(learner), network_class(network.name))  # a user's may be another one of the same name
    by_heads = {settings.get("heads"): settings for settings in grid}
    all_need = {
        heads: _needs_task(classes, learner, outline, network.name, _text(network.settings), _text(settings))
        for heads, settings in by_heads.items()
    }
    needs = any(all_need.values())
    if needs and head != "multi" and not all(all_need.values()):
        told = ", ".join(f"heads={heads}" for heads, needed in all_need.items() if needed)
        raise BadSetting(
            f"with {told} learner '{learner}' has to be told the task, with others of these heads not, so their "
            "accuracies are not of one kind; use --head multi for all, or leave some out"
        )
    if needs and head == "single":
        raise BadSetting(
            f"learner '{learner}' has to be told the task, so it has no single-head accuracy; use --head multi"
        )
    if policy.single_head and head == "multi" and not needs:
        raise BadSetting(f"the protocol '{policy.name}' reads accuracies over all classes; leave --head multi out")
    return head or ("multi" if needs else "single")


@lru_cache(maxsize=4096)
def _needs_task(_: Any, learner: str, outline: Outline, network: str, network_settings: str, settings: str) -> bool:
    """Build the learner once, however many runs have it: large networks take their time."""
    blueprint = Blueprint.of(network, **json.loads(network_settings))
    with one_thread():  # as where it is trained: beside busy processes two would take many times as long
        return create(learner, outline, 0, blueprint, json.loads(settings)).needs_task


def _text(settings: Mapping[str, Any]) -> str:
    return json.dumps(dict(settings), sort_keys=True)


def _steps(curve: Sequence[int]) -> tuple[int, ...]:
    listed = isinstance(curve, (list, tuple, range))
    if not listed or any(isinstance(step, bool) or not isinstance(step, int) or step < 0 for step in curve):
        shown = list(curve) if listed else curve
        raise BadSetting(f"curve={shown} is not a list of steps; give whole numbers from 0, as in 0-1-2-5-10")
    return tuple(sorted(set(curve)))
