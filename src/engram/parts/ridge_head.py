"""A head by ridge regression on the mean features of all modules of a path: a candidate that costs next to nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from engram.core import Split, pick
from engram.costs import solve_flops
from engram.networks import head_scores
from engram.parts.candidates import Ready, Recipe
from engram.parts.fit import Material
from engram.parts.held_out import HeldOut
from engram.parts.library import Path, pool
from engram.parts.walk import PathWalk

STRENGTHS = (1e-3, 1e-2, 1e-1, 1.0)  # of the penalty, as shares of the mean on the diagonal of what is solved
BATCH = 256  # samples at a time


class RidgeHead(Ready):
    """The strength is that with the best validation accuracy, of equal ones the greatest."""

    def __init__(self, plan: Recipe, walk: PathWalk, rows: int):
        super().__init__(plan, walk)
        self.rows = rows
        self.head = torch.empty(rows, 0, device=self.library.device)

    @property
    def new(self) -> tuple[int, int]:  # type: ignore[override]
        return 1, self.head.numel()

    def judged(self, material: Material, held_out: HeldOut) -> float:
        x, y = self._features(material.data), pick(material.places, material.data.y)
        asked, truth = self._features(held_out.data), pick(material.places, held_out.data.y)
        best = -1.0
        for strength in reversed(STRENGTHS):
            head, operations = ridge_rows(x, F.one_hot(y, self.rows).float(), strength)
            accuracy = (head_scores(asked, head).argmax(1) == truth).double().mean().item()
            self.operations += operations + 2 * asked.numel() * self.rows
            if accuracy > best:
                best, self.head = accuracy, head
        return best

    def _features(self, data: Split) -> Tensor:
        """The mean features of all modules for all samples."""
        return torch.cat([_pooled(self.walk, x, self.prefix) for x, _ in data.batches(BATCH)])

    def scores(self, x: Tensor) -> Tensor:
        return head_scores(_pooled(PathWalk(self.library), x, self.prefix), self.head)

    def join(self, task: int) -> Path:
        return self.library.add_pooled(task, self.prefix, self.head)

    def tensors(self) -> dict[str, Tensor]:
        return {"head": self.head}

    def load(self, tensors: dict[str, Tensor], plain: Mapping[str, Any]) -> None:
        super().load(tensors, plain)
        self.head = tensors.pop("head")


def _pooled(walk: PathWalk, x: Tensor, prefix: Path) -> Tensor:
    return torch.cat([pool(walk.at(x, prefix[:length])) for length in range(1, len(prefix) + 1)], 1)


def ridge_rows(x: Tensor, targets: Tensor, strength: float) -> tuple[Tensor, int]:
    """The head (a row of weights and a bias for each column of the targets) with the least squared error and penalty,
    and the operations that it took. Features are brought to mean 0 and deviation 1 first, and the smaller one of
    two systems is solved, over features or over samples: with the same penalty they have the same solution."""
    mean, deviation = x.mean(0), x.std(0, correction=0)
    deviation = torch.where(deviation > 0, deviation, 1.0)
    z, offset = (x - mean) / deviation, targets.mean(0)
    few = len(z) < z.shape[1]
    gram = z @ z.T if few else z.T @ z
    gram.diagonal().add_(strength * gram.diagonal().mean().clamp(min=1e-6))
    factor, right = torch.linalg.cholesky_ex(gram)[0], targets - offset
    solution = z.T @ torch.cholesky_solve(right, factor) if few else torch.cholesky_solve(z.T @ right, factor)
    weights = solution.T / deviation
    head = torch.cat([weights, (offset - weights @ mean).unsqueeze(1)], 1)
    products = 2 * z.numel() * (len(gram) + targets.shape[1])
    return head.contiguous(), products + solve_flops(len(gram), targets.shape[1])
