"""Perceptrons that get more units, of which a task uses those that were there when it was learned (DEN, RCL).

    units of a layer   | task 1 | new with task 2 | new with task 3 |
    stamp of task 2    |———————————————————————————|

The stamp of a task is the width of every layer at its end. What it is predicted by are the weights among the units of
its stamp and its own output layer. Nothing changes these weights afterwards, so nothing is forgotten, to the bit.

A lesson is learned in rounds. Each is a fit of the network as it then is, with a mask that says what of theta moves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from engram.core import Lesson, Outline, State, Step
from engram.costs import count_forward
from engram.errors import BadSetting
from engram.networks import HEAD, Blueprint, FlatNetwork
from engram.parts.fit import require_samples
from engram.parts.partly_private import PartlyPrivate
from engram.randomness import generator
from engram.settings import setting

DEVIATION, BIAS = 0.01, 0.1  # of new units, as in the published code of both
Widths = tuple[int, ...]


class Growing(PartlyPrivate):
    """Subclasses say which rounds a lesson has (`next_round`) and what moves in each (`moving`)."""

    trunk = "finetune"  # withdraws the settings: what is shared is frozen unit by unit, and decays by `l2`
    freeze_bn_stats = False
    weight_decay = 0.0
    l2 = setting(1e-4, "pull of all weights that move towards zero", at_least=0)

    def __init__(self, outline: Outline, seed: int = 0, network: Blueprint | None = None, **settings: Any):
        blueprint = network or Blueprint.of()
        if blueprint.name != "mlp" or blueprint.settings["activation"] == "lwta":
            found = blueprint.name if blueprint.name != "mlp" else "mlp with activation=lwta"
            raise BadSetting(
                f"learner '{self.name}' adds single units to full layers, and network '{found}' is made otherwise; use "
                "network mlp with activation=relu"
            )
        self.widths: Widths = tuple(blueprint.settings["widths"])
        super().__init__(outline, seed, blueprint, **settings)
        self.stamps: dict[int, Widths] = {}
        self.round, self.before = 0, 0  # of the present lesson: the round, and the steps of those before it

    def private(self) -> list[str]:
        return [HEAD]

    def next_round(self, lesson: Lesson) -> bool:
        """Make ready for the next round, if there is one."""
        raise NotImplementedError

    def moving(self) -> Tensor:
        """For every number of theta 1 where it moves in this round, 0 where it stays."""
        raise NotImplementedError

    @property
    def old(self) -> Widths:
        """The widths that earlier tasks left."""
        return next(reversed(self.stamps.values()), (0,) * len(self.widths))

    # A lesson, round by round.

    def learn(self, lesson: Lesson) -> Iterator[Step]:
        lesson = lesson.to(self.device)
        if self.step is None:
            require_samples(lesson)
            self.fit.stopping.require_data(lesson)
            self.round, self.before = 0, 0
            self.begin(lesson)
        while True:
            self.prepare(lesson)
            self.fit.use(self._material(lesson))
            for step in self.fit.run():
                yield Step(self.before + step.done, self.before + step.total)
            self.before += self.fit.step or 0
            if not self.next_round(lesson):
                break
            self.round += 1
            self.fit.begin(anew=True)
        self.end(lesson)
        self.fit.finish()
        del self.data, self.validation

    def prepare(self, lesson: Lesson) -> None:
        super().prepare(lesson)
        self.forward_flops, _ = count_forward(self.network.trunk, self.outline.shape)
        self.mask = self.moving().to(self.device)

    def epoch(self, lesson: Lesson, number: int) -> Sequence[Tensor]:
        if not self.round:
            return super().epoch(lesson, number)
        shuffle = generator(self.seed, "order", lesson.index, number, self.round)
        return torch.randperm(len(self.data), generator=shuffle).split(self.batch)

    def edit(self) -> None:
        self.network.grad.add_(self.network.theta, alpha=self.l2).mul_(self.mask)

    def end(self, lesson: Lesson) -> None:
        self.stamps[lesson.index] = self.widths

    def changed_by(self, lesson: Lesson) -> set[int]:
        return {lesson.index}

    # Networks of several widths.

    def fresh_network(self) -> FlatNetwork:
        return self.network_with(self.widths)

    def network_with(self, widths: Sequence[int]) -> FlatNetwork:
        """Without outputs, initialised as the seed says."""
        settings = {**self.blueprint.settings, "widths": tuple(widths)}
        return replace(self.blueprint, settings=settings).build(self.outline.shape, self.seed)

    def layers(self, network: FlatNetwork | None = None) -> list[nn.Linear]:
        """The hidden layers, from the sample on."""
        return [layer for layer in (network or self.network).trunk.layers if isinstance(layer, nn.Linear)]

    def network_of(self, task: int) -> FlatNetwork:
        """Put together anew: how a matrix lies in memory can change the last bits of a product."""
        if f"private.{task}" not in self.kept:
            return self.network
        found = self.cut_to(self.stamps[task])
        found.append(self.kept[f"private.{task}"])
        return found

    def cut_to(self, widths: Sequence[int]) -> FlatNetwork:
        """The first so many units of every layer, and the weights among them."""
        found = self.network_with(widths)
        for part, whole in zip(self.layers(found), self.remembered(), strict=True):
            units, inputs = part.weight.shape
            part.weight.data.copy_(whole.weight.data[:units, :inputs])
            part.bias.data.copy_(whole.bias.data[:units])
        return found

    def remembered(self) -> list[nn.Linear]:
        """The layers that hold what earlier tasks left."""
        return self.layers()

    def widen(self, extra: Sequence[int], *purpose: int) -> None:
        """Give every hidden layer so many new units, with small weights; what old ones read of new ones is 0."""
        draw = generator(self.seed, "new units", *purpose)
        wider = self.network_with([width + more for width, more in zip(self.widths, extra, strict=True)])
        for new, old in zip(self.layers(wider), self.layers(), strict=True):
            units, inputs = old.weight.shape
            _draw_small(new.weight.data, draw)
            new.weight.data[:units] = 0
            new.weight.data[:units, :inputs] = old.weight.data
            new.bias.data.fill_(BIAS)[:units] = old.bias.data
        head = torch.empty(self.network.rows, wider.row_size, device=self.device)
        _draw_small(head, draw)
        rows, features = self.network.head.data, self.network.row_size - 1
        head[:, :features], head[:, -1] = rows[:, :features], rows[:, -1]
        self.take(wider, head)

    def take(self, network: FlatNetwork, head: Tensor) -> None:
        """Go on with this network and this output layer."""
        network.append(head)
        self.network = network
        self.widths = tuple(layer.out_features for layer in self.layers())

    def is_new(self, block: Sequence[int] | None = None) -> Tensor:
        """1 for what lies outside of the weights among the first so many units of every layer, those of earlier tasks
        if not said otherwise; and for the output layer."""
        mask = torch.ones(len(self.network.theta))
        inputs = None
        for layer, units in zip(self.layers(), self.old if block is None else block, strict=True):
            mask[self.network.span(layer.weight)].view(layer.weight.shape)[:units, :inputs] = 0
            mask[self.network.span(layer.bias)][:units] = 0
            inputs = units
        return mask

    # What is saved.

    def state(self) -> State:
        state = super().state()
        stamps = [[task, list(widths)] for task, widths in self.stamps.items()]
        state.plain |= {"widths": list(self.widths), "stamps": stamps, "round": self.round, "before": self.before}
        return state

    def load(self, state: State) -> None:
        plain = state.plain
        self.widths, self.round, self.before = tuple(plain["widths"]), plain["round"], plain["before"]
        self.stamps = {task: tuple(widths) for task, widths in plain["stamps"]}
        self.network = self.fresh_network()
        super().load(state)


def _draw_small(values: Tensor, draw: torch.Generator) -> None:
    limit = 2 * DEVIATION
    drawn = torch.empty(values.shape)
    nn.init.trunc_normal_(drawn, std=DEVIATION, a=-limit, b=limit, generator=draw)
    values.copy_(drawn.to(values.device))
