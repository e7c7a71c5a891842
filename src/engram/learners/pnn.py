"""Progressive networks (Rusu et al. 2016, as Veniat et al. 2021 have them): a new column for every task.

A column is a network of its own that also looks at what the columns of all earlier tasks compute, by lateral modules of
the same kind (`parts/columns.py`). Only the newest column and its lateral modules learn: nothing is forgotten, and with
T tasks there are T whole networks and T(T−1)/2 without their first module. The first task is that of `independent`.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from engram.core import Lesson, State
from engram.costs import BACKWARD, forward_flops
from engram.networks import FlatNetwork
from engram.parts.columns import build, column_flops, own_flops, spared_flops
from engram.parts.partly_private import PartlyPrivate
from engram.transform import under


class PNN(PartlyPrivate):
    """theta is the present column with its lateral modules and outputs; earlier ones are frozen networks."""

    name = "pnn"
    keeps = "a network for every task"
    paper = "Rusu et al.: Progressive neural networks, 2016"
    trunk = "finetune"  # withdraws the settings: nothing that is shared is trained
    freeze_bn_stats = False

    def __init__(self, *args: Any, **settings: Any):
        self.earlier: list[FlatNetwork] = []
        super().__init__(*args, **settings)

    def fresh_network(self) -> FlatNetwork:
        """The next column, without outputs."""
        return build(self.blueprint, self.outline.shape, self.seed, self.earlier)

    def private(self) -> list[str]:
        return list(self.network.blocks)

    def begin(self, lesson: Lesson) -> None:
        last = self.finished_task(lesson)
        if last is not None:
            self.kept |= self._frozen(last)
            self.network = self.fresh_network()
        self.network.append(self._initial_rows(self.outputs.add(lesson.index, lesson.classes)))
        self.fit.begin(anew=True)

    def _frozen(self, task: int) -> dict[str, Tensor]:
        """Make the present column one of the earlier ones; what is kept of it, which never changes again."""
        self.network.train_only(())
        self.earlier.append(self.network)
        buffers = {f"private.{task}.{name}": value for name, value in self.network.buffers().items()}
        return {f"private.{task}": self.network.theta, **buffers}

    def prepare(self, lesson: Lesson) -> None:
        super().prepare(lesson)
        shape, trunk = self.outline.shape, self.network.trunk
        own, every = own_flops(trunk, shape), column_flops(self.network, shape)
        others = forward_flops(trunk, shape) - own  # what a step counted of them: where code is not the library's, all
        self.forward_flops = every
        self.sample_flops += every - own - spared_flops(self.network, shape) - (1 + BACKWARD) * others

    def network_of(self, task: int) -> FlatNetwork:
        """The column of a finished or the present task."""
        return dict(zip(self.outputs.tasks, self.earlier)).get(task, self.network)

    def load(self, state: State) -> None:
        """Build the columns that it speaks of, each behind the last, and give them what it has of them."""
        kept: dict[str, Tensor] = {}
        self.outputs.load(state.plain["outputs"])
        self.earlier = []
        for task in list(self.outputs.tasks)[:-1]:
            self.network = self.fresh_network()
            self.network.assign(state.tensors[f"private.{task}"].to(self.device))
            self.network.assign_buffers(under(f"private.{task}.", state.tensors))
            kept |= self._frozen(task)
        self.network = self.fresh_network()
        super().load(state)
        self.kept = kept
