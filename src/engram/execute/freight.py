"""Tasks as bytes: how a stream travels, whatever made it. A task is one lot; samples that several tasks are views of (a
dataset's) are lots of their own and travel once.

Lots have a digest and are decoded without running code, as checkpoints are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from torch import Tensor

from engram import checkpoint
from engram.core import Outline, Split, State, Stream, Task, canonical
from engram.transform import Transform, under

PARTS = ("train", "validation", "test")


class Lot(NamedTuple):
    """Where a task's bytes are, and those of the samples that it is a view of."""

    task: Any
    samples: list[Any]


@dataclass
class _Samples:
    """A tensor that was put somewhere, and the streams that have it. Held, so that its address stays its own."""

    tensor: Tensor
    where: Any
    streams: set[str] = field(default_factory=set)


class Sender:
    """Puts tasks where workers get them, each once, and lets go of those of streams that nobody needs any more."""

    def __init__(self, put: Callable[[bytes], Any]):
        self.put = put
        self.lots: dict[tuple[str, float], dict[int, Lot]] = {}  # by stream, and the share that is held out
        self.samples: dict[Any, _Samples] = {}

    def lot(self, name: str, stream: Stream, index: int) -> Lot:
        """Where a task of the stream that goes by this name is. It is built for this and not kept."""
        known = self.lots.setdefault((name, stream.validation), {})
        if index not in known:
            known[index] = self._send(name, stream.build(index, stream.validation))
        return known[index]

    def keep(self, names: set[str]) -> set[str]:
        """Let go of all other streams: which those are."""
        gone = {name for name, _ in self.lots} - names
        self.lots = {key: lots for key, lots in self.lots.items() if key[0] in names}
        for samples in self.samples.values():
            samples.streams &= names
        self.samples = {address: samples for address, samples in self.samples.items() if samples.streams}
        return gone

    def _send(self, name: str, task: Task) -> Lot:
        tensors: dict[str, Tensor] = {}
        plain: dict[str, Any] = {"name": task.name, "index": task.index, "classes": task.classes}
        samples: dict[int, Any] = {}
        for part in PARTS:
            split: Split = getattr(task, part)
            own = {"y": split.y, "rows": split.rows, "moves": split.moves, **split.transform.tensors()}
            tensors |= {f"{part}.{key}": canonical(value) for key, value in own.items() if value is not None}
            samples.setdefault(id(split.x), self._shared(name, split.x))
            plain[part] = {"x": list(samples).index(id(split.x)), "transform": split.transform.plain()}
        return Lot(self.put(checkpoint.encode(State(tensors, plain), "task")), list(samples.values()))

    def _shared(self, name: str, x: Tensor) -> Any:
        """Where these samples are: sent by the first task that has them."""
        address = (x.data_ptr(), x.shape, x.stride(), x.dtype)
        if address not in self.samples:
            encoded = checkpoint.encode(State({"x": canonical(x)}, {}), "samples")
            self.samples[address] = _Samples(x, self.put(encoded))
        self.samples[address].streams.add(name)
        return self.samples[address].where


class Receiver:
    """The streams that a worker was told of, whose tasks it gets when it needs them."""

    def __init__(self, get: Callable[[Any], bytes]):
        self.get = get
        self.lots: dict[tuple[str, float], dict[int, Lot]] = {}
        self.streams: dict[tuple[str, float], Stream] = {}
        self.samples: dict[Any, Tensor] = {}

    def stream(self, about: Mapping[str, Any], lots: Mapping[int, Lot]) -> Stream:
        """The stream that is described, with these tasks beside those that were told of before."""
        key = (about["name"], about["validation"])
        self.lots.setdefault(key, {}).update(lots)
        if key not in self.streams:
            outline = Outline(tuple(about["shape"]), tuple(about["classes"]))
            self.streams[key] = Stream(
                about["spec"], outline, about["count"], lambda index, _: self._task(self.lots[key][index]), key[1]
            )
        return self.streams[key]

    def forget(self, names: set[str]) -> None:
        self.streams = {key: stream for key, stream in self.streams.items() if key[0] not in names}
        self.lots = {key: lots for key, lots in self.lots.items() if key[0] not in names}
        needed = {where for lots in self.lots.values() for lot in lots.values() for where in lot.samples}
        self.samples = {where: x for where, x in self.samples.items() if where in needed}

    def _task(self, lot: Lot) -> Task:
        state = checkpoint.decode(self.get(lot.task), "task", "a task that was sent")
        splits = {part: self._split(part, state, lot) for part in PARTS}
        plain = state.plain
        return Task(plain["name"], plain["index"], tuple(plain["classes"]), **splits)

    def _split(self, part: str, state: State, lot: Lot) -> Split:
        own, plain = under(f"{part}.", state.tensors), state.plain[part]
        x = self._get_samples(lot.samples[plain["x"]])
        return Split(x, own["y"], own.get("rows"), Transform.load(own, plain["transform"]), own.get("moves"))

    def _get_samples(self, where: Any) -> Tensor:
        if where not in self.samples:
            self.samples[where] = checkpoint.decode(self.get(where), "samples", "samples that were sent").tensors["x"]
        return self.samples[where]


def describe(name: str, stream: Stream) -> dict[str, Any]:
    """What a worker has to know of a stream beside its tasks."""
    outline = stream.outline
    return {
        "name": name,
        "spec": dict(stream.spec),
        "shape": outline.shape,
        "classes": outline.classes,
        "count": len(stream),
        "validation": stream.validation,
    }
