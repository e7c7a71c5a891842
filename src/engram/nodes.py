"""Identity: a node is known by what makes it, before it exists.

    root ──task 1──▶ node ──task 2──▶ node …     a run is a path; a grid search branches; references start at the root

Its key is the hash of its parent's key and of everything that can change its bits. From this follow resuming (grow from
the deepest node that exists), never training twice (two experiments that share a beginning share its nodes) and
parallel growth (nodes whose parents exist). Nothing here trains, and nothing reads or writes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.metadata import version
from itertools import accumulate, takewhile
from typing import Any

from engram.core import Step
from engram.errors import BadSetting
from engram.learners import LEARNERS, learner_class, learner_settings
from engram.networks import NETWORKS, Blueprint, network_class
from engram.own import Origin, Registry
from engram.settings import Setting, declared, revised
from engram.streams import kinds

BITS = 3  # raised by every change of the library that changes the bits of a node, or a default


@dataclass(frozen=True)
class Growth:
    """One lesson of a path: which tasks are taught at once, with which settings, measured at which steps. With
    `every` n all tasks seen and the validation data are measured every n steps and at the end, see `Curve`. At the
    end `evaluate` says which of the tasks seen are measured: all, current or none."""

    tasks: tuple[int, ...]
    settings: Mapping[str, Any]
    curve: tuple[int, ...] = ()
    every: int = 0
    evaluate: str = "all"

    def to_json(self) -> list[Any]:
        return [list(self.tasks), dict(self.settings), self.measured()]

    def measured(self) -> list[Any]:
        """The steps, and after them what is not as it is by default: keys of nodes do not change with what is added."""
        more: dict[str, Any] = {"every": self.every} if self.every else {}
        if self.evaluate != "all":
            more["evaluate"] = self.evaluate
        return [*self.curve, more] if more else list(self.curve)

    @staticmethod
    def from_json(tasks: Sequence[int], settings: Mapping[str, Any], measured: Sequence[Any]) -> Growth:
        more = measured[-1] if measured and isinstance(measured[-1], Mapping) else {}
        return Growth(tuple(tasks), settings, tuple(measured[:-1] if more else measured), **more)

    def is_moment(self, step: Step) -> bool:
        """Whether something is to be measured after this step."""
        regular = self.every and (step.done % self.every == 0 or step.done == step.total)
        return step.done in self.curve or bool(regular)


@dataclass(frozen=True, eq=False)
class Node:
    """A learner (by name, network and seed) on a stream (by its spec), after the lessons of `path`.

    It holds the last of them and its parent: whole paths would need memory by the square of their length."""

    learner: str
    network: Blueprint
    seed: int
    stream: Mapping[str, Any]
    validation: float
    last: Growth = Growth((), {})  # an untrained node has learned nothing
    depth: int = 0  # how many lessons it had
    _parent: Node | None = field(default=None, repr=False)

    def child(
        self,
        tasks: Sequence[int],
        settings: Mapping[str, Any],
        curve: Sequence[int] = (),
        every: int = 0,
        evaluate: str = "all",
    ) -> Node:
        """The node that learning these tasks, at once, makes of this one."""
        return self.after(Growth(tuple(tasks), settings, tuple(curve), every, evaluate))

    def after(self, growth: Growth) -> Node:
        """The node that this lesson makes of this one."""
        return replace(self, last=growth, depth=self.depth + 1, _parent=self)

    @property
    def parent(self) -> Node:
        """The node that the last lesson made this one of; an untrained node is its own."""
        return self._parent or self

    @property
    def path(self) -> tuple[Growth, ...]:
        """All its lessons, the first one first."""
        return tuple(node.last for node in self.way)

    @property
    def way(self) -> list[Node]:
        """The nodes after each of its lessons; the last one is this."""
        return list(self._back())[::-1]

    def _back(self) -> Iterator[Node]:
        """This node, its parent, and so on to the one that had the first lesson."""
        node = self
        while node.depth:
            yield node
            node = node.parent

    @property
    def tasks(self) -> tuple[int, ...]:
        """The tasks seen on the way here, in order of first appearance."""
        return tuple(dict.fromkeys(task for growth in self.path for task in growth.tasks))

    @cached_property
    def measured(self) -> tuple[int, ...] | None:
        """The places, among the tasks seen, of those that are measured here; None if these are all."""
        if self.last.evaluate == "all":
            return None
        return tuple(map(self.tasks.index, self.last.tasks)) if self.last.evaluate == "current" else ()

    @cached_property
    def key(self) -> str:
        if not self.depth:
            return _hash(*self._start(self._data()))
        for ancestor in self._nameless():
            ancestor.key  # noqa: B018
        return _hash(self.parent.key, *self._lesson())

    def key_by(self, data: Any) -> str:
        """A key that does not say which stream it is on: this is known of its data in the place of the spec."""
        return _hash("any stream", *self._start(data), *(node._lesson() for node in self.way))

    def _start(self, data: Any) -> list[Any]:
        """All that can change bits before a first lesson."""
        known = declared(network_class(self.network.name))
        changed = _changed(known, self.network.settings)
        network = [self.network.name, changed | revised(known, changed), *self.network.elsewhere]
        parts = [self.learner, network, self.seed, data, self.validation, _machine()]
        return [*parts, *filter(None, [self._code()])]

    def _lesson(self) -> list[Any]:
        """What the last lesson adds to that."""
        last = self.last
        return [last.tasks, self._effective(last.settings), last.measured(), *self._outputs()]

    def _nameless(self) -> list[Node]:
        """The ancestors that have no key yet, the oldest first: each then finds its parent's, where asking one through
        the other would be out of Python's depth after some 450 lessons."""
        ancestors = takewhile(lambda node: "key" not in vars(node), self.parent._back())
        return list(ancestors)[::-1]

    def _code(self) -> dict[str, Any]:
        """What of the code can change bits beyond `BITS`: a change of the method or the network alone, code that is
        not ours."""
        own = {kind: origin.digest for kind, origin in self.own.items()}
        bits = {"bits": learner_class(self.learner).bits, "network_bits": network_class(self.network.name).bits}
        return own | {name: value for name, value in bits.items() if value}

    @property
    def own(self) -> dict[str, Origin]:
        """Where the learner and the network come from, if they are not the library's."""
        found = {"learner": LEARNERS.origin(self.learner), "network": NETWORKS.origin(self.network.name)}
        return {kind: origin for kind, origin in found.items() if origin is not None}

    def _data(self) -> dict[str, Any]:
        """What of the stream's spec defines a task's bytes: not where data or code lie, nor how many tasks follow."""
        return {name: value for name, value in self.stream.items() if name not in ("dataset", "tasks", "place")}

    def _outputs(self) -> list[int]:
        """How many tasks there are to be, where a learner has outputs for all classes from the start and more tasks
        bring more of them."""
        kind = kinds().get(self.stream.get("kind", ""))
        ahead = self.last.settings.get("heads") == "masked"
        return [self.stream["tasks"]] if ahead and kind is not None and kind.widens else []

    def _effective(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The settings that matter here: those marked `late` do nothing before the second lesson, a `limit` never does.
        That a value means something else now matters from the first one on: it may need of a state what was not kept
        before."""
        known = learner_settings(self.learner)
        changed = _changed(known, settings)
        acting = [name for name in changed if not known[name].limit and (self.depth > 1 or not known[name].late)]
        return {name: changed[name] for name in acting} | revised(known, changed)

    def to_json(self) -> dict[str, Any]:
        """All of it, as plain JSON: enough for another process to grow the node."""
        own = own_to_json(self.own)
        return own | {
            "learner": self.learner,
            "network": self.network.to_json(),
            "seed": self.seed,
            "stream": dict(self.stream),
            "validation": self.validation,
            "path": [growth.to_json() for growth in self.path],
        }

    def stored(self) -> tuple[Any, str | None]:
        """What the store keeps of it: its last lesson and its parent's key; after the first lesson all there is."""
        return (self.last.to_json(), self.parent.key) if self.depth > 1 else (self.to_json(), None)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Node:
        find_own(data)
        network = Blueprint.from_json(*data["network"])
        root = Node(data["learner"], network, data["seed"], data["stream"], data["validation"])
        return root.lineage(data["path"])[-1]

    def lineage(self, growths: Sequence[Sequence[Any]]) -> list[Node]:
        """This node and those that lessons (as JSON) make of it one after another."""
        return list(accumulate(growths, lambda node, growth: node.after(Growth.from_json(*growth)), initial=self))


def own_to_json(own: Mapping[str, Origin]) -> dict[str, Any]:
    """Where code that is not the library's own is found again; nothing where there is none."""
    return {"own": {kind: list(origin) for kind, origin in own.items()}} if own else {}


def find_own(data: Mapping[str, Any]) -> None:
    """Make the learner and the network known that a node or run of another process or day has; refuse others."""
    registries: dict[str, Registry[Any]] = {"learner": LEARNERS, "network": NETWORKS}
    for kind, (place, digest) in data.get("own", {}).items():
        if place is None:
            raise BadSetting(f"its {kind} was defined in a running program; run that program again")
        registries[kind].find_again(place, digest)


def _changed(known: Mapping[str, Setting], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that are not at their defaults: a key does not change when a setting is added to the library."""
    parsed = {name: known[name].parse(name, value) for name, value in settings.items()}
    return {name: value for name, value in parsed.items() if value != known[name].default}


def revisions(learner: str, settings: Mapping[str, Any]) -> dict[str, int]:
    """The values among a learner's settings that came to mean something else, with how often they did."""
    return revised(learner_settings(learner), settings)


def _machine() -> list[Any]:
    """What of the machine and the libraries can change bits."""
    return [BITS, torch_version(), "1 thread", "no denormals"]


@cache
def torch_version() -> str:
    """Of the installed torch, without what it was built for."""
    return version("torch").split("+")[0]


def _hash(*parts: Any) -> str:
    text = json.dumps(parts, sort_keys=True, default=dict)
    return hashlib.sha256(text.encode()).hexdigest()[:40]
