"""The tree: a node is a learner's state after some lessons, and growing a node is the one operation that trains.

    root ──task 1──▶ node ──task 2──▶ node …     a run is a path; a grid search branches; references start at the root

A node is known by what makes it, before it exists. Its key is the hash of its parent's key and of everything that can
change its bits. From this follow resuming (grow from the deepest node that exists), never training twice (two
experiments that share a beginning share its nodes) and parallel growth (nodes whose parents exist).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import torch

from engram.core import Cost, Learner, Lesson, Row, State, Step, Stream
from engram.costs import itemise
from engram.errors import BadData, BadSetting, Diverged
from engram.evaluate import Evaluation, Moment, curves_of, evaluate, look, read_moment
from engram.growth import Growth
from engram.learners import LEARNERS, create, learner_class, learner_settings
from engram.networks import NETWORKS, Blueprint, network_class
from engram.own import Origin, Registry
from engram.settings import Setting, declared
from engram.store import Store
from engram.streams import rebuild

BITS = 3  # raised by every change of the library that changes the bits of a node, or a default
# How often a position inside a lesson is saved, and the share of the time that saving may take at most.
CHECKPOINT_SECONDS = Setting(10.0, "seconds", at_least=0).parse(
    "ENGRAM_CHECKPOINT_SECONDS", os.environ.get("ENGRAM_CHECKPOINT_SECONDS", 10.0)
)
CHECKPOINT_SHARE = 0.02

CERTAIN = (Diverged, BadData, BadSetting)  # failures that would happen again, bit for bit

Watch = Callable[["Node", Step], None]


@dataclass(frozen=True, eq=False)
class Node:
    """A learner (by name, network and seed) on a stream (by its spec), after the lessons of `path`."""

    learner: str
    network: Blueprint
    seed: int
    stream: Mapping[str, Any]
    validation: float
    path: tuple[Growth, ...] = ()

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
        node = replace(self, path=(*self.path, growth))
        node.__dict__["parent"] = self  # whose key is known
        return node

    @cached_property
    def parent(self) -> Node:
        return replace(self, path=self.path[:-1])

    @property
    def tasks(self) -> tuple[int, ...]:
        """The tasks seen on the way here, in order of first appearance."""
        return tuple(dict.fromkeys(task for growth in self.path for task in growth.tasks))

    @cached_property
    def measured(self) -> tuple[int, ...] | None:
        """The places, among the tasks seen, of those that are measured here; None if these are all."""
        last = self.path[-1]
        if last.evaluate == "all":
            return None
        return tuple(map(self.tasks.index, last.tasks)) if last.evaluate == "current" else ()

    @cached_property
    def key(self) -> str:
        if not self.path:
            network = [self.network.name, _changed(declared(network_class(self.network.name)), self.network.settings)]
            parts = [self.learner, network, self.seed, self._data(), self.validation, _machine()]
            return _hash(*parts, *filter(None, [self._code()]))
        last = self.path[-1]
        return _hash(self.parent.key, last.tasks, self._effective(last.settings), last.measured())

    def _code(self) -> dict[str, Any]:
        """What of the code can change bits beyond `BITS`: a change of the method alone, code that is not ours."""
        own = {kind: origin.digest for kind, origin in self.own.items()}
        bits = learner_class(self.learner).bits
        return {**own, "bits": bits} if bits else own

    @property
    def own(self) -> dict[str, Origin]:
        """Where the learner and the network come from, if they are not the library's."""
        found = {"learner": LEARNERS.origin(self.learner), "network": NETWORKS.origin(self.network.name)}
        return {kind: origin for kind, origin in found.items() if origin is not None}

    def _data(self) -> dict[str, Any]:
        """What of the stream's spec defines a task's bytes: not where data or code lie, nor how many tasks follow."""
        return {name: value for name, value in self.stream.items() if name not in ("dataset", "tasks", "place")}

    def _effective(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The settings that matter here: those marked `late` do nothing before the second lesson."""
        known = learner_settings(self.learner)
        return {name: v for name, v in _changed(known, settings).items() if len(self.path) > 1 or not known[name].late}

    def to_json(self) -> dict[str, Any]:
        """All of it, as plain JSON: enough for another process to grow the node."""
        own = own_to_json(self.own)
        return own | {
            "learner": self.learner,
            "network": [self.network.name, dict(self.network.settings)],
            "seed": self.seed,
            "stream": dict(self.stream),
            "validation": self.validation,
            "path": [growth.to_json() for growth in self.path],
        }

    def stored(self) -> tuple[Any, str | None]:
        """What the store keeps of it: its last lesson and its parent's key; after the first lesson all there is."""
        return (self.path[-1].to_json(), self.parent.key) if len(self.path) > 1 else (self.to_json(), None)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Node:
        find_own(data)
        name, network_settings = data["network"]
        network = Blueprint.of(name, **network_settings)
        root = Node(data["learner"], network, data["seed"], data["stream"], data["validation"])
        return root.lineage(data["path"])[-1]

    def lineage(self, growths: Sequence[Sequence[Any]]) -> list[Node]:
        """This node and those that lessons (as JSON) make of it one after another. Each has its key before the next
        one asks for it: a key that had to go back to the root would be out of Python's depth after some 450 lessons."""
        nodes = [self]
        for growth in growths:
            nodes.append(nodes[-1].after(Growth.from_json(*growth)))
            nodes[-1].key  # noqa: B018
        return nodes


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


def grow(node: Node, store: Store, stream: Stream | None = None, watch: Watch | None = None) -> Row:
    """Make the node exist: what was measured there, from the store or by learning.

    Several processes may ask for the same node at once; one learns, the others wait. `stream` is needed only where it
    cannot be rebuilt from its spec. `watch` is told of every step and may raise to stop; the position is saved first.
    """
    row = _known(node, store)
    if row is None:
        watch = watch or _ignore
        with store.lock(node.key, lambda: watch(node, Step(0, 1))):
            return _known(node, store) or _learn(node, store, stream or stream_of(node), watch)[1]
    return row


def _known(node: Node, store: Store) -> Row | None:
    """What is in the store about a node; why it cannot be grown is raised again."""
    failure = store.failure(node.key)
    if failure is not None:
        raise failure
    return store.row(node.key)


def learner_at(node: Node, store: Store, stream: Stream, watch: Watch, settings: Mapping[str, Any]) -> Learner:
    """The learner as it stands at a node, to go on with these settings.

    Where the node's checkpoint was dropped or is damaged the node is grown again, to the same bits.
    """
    learner = create(node.learner, stream.outline, node.seed, node.network, settings)
    if node.path:
        learner.load(_state_at(node, store, stream, watch))
    return learner


def _state_at(node: Node, store: Store, stream: Stream, watch: Watch) -> State:
    """A node's state. Of the ancestors that must be grown again the oldest is the first: a path may be longer than
    functions can call each other."""
    state = store.state(node.key)
    if state is not None:
        return state
    lost = [node]
    while lost[-1].parent.path and not store.has_state(lost[-1].parent.key):
        lost.append(lost[-1].parent)
    for ancestor in lost[:0:-1]:
        _grow_again(ancestor, store, stream, watch)
    return _grow_again(node, store, stream, watch)


def _grow_again(node: Node, store: Store, stream: Stream, watch: Watch) -> State:
    with store.lock(node.key, lambda: watch(node, Step(0, 1))):
        return store.state(node.key) or _learn(node, store, stream, watch)[0].state()


def _learn(node: Node, store: Store, stream: Stream, watch: Watch) -> tuple[Learner, Row]:
    """Teach the last lesson of the node's path to the learner at its parent, measure, and commit."""
    growth, (spec, parent) = node.path[-1], node.stored()
    learner = learner_at(node.parent, store, stream, watch, growth.settings)
    lesson = Lesson.union([stream[task].lesson() for task in growth.tasks])
    try:
        with one_thread():
            teaching = _Teaching(node, learner, stream, store)
            teaching.run(lesson, watch)
            row = _measure(node, learner, stream, teaching)
    except CERTAIN as error:
        store.fail(node.key, spec, error, parent)
        raise
    _compare(store.row(node.key), row)
    store.commit(node.key, spec, row, learner.state(), parent)
    return learner, row


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """How nodes are grown. More threads would change the bits, and beside another busy process be slower; moments that
    fade away into denormal numbers would make every step half as slow again."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_flush_denormal(False)


def _compare(before: Row | None, now: Row) -> None:
    """A node that is grown again must come out the same; only another processor or library can make it differ."""
    if before is not None and before.parameters_sha256 != now.parameters_sha256:
        warnings.warn(
            "a node was grown again and its bits differ from the recorded ones: this store was written on another "
            "kind of machine; results that build on it are not bit-exact",
            stacklevel=2,
        )


class _Teaching:
    """A lesson being taught: resumed where it was left, saved now and then, with its learning curve."""

    def __init__(self, node: Node, learner: Learner, stream: Stream, store: Store):
        self.node, self.learner, self.stream, self.store = node, learner, stream, store
        self.curve: dict[int, Mapping[str, Moment]] = {}
        self.earlier_seconds, self.began = 0.0, time.monotonic()
        self.saved, self.saving_seconds = self.began, 0.0
        partial = store.partial(node.key)
        if partial is not None:
            learner.load(State(partial.tensors, partial.plain["learner"]))
            self.curve = {int(step): read_moment(saved, learner.needs_task) for step, saved in partial.plain["curve"]}
            self.earlier_seconds = partial.plain["seconds"]

    @property
    def seconds(self) -> float:
        return self.earlier_seconds + time.monotonic() - self.began

    def run(self, lesson: Lesson, watch: Watch) -> None:
        growth = self.node.path[-1]
        seen = [self.stream[task] for task in (self.node.tasks if growth.every else growth.tasks[-1:])]
        for step in self.learner.learn(lesson):
            if growth.is_moment(step) and step.done not in self.curve:
                self.curve[step.done] = look(self.learner, seen, held_out=growth.every > 0)
            try:
                watch(self.node, step)
            except BaseException:
                self.save()
                raise
            if self._is_time_to_save():
                self.save()

    def _is_time_to_save(self) -> bool:
        waited = time.monotonic() - self.saved
        return waited > CHECKPOINT_SECONDS and waited * CHECKPOINT_SHARE > self.saving_seconds

    def save(self) -> None:
        start, state = time.monotonic(), self.learner.state()
        plain = {"learner": state.plain, "curve": sorted(self.curve.items()), "seconds": self.seconds}
        self.store.save_partial(self.node.key, State(state.tensors, plain))
        self.saved = time.monotonic()
        self.saving_seconds = self.saved - start


def _measure(node: Node, learner: Learner, stream: Stream, teaching: _Teaching) -> Row:
    seconds = teaching.seconds
    parameters = learner.parameters().detach().float().contiguous().numpy()
    if not np.isfinite(parameters).all():  # the last step of a lesson can spoil them, and no loss comes after it
        last = stream[node.path[-1].tasks[-1]]
        value = parameters[~np.isfinite(parameters)][0]
        raise Diverged(f"a parameter became {value} at the end of task {last.index + 1} ({last.name}); lower the rate")
    result = _evaluation(node, learner, stream)
    if sys.byteorder != "little":
        parameters = parameters.byteswap()
    return Row(
        single=result.shares.get("single"),
        multi=result.shares["multi"],
        per_class=result.per_class,
        validation=result.validation,
        curves=curves_of(sorted(teaching.curve.items()), node.path[-1].every > 0),
        cost=Cost(itemise(learner.state()), learner.flops(), seconds, learner.uncounted),
        parameters_sha256=hashlib.sha256(parameters.tobytes()).hexdigest(),
        union=result.union,
        places=node.measured,
    )


def _evaluation(node: Node, learner: Learner, stream: Stream) -> Evaluation:
    """Of all tasks seen, or of those that are asked for; then too on the validation data of the current ones, which is
    what protocols choose by."""
    if node.measured is None:
        return evaluate(learner, [stream[task] for task in node.tasks])
    current = [stream[task] for task in node.path[-1].tasks]
    return replace(evaluate(learner, current if node.measured else [], current), union={}, per_class={})


def stream_of(node: Node) -> Stream:
    """The stream that a node's spec describes; the last few are kept, since neighbours in the tree share them."""
    return _rebuilt(json.dumps(node.stream, sort_keys=True), node.validation)


@lru_cache(maxsize=4)
def _rebuilt(spec: str, validation: float) -> Stream:
    return rebuild(json.loads(spec)).with_validation(validation)


def _changed(known: Mapping[str, Setting], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that are not at their defaults: a key does not change when a setting is added to the library."""
    parsed = {name: known[name].parse(name, value) for name, value in settings.items()}
    return {name: value for name, value in parsed.items() if value != known[name].default}


def _ignore(node: Node, step: Step) -> None:
    """Watch nothing."""


def _machine() -> list[Any]:
    """What of the machine and the libraries can change bits."""
    return [BITS, torch.__version__.split("+")[0], "1 thread", "no denormals"]


def _hash(*parts: Any) -> str:
    text = json.dumps(parts, sort_keys=True, default=dict)
    return hashlib.sha256(text.encode()).hexdigest()[:40]
