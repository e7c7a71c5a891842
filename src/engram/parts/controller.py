"""A recurrent network that makes a row of decisions and learns from what they were worth (REINFORCE; Xu & Zhu 2018).

Two layers of LSTM cells. What goes in first is drawn once and stays, then it is the decision before; what comes out are
the chances of every choice, and of the last state a guess at the reward, which is the baseline.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from engram.parts.optimisers import OPTIMISERS
from engram.randomness import generator

UNITS = 100
RANGE = 0.1  # of initial weights


class Controller:
    """All its weights are one vector, which it draws from a generator of these words."""

    def __init__(self, decisions: int, choices: int, rate: float, *words: Any):
        self.decisions, self.choices = decisions, choices
        gates, inputs = 4 * UNITS, choices + UNITS
        self.shapes = [(gates, inputs + 1), (gates, 2 * UNITS + 1), (choices, UNITS + 1), (1, UNITS + 1)]
        draw = generator(*words)
        size = sum(rows * columns for rows, columns in self.shapes)
        self.theta = torch.empty(size).uniform_(-RANGE, RANGE, generator=draw)
        self.start = torch.empty(1, choices).uniform_(-RANGE, RANGE, generator=draw)
        self.optimiser = OPTIMISERS["adam"](rate)
        self.optimiser.fit(size)
        self.operations = 0

    def decide(self, draw: torch.Generator) -> list[int]:
        """One choice after the other, each by the chances that those before it left."""
        made: list[int] = []
        with torch.no_grad():
            for chances, _ in self._walk(self.theta, made):
                made.append(int(torch.multinomial(chances.exp()[0], 1, generator=draw)))
        self.operations += 2 * self._products() * self.decisions
        return made

    def learn(self, made: Sequence[int], reward: float) -> None:
        """Make these decisions more likely if they were worth more than expected, and less if less."""
        theta = self.theta.clone().requires_grad_()
        chosen, expected = torch.zeros(()), torch.zeros(())
        for number, (chances, guess) in enumerate(self._walk(theta, made)):
            chosen, expected = chosen + chances[0, made[number]], guess
        loss = (expected - reward).square() - (reward - expected.detach()) * chosen
        (gradient,) = torch.autograd.grad(loss, theta)
        self.optimiser.step(self.theta, gradient, slice(0, len(self.theta)))
        first = self.shapes[0][0] * self.shapes[0][1]  # nothing before the first state is learned
        self.operations += 2 * (3 * self._products() * self.decisions - first)

    def _walk(self, theta: Tensor, made: Sequence[int]) -> Any:
        """For every decision the logarithms of the chances, and a guess at the reward; `made` is read as it grows."""
        sizes = [rows * columns for rows, columns in self.shapes]
        weights = [part.view(shape) for part, shape in zip(theta.split(sizes), self.shapes, strict=True)]
        states = [(torch.zeros(1, UNITS), torch.zeros(1, UNITS)) for _ in range(2)]
        x = self.start
        for number in range(self.decisions):
            for layer in range(2):
                states[layer] = _cell(x, *states[layer], weights[layer])
                x = states[layer][0]
            yield F.log_softmax(_linear(x, weights[2]), 1), _linear(x, weights[3]).squeeze()
            x = F.one_hot(torch.tensor([made[number]]), self.choices).float()

    def _products(self) -> int:
        return sum(rows * columns for rows, columns in self.shapes)

    def tensors(self) -> dict[str, Tensor]:
        return {"theta": self.theta, **self.optimiser.vectors}

    def load(self, tensors: dict[str, Tensor], steps: int) -> None:
        self.theta = tensors.pop("theta")
        self.optimiser.vectors, self.optimiser.steps = tensors, steps


def _linear(x: Tensor, weights: Tensor) -> Tensor:
    """The last column are biases."""
    return F.linear(x, weights[:, :-1], weights[:, -1])


def _cell(x: Tensor, hidden: Tensor, memory: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """One LSTM cell."""
    enter, forget, new, leave = _linear(torch.cat([x, hidden], 1), weights).chunk(4, 1)
    memory = forget.sigmoid() * memory + enter.sigmoid() * new.tanh()
    return leave.sigmoid() * memory.tanh(), memory
