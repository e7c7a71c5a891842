"""Plain training on one task after another: what every method is measured against."""

from __future__ import annotations

from engram.parts.criterion import ClassWeights
from engram.parts.gradient import GradientLearner
from engram.parts.rehearsal import Rehearsal


class Finetune(GradientLearner):
    """Keep training the same network (Vanilla in Chaudhry et al., MLP in Kemker et al., fc in Pfülb et al.).

    With exemplars it is Vanilla-S.
    """

    name = "finetune"
    parts = (Rehearsal, ClassWeights)
