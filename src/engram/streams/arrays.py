"""Streams from a user's own arrays."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from engram.core import Dataset, Stream
from engram.errors import BadData
from engram.settings import Setting
from engram.streams.doubts import say_if_large, say_if_untested
from engram.streams.plan import Part, assemble, title
from engram.streams.reading import read_labels, read_samples
from engram.streams.seeding import SEED
from engram.streams.source import Source
from engram.streams.validation import SHARE

FIELDS = ("x_train", "y_train", "x_test", "y_test")
LABELS = ("y_train", "y_test")
LARGEST_LABEL = 1_000_000  # tables by class number stay small
NAME = Setting("arrays", "name of the stream")
SCALE = Setting(1.0, "what every number of a sample is multiplied by", above=0)


def from_arrays(
    tasks: Sequence[Sequence[Any] | Mapping[str, Any]],
    *,
    name: str = "arrays",
    seed: int = 0,
    validation: float = 0.1,
    scale: float = 1.0,
) -> Stream:
    """A stream of your own data: for each task (x_train, y_train, x_test, y_test), or a mapping with these names.

    Samples are numpy arrays, tensors or nested lists, one row a sample, of one shape throughout; they are copied and
    used as they are, times `scale` (1/255 for images of bytes). Labels are whole numbers or text, and the same label is
    the same class in every task. Numbers up to a million are the classes' own; other labels are numbered in sorted
    order, and `class_names` has them.
    """
    name, share = NAME.parse("name", name), SHARE.parse("validation", validation)
    scale = SCALE.parse("scale", scale)
    given = [_read_task(number, task) for number, task in enumerate(_listed(tasks), 1)]
    _check_shapes(given)
    labelled, names = _number(given)
    read = _one_format(labelled)
    digests = [_digest(arrays) for arrays in read]
    spec = {
        "kind": "arrays",
        "version": 1,
        "name": name,
        "digest": hashlib.sha256(" ".join([*digests, *([json.dumps(names)] if names else [])]).encode()).hexdigest(),
        "seed": SEED.parse("seed", seed),
        "tasks": len(read),
        **({} if scale == 1.0 else {"scale": scale}),
    }
    parts = [_part(name, arrays, sha, scale) for arrays, sha in zip(read, digests, strict=True)]
    return assemble(parts, spec, share, names)


def _listed(tasks: Any) -> list[Any]:
    if isinstance(tasks, (str, Mapping)) or not hasattr(tasks, "__iter__"):
        raise BadData(f"tasks is a {type(tasks).__name__}; give a list with {_wanted()} for each task")
    listed = list(tasks)
    if not listed:
        raise BadData(f"there are 0 tasks; give at least one, each as {_wanted()}")
    return listed


def _read_task(number: int, task: Any) -> dict[str, Any]:
    """The samples of a task as tensors of our own and its labels as arrays, checked."""
    given = _named(number, task)
    read: dict[str, Any] = {}
    for part in ("train", "test"):
        x, y = f"x_{part}", f"y_{part}"
        read[x] = read_samples(given[x], f"task {number}: {x}")
        say_if_large(read[x], f"task {number}: {x}")
        read[y] = read_labels(given[y], f"task {number}: {y}")
        if len(read[x]) != len(read[y]):
            raise BadData(f"task {number}: {x} has {len(read[x])} samples and {y} has {len(read[y])} labels")
    return read


def _number(given: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Tensor]], tuple[str, ...]]:
    """Labels as class numbers, and the classes' names where the numbers are not the labels themselves."""
    _check_labels(given)
    everything = np.unique(np.concatenate([arrays[field] for arrays in given for field in LABELS]))
    own = everything.dtype.kind == "i" and everything[0] >= 0 and everything[-1] <= LARGEST_LABEL

    def numbered(labels: np.ndarray[Any, Any]) -> Tensor:
        return torch.from_numpy(labels.copy() if own else np.searchsorted(everything, labels))

    read = [{**arrays, **{field: numbered(arrays[field]) for field in LABELS}} for arrays in given]
    return read, () if own else tuple(map(str, everything))


def _check_labels(given: Sequence[Mapping[str, Any]]) -> None:
    words = {"i": "whole numbers", "U": "text"}
    expected = given[0]["y_train"].dtype.kind
    for number, arrays in enumerate(given, 1):
        for field in LABELS:
            if arrays[field].dtype.kind != expected:
                raise BadData(
                    f"task {number}: {field} holds {words[arrays[field].dtype.kind]}, but the labels of task 1 started "
                    f"with {words[expected]}; label all tasks the same way"
                )
        unseen = sorted(set(arrays["y_test"].tolist()) - set(arrays["y_train"].tolist()))
        if unseen:
            raise BadData(f"task {number}: y_test has classes that y_train has not: {', '.join(map(str, unseen[:5]))}")
        say_if_untested(arrays["y_train"].tolist(), arrays["y_test"].tolist(), f"task {number}")


def _named(number: int, task: Any) -> Mapping[str, Any]:
    if isinstance(task, Mapping):
        if set(task) != set(FIELDS):
            raise BadData(f"task {number} has the keys {', '.join(map(str, task))}; it needs {', '.join(FIELDS)}")
        return task
    if not isinstance(task, Sequence) or len(task) != len(FIELDS):
        size = f" of {len(task)}" if hasattr(task, "__len__") else ""
        raise BadData(f"task {number} is a {type(task).__name__}{size}; give {_wanted()}")
    return dict(zip(FIELDS, task, strict=True))


def _wanted() -> str:
    return f"({', '.join(FIELDS)})"


def _check_shapes(read: Sequence[Mapping[str, Tensor]]) -> None:
    expected = tuple(read[0]["x_train"].shape[1:])
    for number, arrays in enumerate(read, 1):
        for field in ("x_train", "x_test"):
            shape = tuple(arrays[field].shape[1:])
            if shape != expected:
                raise BadData(
                    f"task {number}: a sample of {field} has shape {shape}, but task 1 started with {expected}; "
                    "all samples of a stream need one shape"
                )


def _one_format(read: Sequence[dict[str, Tensor]]) -> list[dict[str, Tensor]]:
    """All samples in one number format, so that tasks can be taught together."""
    formats = {arrays[field].dtype for arrays in read for field in ("x_train", "x_test")}
    if len(formats) == 1:
        return list(read)
    return [{**a, "x_train": a["x_train"].float(), "x_test": a["x_test"].float()} for a in read]


def _part(name: str, arrays: Mapping[str, Tensor], digest: str, scale: float) -> Part:
    labels = tuple(torch.unique(arrays["y_train"]).tolist())
    train, test = ((arrays[f"x_{part}"], arrays[f"y_{part}"]) for part in ("train", "test"))
    dataset = Dataset(name, *train, *test, classes=(), scale=scale, digest=digest)
    return Part(title(name, labels), Source(dataset, name), labels)


def _digest(arrays: Mapping[str, Tensor]) -> str:
    sha = hashlib.sha256()
    for field in FIELDS:
        sha.update(f"{field} {arrays[field].dtype} {tuple(arrays[field].shape)} ".encode())
        sha.update(arrays[field].numpy().tobytes())
    return sha.hexdigest()
