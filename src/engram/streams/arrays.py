"""Streams from a user's own arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from engram.core import Dataset, Stream
from engram.errors import BadData
from engram.settings import Setting
from engram.streams.plan import Part, assemble, title
from engram.streams.reading import read_labels, read_samples
from engram.streams.seeding import SEED
from engram.streams.source import Source
from engram.streams.validation import SHARE

FIELDS = ("x_train", "y_train", "x_test", "y_test")
NAME = Setting("arrays", "name of the stream")


def from_arrays(
    tasks: Sequence[Sequence[Any] | Mapping[str, Any]],
    *,
    name: str = "arrays",
    seed: int = 0,
    validation: float = 0.1,
) -> Stream:
    """A stream of your own data: for each task (x_train, y_train, x_test, y_test), or a mapping with these names.

    Samples are numpy arrays, tensors or nested lists, one row a sample, of one shape throughout; they are copied and
    used as they are, unscaled. Labels are whole numbers from 0, and the same number is the same class in every task.
    """
    name, share = NAME.parse("name", name), SHARE.parse("validation", validation)
    read = [_read_task(number, task) for number, task in enumerate(_listed(tasks), 1)]
    _check_shapes(read)
    read = _one_format(read)
    digests = [_digest(arrays) for arrays in read]
    spec = {
        "kind": "arrays",
        "version": 1,
        "name": name,
        "digest": hashlib.sha256(" ".join(digests).encode()).hexdigest(),
        "seed": SEED.parse("seed", seed),
        "tasks": len(read),
    }
    return assemble([_part(name, arrays, sha) for arrays, sha in zip(read, digests, strict=True)], spec, share)


def _listed(tasks: Any) -> list[Any]:
    if isinstance(tasks, (str, Mapping)) or not hasattr(tasks, "__iter__"):
        raise BadData(f"tasks is a {type(tasks).__name__}; give a list with {_wanted()} for each task")
    listed = list(tasks)
    if not listed:
        raise BadData(f"there are 0 tasks; give at least one, each as {_wanted()}")
    return listed


def _read_task(number: int, task: Any) -> dict[str, Tensor]:
    """The four arrays of a task as tensors of our own, checked."""
    given = _named(number, task)
    read: dict[str, Tensor] = {}
    for part in ("train", "test"):
        x, y = f"x_{part}", f"y_{part}"
        read[x] = read_samples(given[x], f"task {number}: {x}")
        read[y] = read_labels(given[y], f"task {number}: {y}")
        if len(read[x]) != len(read[y]):
            raise BadData(f"task {number}: {x} has {len(read[x])} samples and {y} has {len(read[y])} labels")
    unseen = sorted(set(read["y_test"].tolist()) - set(read["y_train"].tolist()))
    if unseen:
        raise BadData(f"task {number}: y_test has classes that y_train has not: {', '.join(map(str, unseen[:5]))}")
    return read


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


def _part(name: str, arrays: Mapping[str, Tensor], digest: str) -> Part:
    labels = tuple(torch.unique(arrays["y_train"]).tolist())
    dataset = Dataset(name=name, classes=(), scale=1.0, digest=digest, **arrays)
    return Part(title(name, labels), Source(dataset, name), labels)


def _digest(arrays: Mapping[str, Tensor]) -> str:
    sha = hashlib.sha256()
    for field in FIELDS:
        sha.update(f"{field} {arrays[field].dtype} {tuple(arrays[field].shape)} ".encode())
        sha.update(arrays[field].numpy().tobytes())
    return sha.hexdigest()
