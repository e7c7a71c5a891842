"""iCaRL that answers by its outputs (iCaRL-hb1, the first hybrid of Rebuffi et al. 2017): the highest is the answer.

Training is that of iCaRL: exemplars beside the new samples, and old answers distilled. But a sample belongs to the
class with the highest output, as in other networks. The difference between the two is what the nearest mean of
exemplars is worth.
"""

from __future__ import annotations

from torch import Tensor

from engram.learners.icarl import ICaRL
from engram.parts.gradient import GradientLearner


class ICaRLHB1(ICaRL):
    """What iCaRL is without the nearest mean of exemplars."""

    name = "icarl-hb1"
    keeps = "exemplars"
    paper = "Rebuffi, Kolesnikov, Sperl, Lampert: iCaRL, incremental classifier and representation learning, CVPR 2017"

    def predict(self, x: Tensor, task: int | None = None) -> Tensor:
        return GradientLearner.predict(self, x, task)
