"""What can be said of data before anything is trained on it: not wrong, but hardly meant."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from torch import Tensor

from engram.core import Dataset
from engram.datasets.overlap import in_both, in_earlier
from engram.readers import Sheet

LARGE = 1e6
MOST = 5  # classes that are named


def say_if_shared(dataset: Dataset) -> None:
    """A word about test samples that a learner has seen in training."""
    rows = in_both(dataset.x_train.numpy(), dataset.x_test.numpy())
    if rows:
        warnings.warn(
            f"{len(rows)} of the {len(dataset.x_test)} test samples of {dataset.name} are training samples too (the "
            f"first in row {rows[0]} of x_test), so its test accuracy flatters; take them out",
            stacklevel=4,
        )


def say_if_in_earlier(sheets: Sequence[Sheet]) -> None:
    """A word about files that have what earlier ones have, as exports of everything so far do."""
    found = in_earlier(sheets)
    if found:
        number, later, earlier = found[0]
        more = f" (and so with {len(found) - 1} later file{'s' if found[2:] else ''})" if found[1:] else ""
        warnings.warn(
            f"{number} of the {len(later)} samples of {later.where} are in {earlier.where} too{more}, so some that one "
            "file is judged by are learned from another and accuracies flatter; leave them out of one of the two",
            stacklevel=3,
        )


def say_if_untested(y_train: Iterable[Any], y_test: Iterable[Any], where: str) -> None:
    """A word about classes that are learned and never measured: no accuracy by class, and no mean of them, has them."""
    tested = set(y_test)
    lost = sorted(set(y_train) - tested)
    if lost and tested:
        named = ", ".join(map(str, lost[:MOST])) + (" …" if len(lost) > MOST else "")
        warnings.warn(
            f"{where} has no test samples of class {named}, so no accuracy counts "
            f"{'it' if len(lost) == 1 else f'these {len(lost)}'}; give some, or leave the class out",
            stacklevel=4,
        )


def say_if_large(x: Tensor, where: str) -> None:
    """A word about numbers that no network was made for."""
    largest = max(map(abs, map(float, x.aminmax()))) if x.is_floating_point() else 0.0
    if largest > LARGE:
        warnings.warn(
            f"{where} holds numbers as large as {largest:g}, and networks learn from numbers around 1; "
            "standardise the features",
            stacklevel=4,
        )
