"""Independent, new-head and new-leg: what is frozen stays, so nothing is forgotten, to the bit."""

from __future__ import annotations

import pytest
import torch

from engram.core import Lesson
from engram.errors import BadData, BadSetting, NeedsTask
from engram.networks import Blueprint

FROZEN = ["independent", "new-head", "new-leg"]
CNN = Blueprint.of("rwalk-cnn")
RESNET = Blueprint.of("resnet18-reduced", width=2)


def _shared(learner):
    return _blocks(learner, learner.shared())


def _blocks(learner, names):
    return torch.cat([learner.network.theta[learner.network.blocks[name]] for name in names])


@pytest.mark.parametrize("network", [None, CNN, RESNET])
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
        shared, private = _shared(learner), _blocks(learner, learner.private())
        teach(learner, digits_lessons[1:3])
        assert torch.equal(_shared(learner), shared) == (trunk == "freeze")
        assert not torch.equal(_blocks(learner, learner.private()), private)


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


PRIVATE = {"independent": ("stem", "group1", "head"), "new-head": ("head",), "new-leg": ("stem",)}


@pytest.mark.parametrize("name", FROZEN)
def test_private_blocks_by_name_with_their_running_statistics(name, make, teach, digits_lessons):
    learner = teach(make(name, network=RESNET), digits_lessons[:2])
    assert set(PRIVATE[name]) <= set(learner.private())
    assert set(learner.private()).isdisjoint(learner.shared())
    kept = {key.removeprefix("private.0.") for key in learner.kept if key.startswith("private.0.")}
    assert kept == set(learner.network.buffers(learner.private()))
    assert bool(kept) == (name != "new-head")


@pytest.mark.parametrize("name", ["new-head", "new-leg"])
@pytest.mark.parametrize("trunk", ["freeze", "finetune"])
def test_frozen_statistics_stay_and_others_move(name, trunk, make, teach, digits_lessons):
    learner = teach(make(name, network=RESNET, trunk=trunk), digits_lessons[:1])
    before = {key: value.clone() for key, value in learner.network.buffers(learner.shared()).items()}
    teach(learner, digits_lessons[1:2])
    after = learner.network.buffers(learner.shared())
    assert before
    assert all(torch.equal(before[key], after[key]) for key in before) == (trunk == "freeze")
    leg = learner.network.buffers(["stem"])
    counts = [int(value) for key, value in leg.items() if key.endswith("num_batches_tracked")]
    assert counts == [6 if name == "new-leg" or trunk == "freeze" else 12]


@pytest.mark.parametrize("name", ["finetune", "new-head", "new-leg"])
def test_statistics_of_shared_modules_can_be_frozen_while_they_learn(name, make, teach, digits_lessons):
    learner = teach(make(name, network=RESNET, trunk="finetune", freeze_bn_stats=True), digits_lessons[:1])
    shared = [block for block in learner.shared() if block in learner.network.trunk.modules_by_name]
    before = {key: value.clone() for key, value in learner.network.buffers(shared).items()}
    weights = [learner.network.theta[learner.network.blocks[block]].clone() for block in shared]
    stem = learner.network.buffers(["stem"])["layers.1.running_mean"].clone()
    teach(learner, digits_lessons[1:2])
    after = learner.network.buffers(shared)
    assert before
    assert all(torch.equal(before[key], after[key]) for key in before)
    moved = [learner.network.theta[learner.network.blocks[block]] for block in shared]
    assert not any(torch.equal(one, other) for one, other in zip(weights, moved))
    assert torch.equal(stem, learner.network.buffers(["stem"])["layers.1.running_mean"]) == ("stem" in shared)


@pytest.mark.parametrize("name", FROZEN)
def test_networks_of_earlier_tasks_come_back_from_a_state(name, make, teach, snapshot, digits_lessons):
    learner = teach(make(name, network=RESNET), digits_lessons[:3])
    heir = make(name, network=RESNET)
    heir.load(snapshot(learner))
    x, _ = digits_lessons[0].validation.batch(slice(None))
    for task in (0, 1, 2, 1, 0):
        assert torch.equal(learner.predict(x, task), heir.predict(x, task))


def test_a_new_leg_needs_a_module_to_renew(make):
    with pytest.raises(BadSetting, match="network 'mlp' has none before its outputs"):
        make("new-leg", network=Blueprint.of("mlp", widths=()))


def test_they_are_two_classes_away_from_the_loop():
    from engram.learners import learners
    from engram.parts.gradient import GradientLearner
    from engram.parts.growing import Growing

    for cls in learners().values():
        if issubclass(cls, GradientLearner):
            most = 3 if issubclass(cls, Growing) else 2  # a growing perceptron is partly private itself
            assert cls.__mro__.index(GradientLearner) <= most, cls.name
