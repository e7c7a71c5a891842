"""The loss of a batch: mean cross-entropy, with a weight for every class and the outputs of its own task if asked."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from engram.core import pick
from engram.parts.outputs import OwnTasks
from engram.settings import setting

_ATEN = torch.ops.aten
MEAN, IGNORED = 1, -100  # how torch's own cross-entropy sums up, and the label that it would leave out
STATISTICS = setting(
    "plain",
    "where class_weighted: importance from the gradient of the plain loss (a second backward pass) or of the weighted",
    choices=("plain", "weighted"),
)
"""For methods that measure importance by the gradients of training: a class that says `statistics = STATISTICS` has
the setting, and `self.plain_grad` is then what it asks for, in `edit` and in `after_step`."""


class ClassWeights:
    """The setting of learners that can weight classes."""

    class_weighted = setting(False, "weight samples by 1/frequency of their class in the lesson's training data")


class Criterion:
    """`weights`: one for each active output. `own`: the softmax of each sample's own task, whose numbers are then what
    stands for the labels."""

    def __init__(self, weights: Tensor | None = None, own: OwnTasks | None = None, plain: bool = False):
        """`plain`: the loss without weights is wanted too, see `plain_loss`."""
        self.weights, self.own, self.plain = weights, own, plain
        self.plain_loss: Tensor | None = None  # of the last batch

    @property
    def is_plain(self) -> bool:
        """Whether it is the cross-entropy of all outputs and samples alike."""
        return self.weights is None and self.own is None

    def __call__(self, scores: Tensor, y: Tensor) -> Tensor:
        scores, y = self.masked(scores, y)
        if self.weights is None:
            return F.cross_entropy(scores, y)
        losses = F.cross_entropy(scores, y, reduction="none")
        self.plain_loss = losses.mean() if self.plain else None
        return (losses * pick(self.weights, y)).mean()

    def with_gradient(self, scores: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """The loss without weights, and its gradient with respect to the scores: what autograd would call."""
        scores, y = self.masked(scores, y)
        log_p = torch.log_softmax(scores, 1)
        loss, weight = _ATEN.nll_loss_forward(log_p, y, None, MEAN, IGNORED)
        delta = _ATEN.nll_loss_backward(torch.ones_like(loss), log_p, y, None, MEAN, IGNORED, weight)
        return loss, _ATEN._log_softmax_backward_data(delta, log_p, 1, log_p.dtype)

    def of_samples(self, scores: Tensor, y: Tensor, weighted: bool) -> Tensor:
        """Each sample's own."""
        scores, y = self.masked(scores, y)
        losses = F.cross_entropy(scores, y, reduction="none")
        return losses if self.weights is None or not weighted else losses * pick(self.weights, y)

    def masked(self, scores: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """The scores that are compared, and which of them are right."""
        return (scores, y) if self.own is None else (scores + pick(self.own.masks, y), pick(self.own.right, y))


def class_weights(counts: Tensor, places: Tensor, outputs: int) -> Tensor:
    """samples / (classes · samples of the class), by place: a mean of 1 over what an epoch presents.

    >>> class_weights(torch.tensor([10.0, 0.0, 30.0]), torch.tensor([0, -1, 1]), 2)
    tensor([2.0000, 0.6667])
    """
    present = counts.nonzero().squeeze(1)
    weights = torch.zeros(outputs, device=counts.device)
    weights[places[present]] = (counts.sum() / len(present) / counts[present]).float()
    return weights
