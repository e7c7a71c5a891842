"""One flat vector: all parameters of a network, and all their gradients, as two contiguous vectors.

    theta = [ module 1 | module 2 | … | head | whatever is appended ]    a head row: one output's weights, then its bias

theta is made of named blocks. The trunk's own parameters are views into it. New outputs are appended as rows, and so is
any other block, so every vector that accompanies theta (moments, importances, anchors) grows at its end and nothing
already there moves. A penalty, a path integral or an optimiser step is then a handful of operations on whole vectors.
What is trained is a set of blocks; the modules of the others are in evaluation mode and get no gradient.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from engram.core import canonical
from engram.errors import UnknownName
from engram.networks.blocks import follow, merge, spans
from engram.networks.chain import LossRule, chain_scores, chain_start, direct_loss
from engram.networks.trunk import Trunk
from engram.settings import setting

HEAD = "head"
FREEZE_BN_STATS = setting(
    False,
    "running statistics of batch normalisation stay as the first task left them, where modules are shared; their "
    "weights go on learning (the released code of Veniat et al. 2021)",
    late=True,
)


class Outputs(NamedTuple):
    """Some rows of the head: those from start to stop, less the ones that `mask` (0 or −∞) takes out."""

    start: int
    stop: int
    mask: Tensor | None = None

    @staticmethod
    def of(rows: Sequence[int], device: torch.device | str = "cpu") -> Outputs:
        start, stop = min(rows), max(rows) + 1
        if stop - start == len(rows):
            return Outputs(start, stop)
        mask = torch.full((stop - start,), float("-inf"))
        mask[[row - start for row in rows]] = 0
        return Outputs(start, stop, mask.to(device))

    def runs(self) -> list[slice]:
        """The rows, in as few slices as there can be."""
        if self.mask is None:
            return [slice(self.start, self.stop)]
        edges = F.pad((self.mask == 0).int(), (1, 1)).diff().nonzero().flatten().add_(self.start).tolist()
        return [slice(*edge) for edge in zip(edges[::2], edges[1::2], strict=True)]


class FlatNetwork:
    """A trunk and one linear output layer over one vector.

    `blocks` says where each named part of theta lies, `trained` which slices are trained, `appended` are the blocks
    after the head, as tensors that a loss may use.
    """

    def __init__(self, trunk: Trunk):
        self.trunk = trunk
        self.row_size = trunk.features + 1
        self.trunk_size = sum(p.numel() for p in trunk.parameters())
        start = chain_start(trunk)
        self._is_chain = self.chained = start is not None
        self.body = torch.nn.Sequential(*list(trunk.layers)[: start or 0])
        self.body_size = sum(p.numel() for p in self.body.parameters())
        self.layers = list(trunk.layers)[(start or 0) + 1 :]  # of the chain, after the one that flattens the sample
        self.first_linear = next((m for m in self.layers if isinstance(m, torch.nn.Linear)), None)
        self.trigger = torch.zeros((), device=trunk.device, requires_grad=True)
        self.grad_is_stale = True
        for buffer in trunk.buffers():
            buffer.data = canonical(buffer)
        self._only: frozenset[str] | None = None
        self._normalising: list[torch.nn.Module] = []  # layers that do so by frozen statistics
        self.appended: dict[str, Tensor] = {}
        self._lay_out(torch.cat([torch.empty(0, device=trunk.device), *(p.data.flatten() for p in trunk.parameters())]))

    @property
    def rows(self) -> int:
        """How many outputs the head has."""
        return len(self.head)

    def append(self, values: Tensor, to: str = HEAD) -> None:
        """Give the last block, or a new one of this name, these further values: rows of the head by default."""
        if not values.numel():
            return
        last = next(reversed(self.blocks))
        if to in self.blocks and to != last:
            raise RuntimeError(f"block '{to}' cannot grow, because '{last}' lies behind it; append to '{last}' or anew")
        sizes = self.appended_sizes()
        if to != HEAD:
            sizes[to] = sizes.get(to, 0) + values.numel()
        self._lay_out(torch.cat([self.theta, values.flatten().to(self.theta.device)]), sizes)

    def appended_sizes(self) -> dict[str, int]:
        """How many numbers each block after the head has."""
        return {name: len(values) for name, values in self.appended.items()}

    def assign(self, theta: Tensor, appended: Mapping[str, int] | None = None) -> None:
        """Hold these values, with as many head rows as they have beside the `appended` blocks: those that are there
        already, if none are named."""
        sizes = self.appended_sizes()
        if len(theta) == len(self.theta) and appended in (None, sizes):
            self.theta.copy_(theta)
        else:
            self._lay_out(theta.clone(), sizes if appended is None else appended)

    def training_scores(self, x: Tensor, outputs: Outputs) -> Tensor:
        """Scores of a training batch, for a loss that `backward` is called on."""
        if not self.chained:
            return self.scores(self.features(x, training=True), outputs)
        if len(self.body):
            self._set_training(True)
            x = self.body(self.trunk.laid_out(x))
        return chain_scores(self, x, outputs)

    @property
    def is_direct(self) -> bool:
        """Whether `direct_loss` can be had: of a chain from the samples on."""
        return self.chained and not len(self.body)

    def direct_loss(self, x: Tensor, outputs: Outputs, rule: LossRule) -> Tensor:
        """The loss of a training batch, with its gradient in `grad`; a tenth of a step faster than `training_scores`
        and `backward`, to the same bits. `rule` gives of scores the loss, and its gradient with respect to them."""
        with torch.no_grad():
            return direct_loss(self, x, outputs, rule)

    def backward(self, loss: Tensor, again: bool = False) -> None:
        """Put the gradient of the loss into `grad`, for what is trained of theta.

        `again`: another loss of the same scores is differentiated after this one."""
        leaves = self._leaves
        if not self.chained:
            gradients = torch.autograd.grad(loss, leaves, retain_graph=again, materialize_grads=True)
            for run, first, last in self._runs:
                torch.cat([gradient.flatten() for gradient in gradients[first:last]], out=self.grad[run])
            return
        self.grad_is_stale = True
        if self.appended:
            self.grad[self.blocks[HEAD].stop :].zero_()
        gradients = torch.autograd.grad(loss, [self.trigger, *leaves], retain_graph=again, allow_unused=True)[1:]
        if self.grad_is_stale:  # a loss that did not go through `training_scores`
            self.grad.zero_()
        for leaf, gradient in zip(leaves, gradients, strict=True):
            if gradient is not None:
                self.grad_of(leaf).add_(gradient)

    def train_only(self, names: Collection[str] | None) -> None:
        """Train the blocks of these names and no others; None is all, whatever is appended later included."""
        for name in names or ():
            if name not in self.blocks:
                raise UnknownName("block of the network called", name, self.blocks)
        self._only = None if names is None else frozenset(names)
        self.trunk.eval()  # until a training batch comes
        self.grad.zero_()
        self._find_leaves()

    def trained_with(self, outputs: Outputs) -> list[slice]:
        """What is trained of theta, less the rows of other outputs."""
        head, size = self.blocks[HEAD], self.row_size
        rows = [slice(head.start + run.start * size, head.start + run.stop * size) for run in outputs.runs()]
        wanted = (slice(0, head.start), *rows, slice(head.stop, len(self.theta)))
        common = [slice(max(a.start, b.start), min(a.stop, b.stop)) for a in self.trained for b in wanted]
        return merge([part for part in common if part.start < part.stop])

    def freeze_statistics(self, names: Collection[str]) -> None:
        """In these modules batch normalisation goes by its running statistics in training too, and leaves them."""
        layers = (layer for name in names for layer in self.trunk.modules_by_name.get(name, ()))
        inside = (module for layer in layers for module in layer.modules())
        self._normalising = [module for module in inside if isinstance(module, torch.nn.modules.batchnorm._BatchNorm)]
        self.trunk.eval()  # until a training batch comes

    @property
    def keeps_statistics(self) -> bool:
        """Whether some are frozen, see `freeze_statistics`."""
        return bool(self._normalising)

    def is_trained(self, block: str) -> bool:
        return self._only is None or block in self._only

    def features(self, x: Tensor, training: bool = False) -> Tensor:
        self._set_training(training)
        return self.trunk(x)

    def scores(self, features: Tensor, outputs: Outputs | None = None) -> Tensor:
        """The head's outputs, all or some; a masked one scores −∞."""
        if outputs is None:
            return head_scores(features, self.head)
        whole = outputs.start == 0 and outputs.stop == self.rows
        scores = head_scores(features, self.head if whole else self.head[outputs.start : outputs.stop])
        return scores if outputs.mask is None else scores + outputs.mask

    def buffers(self, blocks: Collection[str] | None = None) -> dict[str, Tensor]:
        """What the trunk, or some of its modules, keeps beside its parameters (running statistics)."""
        named = dict(self.trunk.named_buffers())
        if blocks is None:
            return named
        layers = [layer for name in blocks for layer in self.trunk.modules_by_name.get(name, ())]
        own = {id(buffer) for layer in layers for buffer in layer.buffers()}
        return {name: buffer for name, buffer in named.items() if id(buffer) in own}

    def assign_buffers(self, values: Mapping[str, Tensor]) -> None:
        """Hold these values beside the parameters."""
        places = dict(self.trunk.named_buffers())
        for name, value in values.items():
            places[name].copy_(value)

    def span(self, parameter: Tensor) -> slice:
        """Where a parameter lies in theta."""
        start = parameter.storage_offset()
        return slice(start, start + parameter.numel())

    def grad_of(self, parameter: Tensor) -> Tensor:
        """The part of `grad` that belongs to a parameter, in its shape."""
        return self._gradients[id(parameter)]

    def _set_training(self, training: bool) -> None:
        if self.trunk.training != training:
            self.trunk.train(training)
            for layer in (*self._resting, *self._normalising) if training else ():
                layer.eval()

    def _lay_out(self, theta: Tensor, appended: Mapping[str, int] | None = None) -> None:
        """Make every parameter a view of `theta`, at whose end the appended blocks lie."""
        self.theta, self.grad = theta, torch.zeros_like(theta)
        sizes = dict(appended or {})
        end = len(theta) - sum(sizes.values())
        self.blocks = {
            **(spans(self.trunk, self.trunk.modules_by_name) or {}),
            HEAD: slice(self.trunk_size, end),
            **follow(end, sizes),
        }
        self._gradients: dict[int, Tensor] = {}
        start = 0
        for p in self.trunk.parameters():
            stop = start + p.numel()
            p.data = theta[start:stop].view(p.shape)
            self._gradients[id(p)] = self.grad[start:stop].view(p.shape)
            start = stop
        self.head = theta[self.blocks[HEAD]].view(-1, self.row_size).detach()
        self.head_grad = self.grad[self.blocks[HEAD]].view(-1, self.row_size)
        self._gradients[id(self.head)] = self.head_grad
        self.appended = {name: theta[self.blocks[name]].detach() for name in sizes}
        for name, values in self.appended.items():
            self._gradients[id(values)] = self.grad[self.blocks[name]]
        self._find_leaves()

    def _find_leaves(self) -> None:
        """What is trained: found once, because walking through modules at every step takes time."""
        self._leaves: list[Tensor] = []
        self._runs: list[tuple[slice, int, int]] = []  # slices of theta, and which of the leaves each is made of
        for block, leaf in self._all_leaves():
            leaf.requires_grad_(self.is_trained(block))
            if leaf.requires_grad:
                self._leaves.append(leaf)
        places = [self.span(leaf) for leaf in self._leaves]
        self.trained = merge(places)
        for run in self.trained:
            inside = [k for k, place in enumerate(places) if run.start <= place.start and place.stop <= run.stop]
            self._runs.append((run, inside[0], inside[-1] + 1))
        resting = (layers for name, layers in self.trunk.modules_by_name.items() if not self.is_trained(name))
        self._resting = [layer for layers in resting for layer in layers]
        self.chained = self._is_chain and self.trained == [slice(0, len(self.theta))]

    def _all_leaves(self) -> Iterator[tuple[str, Tensor]]:
        """Every tensor that can be trained, with the block it belongs to."""
        inner = [(name, span.stop) for name, span in self.blocks.items() if name != HEAD and name not in self.appended]
        for parameter in self.trunk.parameters():
            yield next(name for name, stop in inner if self.span(parameter).stop <= stop), parameter
        yield HEAD, self.head
        yield from self.appended.items()


def head_scores(features: Tensor, head: Tensor) -> Tensor:
    """The outputs of a head, of which a row is one output's weights, then its bias."""
    return F.linear(F.pad(features, (0, 1), value=1.0), head)
