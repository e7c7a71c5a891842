"""iCaRL-hb1, the first hybrid of Rebuffi et al. 2017: trained as iCaRL, but the highest output is the answer."""

from __future__ import annotations

from torch import Tensor

from engram.learners.icarl import ICaRL
from engram.parts.gradient import GradientLearner


class ICaRLHB1(ICaRL):
    """What iCaRL is without the nearest mean of exemplars."""

    name = "icarl-hb1"

    def predict(self, x: Tensor, task: int | None = None) -> Tensor:
        return GradientLearner.predict(self, x, task)
