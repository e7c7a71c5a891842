"""Plain training on one task after another: what every method is measured against.

One network goes on learning, whatever task comes next, and nothing protects what it knew. What earlier tasks had taught
it is overwritten as far as the new one needs the same weights. How much is lost is the forgetting that every other
method has to beat.
"""

from __future__ import annotations

from typing import Any

from engram.errors import BadSetting
from engram.parts.criterion import ClassWeights
from engram.parts.gradient import GradientLearner
from engram.parts.outputs import PER_TASK, SHARED
from engram.parts.rehearsal import Rehearsal
from engram.settings import setting


class Finetune(GradientLearner):
    """Keep training the same network (Vanilla in Chaudhry et al., MLP in Kemker et al., fc in Pfülb et al.).

    With exemplars it is Vanilla-S. With shared heads it is the Finetune of Veniat et al. 2021, whose tasks have all
    their parameters in common, those of the outputs too.
    """

    name = "finetune"
    keeps = "nothing"
    paper = "McCloskey, Cohen: Catastrophic interference in connectionist networks, 1989"
    parts = (Rehearsal, ClassWeights)

    heads = setting(
        "growing",
        "outputs: one row for each class when it is first seen (growing) or from the start (masked), per-task, or "
        "shared by all tasks: one row for each place in a task's list of classes",
        choices=("growing", "masked", PER_TASK, SHARED),
        lasting=True,
    )

    def __init__(self, *args: Any, **settings: Any):
        super().__init__(*args, **settings)
        if self.heads == SHARED and (self.rehearsal or self.class_weighted):
            raise BadSetting(
                "heads=shared gives a class another output in another task, so exemplars and class weights do not know "
                "theirs; use heads=growing with them"
            )
