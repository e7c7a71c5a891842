"""Somebody who only ever says classes of the second task, and those perfectly: the level of total forgetting."""

from __future__ import annotations

import pytest
import torch

from engram import datasets
from engram.core import Learner
from engram.evaluate import evaluate, look
from engram.streams import stream


class Forgetful(Learner):
    """Knows every test sample of one task by heart; for all others it says a class of that task."""

    needs_task = False

    def __init__(self, task, classes):
        x, y = task.test.batch(slice(None))
        self.known = {sample.numpy().tobytes(): label for sample, label in zip(x, y.tolist(), strict=True)}
        self.classes, self.otherwise = classes, task.classes[0]

    def columns(self, task=None):
        return list(self.classes)

    def predict(self, x, task=None):
        said = [self.known.get(sample.numpy().tobytes(), self.otherwise) for sample in x]
        return (torch.tensor(self.classes) == torch.tensor(said)[:, None]).float()


def forgotten(name, dataset):
    made = stream(name, dataset=dataset)
    return look(Forgetful(made[1], made.outline.classes), made.tasks)["single"], made


@pytest.mark.parametrize("name", ["d5-5a", "d5-5h", "d9-1a", "d9-1c"])
def test_the_union_is_exactly_the_share_of_the_second_task(name):
    moment, made = forgotten(name, "digits")
    sizes = [len(task.test) for task in made]
    assert moment.tasks == (0.0, 1.0)
    assert moment.union == sizes[1] / sum(sizes)
    assert sum(sizes) == len(datasets.load("digits").y_test)
    assert evaluate(Forgetful(made[1], made.outline.classes), made.tasks).union["single"] == moment.union


@pytest.mark.skipif(not datasets.describe("mnist")["available"], reason="MNIST is not here: set ENGRAM_DATA")
@pytest.mark.parametrize("name, level", [("d9-1a", 0.1009), ("d5-5a", 0.4861)])
def test_on_mnist(name, level):
    moment, made = forgotten(name, "mnist")
    assert sum(len(task.test) for task in made) == 10_000
    assert (moment.tasks, moment.union) == ((0.0, 1.0), level)


def test_the_union_is_over_samples_and_not_over_tasks():
    """What the mean over tasks would hide where they are of different size."""
    moment, _ = forgotten("d9-1a", "digits")
    assert sum(moment.tasks) / 2 == 0.5
    assert moment.union < 0.15


def test_validation_is_of_the_task_being_learned_and_only_where_it_is_asked_for():
    made = stream("d5-5a", dataset="digits")
    learner = Forgetful(made[1], made.outline.classes)

    def validation(tasks, **how):
        return look(learner, tasks, **how)["single"].validation

    assert validation(made.tasks) is None
    assert validation(made.tasks, held_out=True) == pytest.approx(0.2, abs=0.05)  # it says one of five
    assert validation(made.tasks[:1], held_out=True) == 0.0
    assert validation(made.with_validation(0.0).tasks, held_out=True) is None
