"""The registry is the folder, plus what a user adds."""

from __future__ import annotations

import pkgutil
import re

import engram.learners
from engram.api import register
from engram.core import Learner
from engram.learners import learner_class, learners


def test_every_name_is_a_file_name():
    files = {module.name.replace("_", "-") for module in pkgutil.iter_modules(engram.learners.__path__)}
    written = {re.sub(r"[+](?=[a-z])", "-", name).replace("+", "-plus") for name in learners()}  # ewc++, geppnet+stm
    assert written <= files
    assert {"finetune", "ewc", "online-ewc", "si", "independent", "new-head", "new-leg", "joint", "ridge"} <= set(
        learners()
    )


def test_a_learner_of_ones_own():
    class Mine(Learner):
        name = "mine"

    assert "mine" not in learners()
    register(Mine)
    assert learner_class("mine") is Mine
