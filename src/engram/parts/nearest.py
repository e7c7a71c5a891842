"""How well nearest neighbours do on the features of past paths: the task-driven prior of Veniat et al. 2021."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from engram.core import Split, pick
from engram.parts.library import Path
from engram.parts.walk import PathWalk

BATCH = 256  # samples at a time
ROOM = 1 << 28  # numbers that are held at a time, a gigabyte


def with_room(paths: Iterable[Path], each: int) -> Iterator[list[Path]]:
    """All paths, as many at a time as there is room for, with so many numbers of each; those that begin alike stay
    together.

    >>> list(with_room([(1, 0), (0, 0), (0, 1)], ROOM // 2))
    [[(0, 0), (0, 1)], [(1, 0)]]
    """
    in_order, at_once = sorted(paths), max(1, ROOM // each)
    for start in range(0, len(in_order), at_once):
        yield in_order[start : start + at_once]


def features(walk: PathWalk, paths: Iterable[Path], data: Split) -> dict[Path, Tensor]:
    """What the modules before the head of each path give for samples, every distinct beginning computed once."""
    found: dict[Path, list[Tensor]] = {path[:-1]: [] for path in sorted(paths)}
    for x, _ in data.batches(BATCH):
        for prefix, parts in found.items():
            parts.append(walk.at(x, prefix).flatten(1))
    walk.forget()
    return {prefix: torch.cat(parts) for prefix, parts in found.items()}


def accuracy(known: Tensor, labels: Tensor, asked: Tensor, truth: Tensor, neighbours: int) -> tuple[float, int]:
    """The share of samples for which most of their nearest neighbours (Euclidean) have their label, and operations.
    Of labels that come equally often the first one counts."""
    products = asked @ known.T
    distances = known.square().sum(1) - 2 * products  # the same for every neighbour of a sample, but for |asked|²
    nearest = distances.topk(min(neighbours, len(known)), largest=False).indices
    votes = F.one_hot(pick(labels, nearest.flatten()).view(nearest.shape), int(labels.max().item()) + 1).sum(1)
    return (votes.argmax(1) == truth).double().mean().item(), 2 * products.numel() * known.shape[1]
