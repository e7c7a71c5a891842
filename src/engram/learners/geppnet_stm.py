"""GeppNet with a short-term memory (GeppNet+STM, Gepperth and Karaoguz 2016, as compared by Kemker et al. 2018).

The first session is GeppNet's. In later ones nothing is learned while awake: novel samples go into a memory of 300, the
oldest making room. Every so many samples a sleep teaches the memory to map and readout, in random order, after which it
fills anew. The last sleep is at the session's end.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from engram.core import Lesson, Outline, State, canonical
from engram.learners.geppnet import BLOCK, GeppNet
from engram.networks import Blueprint
from engram.parts.readout import confidence
from engram.parts.short_term import ShortTermMemory
from engram.randomness import generator
from engram.settings import setting


class GeppNetSTM(GeppNet):
    """GeppNet but for what later sessions do with a sample."""

    name = "geppnet+stm"
    keeps = "all data, 300 samples"
    paper = "Gepperth, Karaoguz: A bio-inspired incremental learning architecture for applied perceptual problems, 2016"

    replay = replace(GeppNet.replay, default=1.0)
    memory_size = setting(300, "samples that the memory holds (from the sizes in Table 2 of Kemker et al.)", at_least=1)
    sleep_every = setting(2000, "samples from one sleep to the next (calibrated)", at_least=1, late=True)
    sleep_passes = setting(1, "times that a sleep goes through the memory (calibrated)", at_least=1, late=True)
    prediction = setting(
        "map",
        "by the map alone, as at a session's end in the paper; or by the nearest sample in memory where that is nearer "
        "than the map's best unit, and then the last memory stays until the next session",
        choices=("map", "nearest"),
    )

    def __init__(self, outline: Outline, seed: int = 0, network: Blueprint | None = None, **settings: Any):
        super().__init__(outline, seed, network, **settings)
        self.memory = ShortTermMemory(self.memory_size, math.prod(outline.shape))

    @classmethod
    def least_bytes(cls, outline: Outline, network: Blueprint | None, settings: Mapping[str, Any]) -> int:
        memory = 4 * settings["memory_size"] * (math.prod(outline.shape) + 1)
        return super().least_bytes(outline, network, settings) + memory

    def _begin(self, lesson: Lesson) -> None:
        super()._begin(lesson)
        self.memory.empty()

    def _cuts(self) -> set[int]:
        """Sleeps come between two blocks."""
        cuts = super()._cuts()
        return cuts if self.sessions == 1 else cuts | {*range(0, max(cuts), self.sleep_every)}

    def _take_in(self, x: Tensor, y: Tensor, stop: int) -> None:
        if (stop - len(x)) % self.sleep_every == 0:
            self.memory.empty()
        scores = self.readout.outputs(self.map.squared_distances(x))
        self.map.operations += 2 * len(x) * (self.map.weights.numel() + self.readout.weights.numel())
        novel = torch.from_numpy(confidence(scores.numpy(), y.numpy()) < self.threshold)
        self.memory.push(x[novel], y[novel])
        if stop % self.sleep_every == 0:
            self._sleep()

    def _sleep(self) -> None:
        for k in range(self.sleep_passes):
            chance = generator(self.seed, "sleep", self.sessions, self.done or 0, k)
            for places in torch.randperm(self.memory.held, generator=chance).split(BLOCK):
                self._adapt(self.memory.x[places], self.memory.y[places], self.map_rate_later, math.inf)

    def _end(self) -> None:
        if sum(self._parts()) % self.sleep_every:  # otherwise the last sample was followed by a sleep
            self._sleep()
        if self.prediction == "map":
            self.memory.empty()

    def predict(self, x: Tensor, task: int | None = None) -> Tensor:
        """Where the memory decides, its class gets the highest score."""
        rows, x = self.outputs.rows(task), canonical(x.flatten(1))
        squares = self.map.squared_distances(x)
        scores = self.readout.outputs(squares)
        if self.prediction == "nearest" and self.memory.held:
            distances, labels = self.memory.nearest(x)
            nearer = (distances < squares.min(1).values).nonzero().squeeze(1)
            scores[nearer, labels[nearer]] = scores[nearer].max(1).values + 1
        return scores[:, rows]

    def state(self) -> State:
        state = super().state()
        return State({**state.tensors, **self.memory.tensors()}, {**state.plain, "held": self.memory.held})

    def load(self, state: State) -> None:
        super().load(state)
        self.memory.load(state.tensors, state.plain["held"])
