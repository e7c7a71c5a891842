"""A dataset as streams read it: where it came from, and its rows by class."""

from __future__ import annotations

import os
from functools import cached_property
from math import prod
from pathlib import PurePath
from typing import TypeAlias

import torch
from torch import Tensor

from engram import datasets
from engram.core import Dataset
from engram.errors import BadData, BadSetting

CHUNK = 4096  # samples that are summed at a time

Reference: TypeAlias = str | os.PathLike[str] | Dataset


class Source:
    """A dataset and the rows of each class."""

    def __init__(self, dataset: Dataset, reference: str, dropped: tuple[int, ...] = ()):
        """`reference` is what finds the dataset again in another process; `dropped` rows of the test set are unused."""
        self.dataset, self.reference, self.dropped = dataset, reference, dropped

    def without_shared(self) -> Source:
        """The source whose test samples are in the training set no more."""
        return Source(self.dataset, self.reference, self.dataset.in_both)

    @property
    def train(self) -> dict[int, Tensor]:
        return self.dataset.train_rows

    @cached_property
    def test(self) -> dict[int, Tensor]:
        dropped = torch.tensor(self.dropped, dtype=torch.int64)
        kept = {label: rows[~torch.isin(rows, dropped)] for label, rows in self.dataset.test_rows.items()}
        return {label: rows for label, rows in kept.items() if len(rows)}

    @cached_property
    def mean(self) -> Tensor:
        """The mean training sample, scaled: of all classes, and of what is held out for validation too."""
        x = self.dataset.x_train
        total = torch.zeros(self.dataset.shape, dtype=torch.float64)
        for part in x.split(CHUNK):
            total += part.double().sum(0)
        return (total / len(x) * self.dataset.scale).float()

    @property
    def name(self) -> str:
        """Short, for titles: a file's name without its folder."""
        name = self.dataset.name
        return name if name in datasets.names() else PurePath(name.partition("#")[0]).stem

    @property
    def class_count(self) -> int:
        return len(self.dataset.classes)

    @property
    def features(self) -> int:
        return prod(self.dataset.shape)


def open_source(reference: Reference) -> Source:
    """The source behind a dataset's name, the path of an .npz file or a `Dataset` itself."""
    if isinstance(reference, Dataset):
        _check(reference)
        return Source(reference, reference.name)
    if not isinstance(reference, (str, os.PathLike)):
        raise BadSetting(f"a dataset cannot be a {type(reference).__name__}; give a name, an .npz path or a Dataset")
    text = os.fspath(reference)
    dataset = datasets.load(text)
    return Source(dataset, text if is_published(text) else os.path.abspath(os.path.expanduser(text)))


def is_published(reference: Reference) -> bool:
    """Whether it names a dataset of the catalogue."""
    return isinstance(reference, str) and reference in datasets.names()


def _check(dataset: Dataset) -> None:
    """What `datasets.load` has checked already for the datasets that it loads."""
    for part, x, y in (
        ("training", dataset.x_train, dataset.y_train),
        ("test", dataset.x_test, dataset.y_test),
    ):
        if len(x) != len(y):
            raise BadData(f"dataset '{dataset.name}' has {len(x)} {part} samples and {len(y)} labels")
        if x.is_floating_point() and not x.isfinite().all():
            raise BadData(
                f"dataset '{dataset.name}' has {part} samples that are nan or infinite; remove or replace them"
            )
        if y.dtype != torch.int64:
            raise BadData(f"dataset '{dataset.name}' has {part} labels of type {y.dtype}; they must be torch.int64")
        if len(y) and not 0 <= int(y.min()) <= int(y.max()) < len(dataset.classes):
            raise BadData(
                f"dataset '{dataset.name}' has {part} labels from {int(y.min())} to {int(y.max())}, "
                f"but {len(dataset.classes)} classes; labels must be class numbers from 0"
            )
