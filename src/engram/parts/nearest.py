"""How well nearest neighbours do on the features of past paths: the task-driven prior of Veniat et al. 2021."""

from __future__ import annotations

from collections.abc import Iterable

import torch
import torch.nn.functional as F
from torch import Tensor

from engram.core import Split, pick
from engram.parts.library import Path
from engram.parts.walk import PathWalk

BATCH = 256  # samples at a time


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
