"""Dynamically expandable networks (Yoon et al. 2018, DEN): a perceptron that is retrained in part, widened and split.

A perceptron starts sparse, and every task first finds the part of it that matters for that task and retrains only this
part. Where that is not enough it gets new units, and units that have drifted too far are split into an old and a new
one. Every task is predicted by the units that were there at its end.

The first task is trained with an L1 penalty, so that few weights are left. Every later one

1. trains its new output layer alone, sparsely; what its weights reach, layer by layer down, is the part that matters;
2. retrains this part, held back by drift/2 · ‖W − W_before‖²;
3. if the loss is still above a threshold, adds units to every layer and trains them with a group lasso, which lets go
   of those that it sets to zero;
4. splits units: one whose incoming weights have drifted by more than a threshold stays as a new unit, and all old ones
   get their weights back; then trains what is new once more.

The loss is the logistic one of every output. In the published code a unit that drifted by less keeps its drift, so that
earlier tasks change a little; here they do not change at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engram.core import Lesson, State, pick
from engram.costs import head_flops
from engram.parts.fit import LOOK
from engram.parts.growing import Growing
from engram.settings import setting

FIRST, SELECT, RETRAIN, EXPAND, SETTLE = "first", "select", "retrain", "expand", "settle"
BEFORE = "before"  # theta without outputs, as it was before the lesson


class DEN(Growing):
    """Keeps one network, the stamps of all tasks and their output layers."""

    name = "den"
    keeps = "units of every task"
    paper = "Yoon, Yang, Lee, Hwang: Lifelong learning with dynamically expandable networks, ICLR 2018"

    epochs = replace(Growing.epochs, default=20)  # 4,300 steps of 256 samples of MNIST
    batch = replace(Growing.batch, default=256)
    schedule = replace(Growing.schedule, revised=(("linear", 1),))  # it had no effect beside `rate_decay`
    rate_decay = setting(0.95, "what the rate is multiplied by after every epoch", above=0, at_most=1)
    l1 = setting(
        1e-5, "what every weight comes nearer to zero by in a step of the first task and of a new head", at_least=0
    )
    group = setting(1e-3, "the same of the incoming weights of an added unit together", at_least=0)
    drift = setting(0.5, "weight of the penalty on moving away from earlier weights", at_least=0)
    units = setting(10, "units that are added to every layer", at_least=0)
    loss_threshold = setting(0.01, "loss above which units are added", at_least=0)
    split_threshold = setting(0.05, "drift of a unit's incoming weights (L2) above which it is split", at_least=0)

    def __init__(self, *args: Any, **settings: Any):
        super().__init__(*args, **settings)
        self.stage = FIRST
        self.selected: list[list[int]] = []  # units of every layer that the new output layer reaches
        self.report: dict[str, Any] = {}

    def begin(self, lesson: Lesson) -> None:
        self.stage = SELECT if self.stamps else FIRST
        self.selected, self.report = [], {}
        super().begin(lesson)
        if self.stamps:
            self.kept[BEFORE] = self.network.theta[: self.network.trunk_size].clone()

    def next_round(self, lesson: Lesson) -> bool:
        if self.stage == SELECT:
            self._select()
            self.stage = RETRAIN
        elif self.stage == RETRAIN and self._loss(lesson) > self.loss_threshold and self.units:
            self.widen([self.units] * len(self.widths), lesson.index)
            self.stage = EXPAND
        elif self.stage in (RETRAIN, EXPAND):
            self._let_go()
            self._split()
            self.stage = SETTLE
        else:
            return False
        return True

    def moving(self) -> Tensor:
        head = torch.zeros(len(self.network.theta))
        head[self.network.trunk_size :] = 1
        if self.stage == FIRST:
            return torch.ones(len(self.network.theta))
        if self.stage == RETRAIN:
            return head + self._subnetwork()
        return head if self.stage == SELECT else self.is_new()

    def _subnetwork(self) -> Tensor:
        """1 for the weights among the selected units."""
        mask, inputs = torch.zeros(len(self.network.theta)), None
        for layer, units in zip(self.layers(), self.selected, strict=True):
            rows = torch.zeros(layer.out_features, 1)
            rows[units] = 1
            columns = torch.ones(layer.in_features) if inputs is None else inputs
            mask[self.network.span(layer.weight)] = (rows * columns).flatten()
            mask[self.network.span(layer.bias)] = inputs = rows.flatten()
        return mask

    # A step.

    def before_step(self, x: Tensor, y: Tensor) -> None:
        scheduled = self.rate if self.schedule == "constant" else self.optimiser.rate
        self.optimiser.rate = scheduled * self.rate_decay ** ((self.step or 0) // self.steps_per_epoch())

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        scores = self.network.training_scores(x, self.active)
        return F.binary_cross_entropy_with_logits(scores, F.one_hot(y, scores.shape[1]).to(scores.dtype))

    def edit(self) -> None:
        super().edit()
        if self.stage == RETRAIN:
            held = slice(self.network.trunk_size)
            pull = self.network.theta[held] - self.kept[BEFORE]
            self.network.grad[held].add_(pull.mul_(self.mask[held]), alpha=self.drift)

    def after_step(self) -> None:
        """The proximal steps of the L1 norm and of the group lasso."""
        if self.stage in (FIRST, SELECT):
            weights = [layer.weight.data for layer in self.layers()] if self.stage == FIRST else []
            for values in (*weights, self.network.head.data[:, :-1]):
                values.copy_(F.softshrink(values, self.l1))
        elif self.stage == EXPAND:
            for layer, units in zip(self.layers(), self.old, strict=True):
                rows = layer.weight.data[units:]
                rows.mul_((1 - self.group / rows.norm(dim=1, keepdim=True).clamp(min=1e-12)).clamp(min=0))

    # Between rounds.

    def _select(self) -> None:
        """From the output layer down: units with a weight that is not zero to one that is selected."""
        reached = (self.network.head.data[:, :-1] != 0).any(0)
        found = [reached]
        for layer in self.layers()[:0:-1]:
            reached = (layer.weight.data[reached] != 0).any(0)
            found.insert(0, reached)
        self.selected = [mask.nonzero().flatten().tolist() for mask in found]
        self.report["selected"] = [len(units) for units in self.selected]

    def _loss(self, lesson: Lesson) -> float:
        """The mean over the lesson's training samples."""
        total = 0.0
        with torch.no_grad():
            for x, y in lesson.train.batches(LOOK):
                scores = self.network.scores(self.network.features(x), self.active)
                wanted = F.one_hot(pick(self.places, y), scores.shape[1]).to(scores.dtype)
                total += F.binary_cross_entropy_with_logits(scores, wanted).item() * len(y)
        rows = self.active.stop - self.active.start
        self.operations += len(lesson.train) * (self.forward_flops + head_flops(self.network, rows))
        self.report["loss"] = total / len(lesson.train)
        return total / len(lesson.train)

    def _let_go(self) -> None:
        """Of added units those that the group lasso set to zero."""
        added = [width - old for width, old in zip(self.widths, self.old, strict=True)]
        sources = [
            [unit for unit in range(layer.out_features) if unit < old or layer.weight.data[unit].any()]
            for layer, old in zip(self.layers(), self.old, strict=True)
        ]
        self.report |= {"added": added, "kept": [len(s) - old for s, old in zip(sources, self.old, strict=True)]}
        self._rewire(sources)

    def _split(self) -> None:
        """What drifted is a new unit, and all old ones are what they were. New units read of the new copy of a unit in
        the place of the old one, and old units of nothing new."""
        old = self.remembered()
        drifts = [
            (layer.weight.data[: len(was.weight), : was.in_features] - was.weight.data).norm(dim=1)
            for layer, was in zip(self.layers(), old, strict=True)
        ]
        torn = [(drift > self.split_threshold).nonzero().flatten().tolist() for drift in drifts]
        self._rewire([[*range(width), *units] for width, units in zip(self.widths, torn, strict=True)])
        below: list[int] = []
        for layer, was, units in zip(self.layers(), old, torn, strict=True):
            layer.weight.data[was.out_features :, below] = 0
            layer.weight.data[: was.out_features] = 0
            layer.weight.data[: was.out_features, : was.in_features] = was.weight.data
            layer.bias.data[: was.out_features] = was.bias.data
            below = units
        self.network.head.data[:, below] = 0
        self.report["split"] = [len(units) for units in torn]

    def remembered(self) -> list[nn.Linear]:
        """While a lesson is learned, as they were before it."""
        if BEFORE not in self.kept:
            return self.layers()
        network = self.network_with(self.old)
        network.assign(self.kept[BEFORE])
        return self.layers(network)

    def _rewire(self, sources: Sequence[Sequence[int]]) -> None:
        """A network whose units are copies of these units of every layer."""
        found = self.network_with([len(units) for units in sources])
        inputs: Any = slice(None)
        for new, layer, units in zip(self.layers(found), self.layers(), sources, strict=True):
            new.weight.data.copy_(layer.weight.data[list(units)][:, inputs])
            new.bias.data.copy_(layer.bias.data[list(units)])
            inputs = list(units)
        head = torch.cat([self.network.head.data[:, inputs], self.network.head.data[:, -1:]], 1)
        self.take(found, head)

    def end(self, lesson: Lesson) -> None:
        super().end(lesson)
        self.kept.pop(BEFORE, None)

    def notes(self) -> dict[str, Any]:
        return {**self.report, "units": list(self.widths)}

    # What is saved.

    def state(self) -> State:
        state = super().state()
        state.plain |= {"stage": self.stage, "selected": self.selected, "report": self.report}
        return state

    def load(self, state: State) -> None:
        super().load(state)
        self.stage, self.selected = state.plain["stage"], state.plain["selected"]
        self.report = dict(state.plain["report"])
