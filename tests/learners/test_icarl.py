"""iCaRL: sigmoid targets, distillation from the frozen network, nearest mean of exemplars."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from engram.core import Lesson, Split
from engram.errors import BadSetting
from engram.learners.finetune import Finetune
from engram.networks import Blueprint


class PlainBCE(Finetune):
    """What iCaRL is when there is nothing to distil."""

    def loss(self, x, y):
        scores = self.network.training_scores(x, self.active)
        return F.binary_cross_entropy_with_logits(scores, F.one_hot(y, scores.shape[1]).float())


def _unit_features(learner, x):
    with torch.no_grad():
        return F.normalize(learner.network.features(x), dim=1)


def _start(learner, lesson, steps=1):
    """Take the first steps of a lesson and leave it there."""
    for step in learner.learn(lesson):
        if step.done >= steps:
            return learner
    raise AssertionError("the lesson was too short")


@pytest.mark.parametrize("name", ["icarl", "icarl-hb1"])
def test_one_task_is_plain_binary_cross_entropy(name, make, teach, digits_lessons):
    learner = teach(make(name, epochs=2), digits_lessons[:1])
    plain = PlainBCE(learner.outline, 0, Blueprint.of("mlp", widths="12-10"), batch=16, epochs=2)
    assert torch.equal(learner.parameters(), teach(plain, digits_lessons[:1]).parameters())


def test_old_classes_are_taught_by_the_network_from_before_the_task(make, teach, digits_lessons):
    learner = teach(make("icarl", epochs=2), digits_lessons[:1])
    x, y = Split.join([digits_lessons[1].train.take(torch.arange(5)), learner.rehearsal.memory.split()]).batch(
        slice(None)
    )
    before = teach(make("icarl-hb1", epochs=2), digits_lessons[:1]).predict(x)
    _start(learner, digits_lessons[1], 5)
    targets = learner.targets(x, learner.places[y])
    assert torch.allclose(targets[:, :2], before.sigmoid())
    assert targets[:, 2:].tolist() == [[float(label == 2), float(label == 3)] for label in y]


def test_the_loss_is_the_mean_over_samples_and_classes(make, teach, digits_lessons):
    learner = _start(teach(make("icarl"), digits_lessons[:1]), digits_lessons[1])
    x, y = digits_lessons[1].train.batch(slice(0, 7))
    t, p = learner.targets(x, learner.places[y]), torch.sigmoid(learner.network.scores(learner.network.features(x)))
    by_hand = -(t * p.log() + (1 - t) * (1 - p).log()).sum() / (7 * 4)
    assert torch.allclose(learner.loss(x, learner.places[y]), by_hand)


def test_a_masked_head_trains_only_classes_seen(make, teach, digits_lessons):
    learner = teach(make("icarl", heads="masked"), digits_lessons[2:3])
    fresh = make("icarl", heads="masked")
    next(fresh.learn(digits_lessons[2]))
    assert torch.equal(learner.network.head[:4], fresh.network.head[:4])
    assert not torch.equal(learner.network.head[4:6], fresh.network.head[4:6])
    teach(learner, digits_lessons[:1])
    assert learner.columns() == [4, 5, 0, 1]
    assert torch.equal(learner.network.head[2:4], fresh.network.head[2:4])
    assert learner.parameters().isfinite().all()


def test_growing_and_masked_heads_agree(make, teach, digits_lessons):
    growing, masked = (teach(make("icarl", heads=heads), digits_lessons[:2]) for heads in ("growing", "masked"))
    assert torch.allclose(masked.network.head[:4], growing.network.head, atol=1e-6)


def test_a_class_that_comes_back_is_learned_from_its_labels(make, teach, digits_lessons):
    learner = teach(make("icarl"), digits_lessons[:1])
    both = Lesson.union(digits_lessons[:2]).train
    again = both.take(((both.y == 1) | (both.y == 2)).nonzero().squeeze(1))
    _start(learner, Lesson("again", 1, (1, 2), again, again))
    x, _ = again.batch(slice(0, 1))
    targets = learner.targets(x, torch.tensor([1]))
    assert targets[0, 1:].tolist() == [1, 0]
    assert 0 < targets[0, 0] < 1


def test_the_frozen_network_is_kept_only_while_a_task_is_learned(make, teach, digits_lessons):
    learner = teach(make("icarl"), digits_lessons[:1])
    before = learner.parameters().clone()
    _start(learner, digits_lessons[1])
    assert torch.equal(learner.state().tensors["frozen.theta"], before)
    teach(learner, digits_lessons[1:2])
    assert not [name for name in learner.state().tensors if name.startswith("frozen")]


def test_exemplars_are_herded_on_unit_features(make, teach, digits_lessons):
    learner = teach(make("icarl", exemplars=3), digits_lessons[:1])
    own = digits_lessons[0].train.take((digits_lessons[0].train.y == 1).nonzero().squeeze(1))
    points = _unit_features(learner, own.batch(slice(None))[0])
    chosen: list[int] = []
    for k in range(1, 4):
        means = (points + points[chosen].sum(0)) / k
        cost = (points.mean(0) - means).square().sum(1)
        cost[chosen] = float("inf")
        chosen.append(int(cost.argmin()))
    assert torch.equal(learner.rehearsal.memory.of(1).raw(slice(None)), own.raw(torch.tensor(chosen)))


def test_one_exemplar_a_class_is_the_nearest_neighbour(make, teach, digits_lessons):
    learner = teach(make("icarl", exemplars=1), digits_lessons[:3])
    kept = learner.rehearsal.memory.split()
    x, _ = Lesson.union(digits_lessons[:3]).validation.batch(slice(None))
    distances = torch.cdist(_unit_features(learner, x), _unit_features(learner, kept.batch(slice(None))[0]))
    assert torch.equal(torch.tensor(learner.columns())[learner.predict(x).argmax(1)], kept.y[distances.argmin(1)])
    assert torch.allclose(learner.predict(x), -distances.square(), atol=1e-5)


def test_means_are_of_unit_length_and_follow_the_network(make, teach, digits_lessons):
    learner = teach(make("icarl"), digits_lessons[:1])
    mean = _unit_features(learner, learner.rehearsal.memory.of(0).batch(slice(None))[0]).mean(0)
    old = learner.class_means()[0]
    assert torch.allclose(old, mean / mean.norm(), atol=1e-6)
    _start(learner, digits_lessons[1])
    mean = _unit_features(learner, learner.rehearsal.memory.of(0).batch(slice(None))[0]).mean(0)
    assert torch.allclose(learner.class_means()[0], mean / mean.norm(), atol=1e-6)
    assert not torch.equal(learner.class_means()[0], old)


def test_outputs_answer_until_there_are_exemplars(make, teach, digits_lessons):
    nearest, outputs = make("icarl"), make("icarl-hb1")
    x, _ = digits_lessons[0].validation.batch(slice(None))
    for learner in (nearest, outputs):
        _start(learner, digits_lessons[0])
    assert torch.equal(nearest.predict(x), outputs.predict(x))
    for learner in (nearest, outputs):
        _start(teach(learner, digits_lessons[:1]), digits_lessons[1])
    assert torch.equal(nearest.predict(x), outputs.predict(x))
    assert not torch.equal(nearest.predict(x, 0), outputs.predict(x, 0))


def test_hybrid_1_differs_only_in_its_answer(make, teach, digits_lessons):
    nearest, outputs = (teach(make(name), digits_lessons[:2]) for name in ("icarl", "icarl-hb1"))
    x, _ = digits_lessons[0].validation.batch(slice(None))
    assert torch.equal(nearest.parameters(), outputs.parameters())
    assert torch.allclose(outputs.predict(x), outputs.network.scores(outputs.network.features(x)))
    assert (nearest.predict(x) <= 1e-6).all()


def test_a_budget_replaces_the_number_a_class(make, teach, digits_lessons):
    learner = teach(make("icarl", exemplar_budget=12), digits_lessons[:3])
    assert learner.rehearsal.memory.counts() == dict.fromkeys(range(6), 2)
    with pytest.raises(BadSetting, match="exemplar_budget=1 is less than one for each of the 2 classes"):
        next(make("icarl", exemplar_budget=1).learn(digits_lessons[0]))


def test_it_forgets_less_than_finetune(make, teach, digits_lessons):
    x, y = Lesson.union(digits_lessons[:4]).validation.batch(slice(None))

    def right(name):
        network = Blueprint.of("mlp", widths="40-40")
        learner = teach(make(name, network=network, epochs=20, rate=5e-3), digits_lessons[:4])
        return (torch.tensor(learner.columns())[learner.predict(x).argmax(1)] == y).float().mean()

    assert right("icarl") > 0.7
    assert right("finetune") < 0.5


def test_the_state_of_batch_normalisation_is_frozen_too(make, teach, digits_lessons):
    learner = make("icarl", network=Blueprint.of("resnet18-reduced", width=2), batch=45)
    teach(learner, digits_lessons[:1])
    before = {name: value.clone() for name, value in learner.network.buffers().items()}
    _start(learner, digits_lessons[1])
    for name, value in learner.frozen.buffers().items():
        assert torch.equal(value, before[name])
        assert f"frozen.{name}" in learner.state().tensors
