"""Gradient episodic memory (Lopez-Paz and Ranzato 2017): a step may not raise the loss on any earlier task's memory.

A few samples of every task are kept. Before each step the gradients on all of these memories are computed, and where
the step would make one of them worse it is turned, as little as possible, until it does not. Unlike a penalty this lets
the loss on earlier tasks fall, so that they can become better.

With g the gradient and the rows of G those on the memories: where G g ≥ 0 everywhere g is taken as it is, else
g + Gᵀv with v the solution of  min ½ vᵀ(G Gᵀ + 1e-3 I)v + (G g)ᵀv,  v ≥ margin: the nearest gradient without conflict.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from engram.core import Lesson, Split, State, pick
from engram.costs import BACKWARD, head_flops
from engram.errors import Diverged
from engram.networks import Outputs
from engram.parts.gradient import GradientLearner
from engram.settings import setting
from engram.transform import under

COLUMNS = 8192  # of gradients that are multiplied at a time


class GEM(GradientLearner):
    """Keeps the examples of every task that it saw last. Its bound is one on plain steps: by default it takes those."""

    name = "gem"
    keeps = "samples of every task"
    paper = "Lopez-Paz, Ranzato: Gradient episodic memory for continual learning, NeurIPS 2017"
    bits = 1  # products in double precision

    memory = setting(256, "examples kept of every task, the most recent ones", at_least=1)
    margin = setting(0.5, "least weight of every memory's gradient once one is in conflict", at_least=0, late=True)
    optimizer = replace(GradientLearner.optimizer, default="sgd")
    rate = replace(GradientLearner.rate, default=0.1)
    loss_over = replace(GradientLearner.loss_over, default="task")
    optimizer_reset = replace(GradientLearner.optimizer_reset, revised=())  # see `moved`

    def __init__(self, *args: Any, **settings: Any):
        super().__init__(*args, **settings)
        self.sizes: dict[int, int] = {}  # how many examples are kept of each task, in the order they are kept in
        self.samples: Split | None = None

    def prepare(self, lesson: Lesson) -> None:
        """The memories of the other tasks as they enter a step: outputs, samples, places of their labels."""
        super().prepare(lesson)
        self.past: list[tuple[Outputs, Tensor, Tensor]] = []
        for task, memory in self.memories().items():
            if task != lesson.index:
                active, places = self.outputs.active(task, self.loss_over)
                x, y = memory.batch(slice(None))
                self.past.append((active, x, pick(places, y)))
        self.gradients = self.network.theta.new_empty(len(self.past), len(self.network.theta))

    def edit(self) -> None:
        if not self.past:
            return
        plain = self.network.grad.clone()
        for row, (active, x, y) in zip(self.gradients, self.past):
            self.network.backward(F.cross_entropy(self.network.training_scores(x, active), y))
            row.copy_(self.network.grad)
            head = head_flops(self.network, active.stop - active.start)
            self.operations += len(x) * (1 + BACKWARD) * (self.forward_flops + head)
        if not self.gradients.isfinite().all():
            task = next(reversed(self.outputs.tasks))
            raise Diverged(
                f"a gradient on the memory is not finite at task {task + 1}, step {(self.step or 0) + 1}; "
                f"lower the rate (now {self.rate:g})"
            )
        projected = project(plain, self.gradients, self.margin)
        self.operations += projection_flops(self.gradients, conflict=projected is not plain)
        self.network.grad.copy_(projected)

    def moved(self) -> list[slice]:
        """Gradients on the memories reach the outputs of earlier tasks too."""
        return super().moved() if self.weight_decay else self.network.trained

    def end(self, lesson: Lesson) -> None:
        memories = {**self.memories(), lesson.index: lesson.train.take(self._seen(lesson)[-self.memory :])}
        self.samples = Split.join(list(memories.values()))
        self.sizes = {task: len(memory) for task, memory in memories.items()}
        self.past, self.gradients = [], torch.empty(0)

    def _seen(self, lesson: Lesson) -> Tensor:
        """Positions of the samples in the order in which they were last seen, of the last epoch and the one before."""
        epoch, place = divmod((self.step or 1) - 1, self.steps_per_epoch())
        last = torch.cat(list(self.epoch(lesson, epoch))[: place + 1])
        if epoch == 0:
            return last
        before = torch.cat(list(self.epoch(lesson, epoch - 1)))
        return torch.cat([before[~torch.isin(before, last)], last])

    def memories(self) -> dict[int, Split]:
        """What is kept of each task."""
        if self.samples is None:
            return {}
        places = torch.arange(len(self.samples)).split(list(self.sizes.values()))
        return {task: self.samples.take(place) for task, place in zip(self.sizes, places)}

    def state(self) -> State:
        state = super().state()
        samples = {} if self.samples is None else {f"memory.{name}": t for name, t in self.samples.tensors().items()}
        format = {} if self.samples is None else self.samples.plain()
        return State({**state.tensors, **samples}, {**state.plain, "sizes": list(self.sizes.items()), "memory": format})

    def load(self, state: State) -> None:
        super().load(state)
        self.sizes = dict(state.plain["sizes"])
        samples, self.kept = under("memory.", self.kept), {}
        format = state.plain.get("memory", state.plain)  # an older state has its scale there
        self.samples = Split.load(samples, format) if samples else None


def project(gradient: Tensor, others: Tensor, margin: float = 0.5, ridge: float = 1e-3) -> Tensor:
    """The gradient itself where it is in conflict with no row of `others`; else with those rows added to it.

    >>> project(torch.tensor([1.0, 0.0]), torch.tensor([[-1.0, 1.0]]), margin=0.0, ridge=0.0)
    tensor([0.5000, 0.5000])
    """
    products = double_product(others, gradient[None]).squeeze(1)
    if not (products < 0).any():
        return gradient
    gram = double_product(others, others)
    weights = least_above(gram + ridge * torch.eye(len(gram)), products, margin)
    return gradient + weights.to(others.dtype) @ others


def projection_flops(others: Tensor, conflict: bool) -> int:
    """Operations of looking for a conflict; where there is one, of the rows' products with each other and their sum."""
    return 2 * others.numel() * (2 + len(others) if conflict else 1)


def double_product(one: Tensor, other: Tensor) -> Tensor:
    """one · otherᵀ in double precision: the sums are long, and what a step may not undo is a small difference of them.

    Some columns at a time, because all of them as doubles would not fit into the cache.
    """
    total = one.new_zeros(len(one), len(other), dtype=torch.float64)
    for a, b in zip(one.split(COLUMNS, 1), other.split(COLUMNS, 1)):
        total.addmm_(a.double(), b.double().t())
    return total


def least_above(quadratic: Tensor, linear: Tensor, least: float) -> Tensor:
    """argmin ½ vᵀPv + qᵀv over v ≥ `least`, exactly, by non-negative least squares.

    With v = u + m and P = AᵀA (from its eigenvectors, because two memories may pull the same way) it is
    min ‖A u − b‖² over u ≥ 0, where Aᵀb = −(q + P m).
    """
    from scipy.optimize import nnls  # here, because it takes longer to import than all learners

    values, vectors = torch.linalg.eigh(quadratic)
    used = values > 1e-12 * values[-1]
    root = values[used].sqrt()
    target = -(linear + least * quadratic.sum(1))
    solution, _ = nnls((vectors[:, used] * root).t().numpy(), ((target @ vectors[:, used]) / root).numpy())
    return torch.from_numpy(solution) + least
