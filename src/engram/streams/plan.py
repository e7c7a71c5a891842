"""A stream before its tasks are built: what each part takes from which dataset, and how a part becomes a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from engram.core import Outline, Split, Stream, Task
from engram.errors import BadData
from engram.settings import Setting
from engram.streams.inputs import CHUNK, channel_statistics, feature_statistics
from engram.streams.seeding import shuffled
from engram.streams.source import Source
from engram.streams.validation import hold_out
from engram.transform import Transform

LONGEST_TITLE = 29
Statistics = tuple[Tensor, Tensor]  # mean and deviation


class Chosen(NamedTuple):
    """The rows of a dataset that a task has; None stands for all. `moves` shifts the validation samples."""

    train: Tensor | None
    validation: Tensor
    test: Tensor | None
    moves: Tensor | None = None


@dataclass(frozen=True)
class Part:
    """One task to be: some classes of a source, the number to add to their labels, the number of the permutation
    that reorders their features, the width to pad them to or the shape of the images they become, whether the
    source's mean sample is subtracted, the part's own samples are normalised or its features are standardised by the
    first part of the same source."""

    name: str
    source: Source
    classes: tuple[int, ...]
    offset: int = 0
    permutation: int | None = None
    width: int | None = None
    images: tuple[int, ...] = ()
    centred: bool = False
    normalised: bool = False
    standardised: bool = False
    chunk: ClassVar[int] = CHUNK

    @property
    def labels(self) -> tuple[int, ...]:
        return tuple(c + self.offset for c in self.classes)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.layout.shape(self.source.dataset.shape)

    @property
    def layout(self) -> Transform:
        """What happens to a sample before its numbers are changed, less the permutation."""
        if self.images:
            return Transform(channels=self.images[0], size=(self.images[1], self.images[2]))
        return Transform(width=self.width)

    def order(self, seed: int) -> Tensor | None:
        """For each feature of a sample the one that takes its place; None where all stay. Kinds of streams that move
        features in another way have parts of their own."""
        if self.permutation is None:
            return None
        return shuffled(self.source.features, seed, "permutation", self.permutation)

    def rows(self, seed: int, index: int, share: float) -> Chosen:
        """Those of its classes, of the training samples less the share that is held out for validation."""
        groups = _chosen(self, self.source.train)
        kept, held = hold_out({c + self.offset: rows for c, rows in groups.items()}, share, seed, index)
        everything = len(kept) == len(self.source.dataset.y_train)
        return Chosen(None if everything else kept, held, _all_or(self, self.source.test))


@dataclass(frozen=True)
class Plan:
    """The parts of a stream, and the options that led to them with every default spelled out. `marks` are in its spec
    too: what is otherwise than the same options once led to."""

    parts: tuple[Part, ...]
    options: Mapping[str, Any]
    marks: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Kind:
    """A way to make streams. `plan(sources, seed, options)` decides everything; `many`: from several sources, which
    `choose` finds where their names do not say which. One without the option `validation` brings its own."""

    name: str
    version: int
    help: str
    options: Mapping[str, Setting]
    plan: Callable[[Sequence[Source], int, Mapping[str, Any]], Plan]
    many: bool = False
    choose: Callable[[str], list[str]] | None = None
    widens: bool = False  # with more tasks there are more classes, and the first tasks are the same
    begins_alike: bool = False  # streams of another kind may have the same first tasks
    roles: tuple[str, ...] = ()  # the published datasets whose places its datasets take, in order


def assemble(
    parts: Sequence[Part], spec: Mapping[str, Any], validation: float | None, class_names: tuple[str, ...] = ()
) -> Stream:
    """The stream of these parts. Nothing is built yet, but every part is known to have samples. Without a share of
    validation samples the parts bring their own."""
    for number, part in enumerate(parts, 1):
        _check(part, number, spec["name"])
    return Stream(
        spec=spec,
        outline=Outline(parts[0].shape, tuple(dict.fromkeys(c for part in parts for c in part.labels))),
        count=len(parts),
        build=partial(build_task, tuple(parts), spec["seed"], {}),
        validation=validation or 0.0,
        class_names=class_names,
        brings_validation=validation is None,
    )


def build_task(parts: Sequence[Part], seed: int, known: dict[Any, Statistics], index: int, share: float) -> Task:
    """The task of one part, with this share of its training samples held out: views on the source, no copies. What is
    measured for many parts is `known` after the first of them."""
    part, data = parts[index], parts[index].source.dataset
    rows = part.rows(seed, index, share)
    cut = partial(_cut, part, _transform(part, seed, _statistics(parts, seed, known, index, share, rows.train)))
    return Task(
        name=part.name,
        index=index,
        classes=part.labels,
        train=cut(data.x_train, data.y_train, rows.train),
        validation=cut(data.x_train, data.y_train, rows.validation, rows.moves),
        test=cut(data.x_test, data.y_test, rows.test),
    )


def title(dataset: str, classes: Sequence[int]) -> str:
    """A short name for some classes of a dataset: 'digits 0-4', 'digits 3,7', 'cub200 57 +99'."""
    first, last = classes[0], classes[-1]
    if len(classes) > 1 and all(b - a == 1 for a, b in pairwise(classes)):
        return clip(dataset, f" {first}-{last}")
    listed = " " + ",".join(map(str, classes[:LONGEST_TITLE]))
    fits = len(classes) == 1 or len(dataset + listed) <= LONGEST_TITLE
    return clip(dataset, listed if fits else f" {first} +{len(classes) - 1}")


def clip(text: str, ending: str = "") -> str:
    """The text, shortened where needed, with its ending: never longer than a column of a table."""
    room = LONGEST_TITLE - len(ending)
    return (text if len(text) <= room else text[: room - 1] + "…") + ending


def _cut(
    part: Part, transform: Transform, x: Tensor, y: Tensor, rows: Tensor | None, moves: Tensor | None = None
) -> Split:
    labels = y if rows is None else y[rows]
    return Split(x, labels + part.offset if part.offset else labels, rows, transform, moves)


def _statistics(
    parts: Sequence[Part], seed: int, known: dict[Any, Statistics], index: int, share: float, rows: Tensor | None
) -> Statistics | None:
    """Mean and deviation of the training samples that a part is measured by, if it is: its own `rows`, or those of the
    first part of its source."""
    part = parts[index]
    if not part.standardised:
        return _measured(part, rows, channel_statistics) if part.normalised else None
    first = next(k for k, other in enumerate(parts) if other.source is part.source)
    if (first, share) not in known:
        of_first = rows if first == index else parts[first].rows(seed, first, share).train
        known[first, share] = _measured(part, of_first, feature_statistics)
    return known[first, share]


def _measured(part: Part, rows: Tensor | None, measure: Callable[[Split, int], Statistics]) -> Statistics:
    x = part.source.dataset.x_train
    return measure(Split(x, torch.zeros(len(x if rows is None else rows)), rows, _picture(part)), part.chunk)


def _picture(part: Part) -> Transform:
    """Without padding, which is no part of the statistics."""
    return replace(part.layout, scale=part.source.dataset.scale, permutation=None, width=None)


def _transform(part: Part, seed: int, statistics: Statistics | None) -> Transform:
    """What happens to every sample of a part."""
    order = part.order(seed)
    transform = replace(part.layout, scale=part.source.dataset.scale, permutation=order)
    if part.centred:
        return replace(transform, shift=transform.arrange(part.layout.pictured(part.source.mean[None]))[0])
    if statistics is None:
        return transform
    mean, deviation = statistics
    if part.width is not None or (order is not None and mean.numel() > 1):  # its channels lie anywhere
        whole = (1, *_picture(part).shape(part.source.dataset.shape))
        padding = transform.arrange(torch.ones(whole))[0] == 0
        mean = transform.arrange(mean.expand(whole))[0]
        deviation = transform.arrange(deviation.expand(whole))[0].masked_fill(padding, 1.0)
    return replace(transform, shift=mean, deviation=deviation)


def _chosen(part: Part, groups: Mapping[int, Tensor]) -> dict[int, Tensor]:
    return {c: groups[c] for c in part.classes if c in groups}


def _all_or(part: Part, groups: Mapping[int, Tensor]) -> Tensor | None:
    """The rows of a part's classes, or None where these are all rows, so that batches gather without an index."""
    rows = hold_out(_chosen(part, groups), 0.0, 0, 0)[0]
    return None if len(rows) == len(part.source.dataset.y_test) else rows


def _check(part: Part, number: int, stream: str) -> None:
    for words, groups in (("training", part.source.train), ("test", part.source.test)):
        if not _chosen(part, groups):
            raise BadData(
                f"task {number} of {stream} ({part.name}) has no {words} samples; "
                "leave its classes out or put them into a task with others"
            )
