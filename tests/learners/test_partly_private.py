"""Independent, new-head and new-leg: what is frozen stays, so nothing is forgotten, to the bit."""

from __future__ import annotations

import pytest
import torch

from engram.core import Lesson
from engram.errors import BadData, NeedsTask
from engram.networks import Blueprint

FROZEN = ["independent", "new-head", "new-leg"]
CNN = Blueprint.of("rwalk-cnn")


def _shared(learner):
    part, theta = learner.private(), learner.network.theta
    return torch.cat([theta[: part.start], theta[part.stop :]]).clone()


@pytest.mark.parametrize("network", [None, CNN])
@pytest.mark.parametrize("name", FROZEN)
def test_old_outputs_stay_the_same_to_the_bit(name, network, make, teach, digits_lessons):
    learner = make(name, network=network)
    x = [lesson.validation.batch(slice(None))[0] for lesson in digits_lessons]
    known = []
    for k, lesson in enumerate(digits_lessons[:3]):
        teach(learner, [lesson])
        known.append(learner.predict(x[k], k))
        assert all(torch.equal(learner.predict(x[j], j), known[j]) for j in range(k + 1))
        assert learner.columns(k) == list(lesson.classes)


@pytest.mark.parametrize("name", ["new-head", "new-leg"])
def test_the_shared_part_is_frozen_or_trained_on(name, make, teach, digits_lessons):
    for trunk in ("freeze", "finetune"):
        learner = teach(make(name, trunk=trunk), digits_lessons[:1])
        shared, private = _shared(learner), learner.network.theta[learner.private()].clone()
        teach(learner, digits_lessons[1:3])
        assert torch.equal(_shared(learner), shared) == (trunk == "freeze")
        assert not torch.equal(learner.network.theta[learner.private()], private)


@pytest.mark.parametrize("name", ["independent", "new-head"])
@pytest.mark.parametrize("sizes", [(2, 4, 1), (4, 1, 2)])
def test_tasks_may_have_different_numbers_of_classes(name, sizes, make, teach, permuted_lessons):
    learner = make(name)
    for k, (lesson, size) in enumerate(zip(permuted_lessons, sizes)):
        _, y = lesson.train.batch(slice(None))
        chosen = lesson.train.take(torch.nonzero(y < size).squeeze(1))
        teach(learner, [Lesson("part", k, tuple(range(size)), chosen, lesson.validation)])
    x, _ = permuted_lessons[0].validation.batch(slice(5))
    assert [learner.predict(x, k).shape[1] for k in range(3)] == list(sizes)


def test_an_independent_network_is_what_finetune_would_be_alone(make, teach, digits_lessons):
    learner = teach(make("independent"), digits_lessons[:2])
    alone = teach(make("finetune"), digits_lessons[1:2])
    assert torch.equal(learner.network.theta, alone.network.theta)


def test_new_legs_share_the_output_layer(make, teach, digits_lessons, permuted_lessons):
    learner = teach(make("new-leg"), digits_lessons[:2])
    assert learner.network.rows == 2
    with pytest.raises(BadData, match=r"task 1 .* has 10 classes, the first had 2; use new-head"):
        teach(learner, permuted_lessons[:1])


@pytest.mark.parametrize("name", FROZEN)
def test_they_need_the_task(name, make, teach, digits_lessons):
    learner = teach(make(name), digits_lessons[:1])
    x, _ = digits_lessons[0].validation.batch(slice(5))
    assert learner.needs_task
    with pytest.raises(NeedsTask):
        learner.predict(x)
    with pytest.raises(NeedsTask, match="task 2 has not been learned"):
        learner.predict(x, 1)
