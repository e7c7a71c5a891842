"""Growing a node of the tree: the one operation that trains. What a node is, see `nodes`."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from engram import cousins
from engram.core import Cost, Learner, Lesson, Machine, Row, State, Step, Stream
from engram.costs import itemise
from engram.errors import BadData, BadSetting, Diverged, Elsewhere, EngramError
from engram.evaluate import Evaluation, Moment, carried_on, curves_of, evaluate, look, read_moment
from engram.keeper import Keeper
from engram.learners import create
from engram.nodes import BITS, Growth, Node, torch_version
from engram.parts.stopping import looks_at
from engram.parts.twins import Twins
from engram.processor import processor
from engram.settings import Setting
from engram.streams import rebuild

# How often a position inside a lesson is saved, and the share of the time that saving may take at most.
CHECKPOINT_SECONDS = Setting(10.0, "seconds", at_least=0).parse(
    "ENGRAM_CHECKPOINT_SECONDS", os.environ.get("ENGRAM_CHECKPOINT_SECONDS", 10.0)
)
CHECKPOINT_SHARE = 0.02

TRUSTED = 1  # raised where twins that older code kept may be of others than their names say

CERTAIN = (Diverged, BadData, BadSetting)  # failures that would happen again, bit for bit

Watch = Callable[[Node, Step], None]


def grow(
    node: Node, store: Keeper, stream: Stream | None = None, watch: Watch | None = None, patient: bool = True
) -> Row:
    """Make the node exist: what was measured there, from the store or by learning.

    Several processes may ask for the same node at once; one learns, the others wait, or raise `Elsewhere` if they are
    not `patient`. `stream` is needed only where it cannot be rebuilt from its spec. `watch` is told of every step and
    may raise to stop; the position is saved first.
    """
    row = _known(node, store)
    if row is None:
        watch = watch or _ignore
        waiting = (lambda: watch(node, Step(0, 1))) if patient else leave
        with store.lock(node.key, waiting):
            return _known(node, store) or _learn(node, store, stream or stream_of(node), watch, waiting)[1]
    return row


def _known(node: Node, store: Keeper) -> Row | None:
    """What is in the store about a node; why it cannot be grown is raised again."""
    known = store.known(node.key)
    if isinstance(known, EngramError):
        raise known
    return known


def learner_at(node: Node, store: Keeper, stream: Stream, watch: Watch, settings: Mapping[str, Any]) -> Learner:
    """The learner as it stands at a node, to go on with these settings.

    Where the node's checkpoint was deleted or is damaged the node is grown again, to the same bits.
    """
    learner = create(node.learner, stream.outline, node.seed, node.network, settings)
    if node.depth:
        learner.load(_state_at(node, store, stream, watch))
    return learner


def _state_at(node: Node, store: Keeper, stream: Stream, watch: Watch) -> State:
    """A node's state. Of the ancestors that must be grown again the oldest is the first: a path may be longer than
    functions can call each other."""
    state = store.state(node.key)
    if state is not None:
        return state
    lost = [node]
    while lost[-1].parent.depth and not store.has_state(lost[-1].parent.key):
        lost.append(lost[-1].parent)
    for ancestor in lost[:0:-1]:
        _grow_again(ancestor, store, stream, watch)
    return _grow_again(node, store, stream, watch)


def _grow_again(node: Node, store: Keeper, stream: Stream, watch: Watch) -> State:
    def waiting() -> None:
        watch(node, Step(0, 1))

    with store.lock(node.key, waiting):
        return store.state(node.key) or _learn(node, store, stream, watch, waiting)[0]


def _learn(node: Node, store: Keeper, stream: Stream, watch: Watch, waiting: Callable[[], object]) -> tuple[State, Row]:
    """A node's state and row, committed. Where it may be found on another stream, and another process is growing it
    there, `waiting` is called until that is done."""
    key = _common_key(node, store, stream)
    if key is None:
        return _commit(node, store, *_taught(node, store, stream, watch))
    with store.lock(key, waiting):
        known = cousins.find(store, key)
        state, row = _commit(node, store, *(known or _taught(node, store, stream, watch)))
        if known is None:
            cousins.keep(store, key, state, row)
    return state, row


def _common_key(node: Node, store: Keeper, stream: Stream) -> str | None:
    """The key by which a node is found on streams that begin alike; None where there are none, and where a part of the
    way to it was gone on another kind of machine, or nobody knows on which: its bits may then be others than the key
    says."""
    if not cousins.are_expected(node, stream):
        return None
    here = this_machine(node.network.device)
    rows, partial = [store.row(each.key) for each in node.way[:-1]], store.partial(node.key)
    is_all_here = all(row is not None and row.machine == here for row in rows)
    if not is_all_here or (partial is not None and partial.plain.get("machine") != list(here)):
        return None
    return cousins.common_key(node, stream, *here)


def _commit(node: Node, store: Keeper, state: State, row: Row) -> tuple[State, Row]:
    compare(store.row(node.key), row)
    spec, parent = node.stored()
    store.commit(node.key, spec, row, state, parent)
    return state, row


def _taught(node: Node, store: Keeper, stream: Stream, watch: Watch) -> tuple[State, Row]:
    """Teach the last lesson of the node's path to the learner at its parent, and measure."""
    growth = node.last
    learner = learner_at(node.parent, store, stream, watch, growth.settings)
    lesson = lesson_of(stream, growth)
    try:
        with one_thread():
            learner.twins = _twins(node, store)
            teaching = _Teaching(node, learner, stream, store)
            teaching.run(lesson, watch)
            row = _measure(node, learner, stream, teaching, lesson)
    except CERTAIN as error:
        spec, parent = node.stored()
        store.fail(node.key, spec, error, parent)
        raise
    return learner.state(), row


def _twins(node: Node, store: Keeper) -> Twins | None:
    """Where a learner finds what others came to that began as it does. A curve over the whole lesson needs all of it
    to be trained; and what code of one's own does with a fit nobody knows, so that such a learner has no twins. A
    network's code is in no fit's beginning, and so among the words."""
    if node.last.every or "learner" in node.own:
        return None
    machine = *this_machine(node.network.device), *node.network.elsewhere
    code = [origin.digest for origin in node.own.values()]
    return Twins(store, (BITS, TRUSTED, *machine, *code), max(node.last.curve, default=0))


def lesson_of(stream: Stream, growth: Growth) -> Lesson:
    """What a learner is handed. The one road by which it looks at test data is the setting named for it, stop_on=test:
    they are then in the place of the held-out samples."""
    lessons = [stream[task].lesson() for task in growth.tasks]
    if looks_at(growth.settings) == "test":
        tests = [stream[task].test for task in growth.tasks]
        lessons = [replace(lesson, validation=test) for lesson, test in zip(lessons, tests, strict=True)]
    return Lesson.union(lessons)


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


def compare(before: Row | None, now: Row) -> None:
    """A node that is grown again must come out the same; only another processor or library can make it differ."""
    if before is not None and before.parameters_sha256 != now.parameters_sha256:
        warnings.warn(
            "a node was grown again and its bits differ from the recorded ones: this store was written on another "
            "kind of machine; results that build on it are not bit-exact",
            stacklevel=2,
        )


class _Teaching:
    """A lesson being taught: resumed where it was left, saved now and then, with its learning curve."""

    def __init__(self, node: Node, learner: Learner, stream: Stream, store: Keeper):
        self.node, self.learner, self.stream, self.store = node, learner, stream, store
        self.curve: dict[int, Mapping[str, Moment]] = {}
        self.earlier_seconds, self.began = 0.0, time.monotonic()
        self.saved, self.saving_seconds = self.began, 0.0
        self.machine: list[str] | None = list(this_machine(node.network.device))  # the kind of all steps so far
        partial = store.partial(node.key)
        if partial is not None:
            self.machine = self.machine if partial.plain.get("machine") == self.machine else None
            learner.load(State(partial.tensors, partial.plain["learner"]))
            self.curve = {int(step): read_moment(saved, learner.needs_task) for step, saved in partial.plain["curve"]}
            self.earlier_seconds = partial.plain["seconds"]

    @property
    def seconds(self) -> float:
        return self.earlier_seconds + time.monotonic() - self.began

    def run(self, lesson: Lesson, watch: Watch) -> None:
        growth = self.node.last
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
        plain["machine"] = self.machine
        self.store.save_partial(self.node.key, State(state.tensors, plain))
        self.saved = time.monotonic()
        self.saving_seconds = self.saved - start


def _measure(node: Node, learner: Learner, stream: Stream, teaching: _Teaching, lesson: Lesson) -> Row:
    seconds = teaching.seconds
    parameters = learner.parameters().detach().float().cpu().contiguous().numpy()
    if not np.isfinite(parameters).all():  # the last step of a lesson can spoil them, and no loss comes after it
        last = stream[node.last.tasks[-1]]
        value = parameters[~np.isfinite(parameters)][0]
        raise Diverged(f"a parameter became {value} at the end of task {last.index + 1} ({last.name}); lower the rate")
    result = _evaluation(node, learner, stream, _still_true(node, learner, lesson, teaching.store))
    if sys.byteorder != "little":
        parameters = parameters.byteswap()
    return Row(
        single=result.shares.get("single"),
        multi=result.shares["multi"],
        per_class=result.per_class,
        validation=result.validation,
        curves=curves_of(sorted(teaching.curve.items()), node.last.every > 0),
        cost=Cost(itemise(learner.state()), learner.flops(), seconds, learner.uncounted),
        parameters_sha256=hashlib.sha256(parameters.tobytes()).hexdigest(),
        union=result.union,
        places=node.measured,
        machine=this_machine(node.network.device),
        notes=learner.notes(),
    )


def _evaluation(node: Node, learner: Learner, stream: Stream, before: Row | None) -> Evaluation:
    """Of all tasks seen (of those before the lesson as the row says that is still true, if there is one), or of those
    that are asked for; then too on the validation data of the current ones, which is what protocols choose by."""
    current = [stream[task] for task in node.last.tasks]
    if node.measured is not None:
        return replace(evaluate(learner, current if node.measured else [], current), union={}, per_class={})
    if before is not None:
        earlier = [stream[task] for task in node.parent.tasks]
        carried = carried_on(before, earlier, evaluate(learner, current), current)
        if carried is not None:
            return carried
    return evaluate(learner, [stream[task] for task in node.tasks])


def _still_true(node: Node, learner: Learner, lesson: Lesson, store: Keeper) -> Row | None:
    """What was measured at the parent, if this lesson can have changed nothing of it and it was measured by a machine
    of this kind: another could see other scores."""
    changed = learner.changed_by(lesson) if learner.needs_task else None
    if changed is None or node.measured is not None or not node.parent.depth:
        return None
    if {*changed, *node.last.tasks} & {*node.parent.tasks}:
        return None
    row = store.row(node.parent.key)
    return row if row is not None and row.places is None and row.machine == this_machine(node.network.device) else None


def this_machine(device: str = "cpu") -> Machine:
    """The kind of this one, as this process uses it."""
    capability = torch.backends.cpu.get_cpu_capability()
    if device.startswith("cuda"):
        capability += f" and {torch.cuda.get_device_name(device)}"
    return Machine(capability, torch_version(), platform.machine(), processor())


def stream_of(node: Node) -> Stream:
    """The stream that a node's spec describes; the last few are kept, since neighbours in the tree share them."""
    return _rebuilt(json.dumps(node.stream, sort_keys=True), node.validation)


@lru_cache(maxsize=4)
def _rebuilt(spec: str, validation: float) -> Stream:
    return rebuild(json.loads(spec)).with_validation(validation)


def _ignore(node: Node, step: Step) -> None:
    """Watch nothing."""


def leave() -> None:
    """What who is not patient does while another process has the lock of a node."""
    raise Elsewhere
