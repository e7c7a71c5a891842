"""The shared loop is plain training, written out here once more with PyTorch's own pieces."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import engram
from engram.core import Lesson, Split
from engram.errors import BadData, BadSetting, Diverged, NeedsTask, UnknownName
from engram.learners.finetune import Finetune
from engram.networks import Blueprint
from engram.randomness import generator


def _copy(learner, rows):
    """The learner's network as an ordinary module, with a head of `rows` outputs."""
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 12), nn.ReLU(), nn.Linear(12, 10), nn.ReLU(), nn.Linear(10, rows))
    theirs = [*learner.network.trunk.parameters(), learner.network.head[:rows, :-1], learner.network.head[:rows, -1]]
    for mine, value in zip(model.parameters(), theirs):
        mine.data.copy_(value)
    return model


def test_two_epochs_equal_an_ordinary_loop(make, digits_lessons):
    lesson = digits_lessons[0]
    learner = make("finetune", seed=7, epochs=2, rate=1e-2)
    steps = learner.learn(lesson)
    assert next(steps) == (0, 12)
    model = _copy(learner, rows=2)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(2):
        order = torch.randperm(90, generator=generator(7, "order", 0, epoch))
        for start in range(0, 90, 16):
            x, y = lesson.train.batch(order[start : start + 16])
            optimiser.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimiser.step()
    assert [step.done for step in steps] == list(range(1, 13))
    x, _ = lesson.validation.batch(slice(None))
    assert torch.allclose(learner.predict(x), model(x), atol=1e-5)


def test_it_learns_and_forgets(make, teach, digits_lessons):
    def accuracy(lesson, task):
        x, y = lesson.validation.batch(slice(None))
        best = learner.predict(x, task).argmax(1)
        return (torch.tensor(learner.columns(task))[best] == y).float().mean().item()

    learner = teach(make("finetune", epochs=15, rate=1e-2), digits_lessons[:1])
    assert accuracy(digits_lessons[0], None) > 0.9
    teach(learner, digits_lessons[1:2])
    assert accuracy(digits_lessons[1], None) > 0.8
    assert accuracy(digits_lessons[0], None) < 0.3


def _order(learner, lesson, monkeypatch):
    """The positions in the order in which the learner asks for them."""
    asked, batch = [], Split.batch

    def recorded(self, index):
        asked.append(index)
        return batch(self, index)

    with monkeypatch.context() as patch:
        patch.setattr(Split, "batch", recorded)
        for _ in learner.learn(lesson):
            pass
    return torch.cat(asked).tolist()


def test_seeds_decide_weights_and_order(make, digits_lessons, monkeypatch):
    first, second = (make("finetune", seed=seed, epochs=2) for seed in (0, 1))
    assert not torch.equal(first.parameters(), second.parameters())
    one, other = (_order(learner, digits_lessons[0], monkeypatch) for learner in (first, second))
    assert sorted(one[:90]) == sorted(one[90:]) == list(range(90))
    assert one[:90] != one[90:]
    assert one != other


def test_every_step_has_dropout_masks_of_its_own(make, digits_lessons):
    learner = make("finetune", network=Blueprint.of("mlp", widths="12-10", dropout=0.5))
    seeds, reseed = [], learner.network.trunk.reseed

    def recorded(source):
        seeds.append(source.initial_seed())
        reseed(source)

    learner.network.trunk.reseed = recorded
    for lesson in digits_lessons[:2]:
        for _ in learner.learn(lesson):
            pass
    assert len(seeds) == len(set(seeds)) == 12


@pytest.mark.parametrize("loss_over, touched", [("task", {2, 3}), ("seen", {0, 1, 2, 3}), ("all", set(range(10)))])
def test_the_loss_runs_over_the_chosen_labels(loss_over, touched, make, teach, digits_lessons):
    learner = teach(make("finetune", heads="masked", loss_over=loss_over), digits_lessons[:1])
    before = learner.network.head.detach().clone()
    teach(learner, digits_lessons[1:2])
    moved = (learner.network.head != before).any(1)
    assert set(torch.nonzero(moved).squeeze(1).tolist()) == touched


def test_growing_and_masked_heads_learn_the_same(make, teach, digits_lessons):
    growing, masked = (teach(make("finetune", heads=heads), digits_lessons[:3]) for heads in ("growing", "masked"))
    assert (growing.network.rows, masked.network.rows) == (6, 10)
    assert torch.allclose(growing.parameters(), masked.parameters()[: len(growing.parameters())], atol=1e-5)
    x, _ = digits_lessons[0].validation.batch(slice(None))
    assert growing.columns() == masked.columns() == list(range(6))
    assert torch.allclose(growing.predict(x), masked.predict(x), atol=1e-4)


@pytest.mark.parametrize("heads", ["growing", "masked", "per-task"])
def test_predictions_stand_for_the_named_classes(heads, make, teach, digits_lessons):
    learner = teach(make("finetune", heads=heads), [digits_lessons[3], digits_lessons[0]])
    x, _ = digits_lessons[0].validation.batch(slice(5))
    assert learner.columns(0) == [0, 1]
    assert learner.columns(3) == [6, 7]
    assert learner.predict(x, 3).shape == (5, 2)
    if heads != "per-task":
        assert learner.columns() == [6, 7, 0, 1]
        assert torch.equal(learner.predict(x)[:, 2:], learner.predict(x, 0))


def test_heads_of_their_own_need_the_task(make, teach, permuted_lessons):
    learner = teach(make("finetune", heads="per-task"), permuted_lessons[:2])
    assert learner.needs_task
    assert learner.network.rows == 20
    x, _ = permuted_lessons[0].validation.batch(slice(5))
    assert not torch.equal(learner.predict(x, 0), learner.predict(x, 1))
    with pytest.raises(NeedsTask, match="say which task"):
        learner.predict(x)
    with pytest.raises(NeedsTask, match=r"task 3 has not been learned \(learned: 1, 2\)"):
        learner.predict(x, 2)


def test_an_own_head_is_not_touched_by_later_tasks(make, teach, digits_lessons):
    learner = teach(make("finetune", heads="per-task"), digits_lessons[:1])
    head = learner.network.head[:2].detach().clone()
    teach(learner, digits_lessons[1:3])
    assert torch.equal(learner.network.head[:2], head)


def test_a_task_without_samples_is_refused(make, digits_lessons):
    lesson = digits_lessons[0]
    nothing = lesson.train.take(torch.empty(0, dtype=torch.long))
    with pytest.raises(BadData, match=r"task 1 \(empty\) has no training samples"):
        next(make("finetune").learn(Lesson("empty", 0, lesson.classes, nothing, lesson.validation)))


def test_divergence_is_named(make, teach, digits_lessons):
    with pytest.raises(Diverged, match=r"the loss became \w+ at task 1 .*lower the rate \(now 1e\+20\)"):
        teach(make("finetune", optimizer="sgd", rate=1e20, epochs=3), digits_lessons[:1])


def test_wrong_settings_are_refused(make):
    from engram.learners import create

    learner = make("finetune")
    with pytest.raises(BadSetting, match="epochs=0 is out of range; it must be at least 1"):
        make("finetune", epochs=0)
    with pytest.raises(UnknownName, match="setting of learner 'finetune' called 'epoch'; did you mean 'epochs'"):
        create("finetune", learner.outline, 0, learner.blueprint, {"epoch": 3})
    with pytest.raises(UnknownName, match="did you mean 'finetune'"):
        create("finetunes", learner.outline, 0, learner.blueprint, {})


class _Gains(Finetune):
    """A block of gains beside the head, one for each task, which the loss pulls to 1."""

    name = "gains"

    def begin(self, lesson):
        super().begin(lesson)
        name = f"gain.{lesson.index}"
        self.network.append(torch.zeros(3), to=name)
        self.optimiser.fit(len(self.network.theta))

    def loss(self, x, y):
        return super().loss(x, y) + sum((values - 1).square().sum() for values in self.network.appended.values())


def test_blocks_that_a_method_appends_are_trained_saved_and_loaded(make, teach, snapshot, same_state, digits_lessons):
    engram.register(_Gains)
    through = teach(make("gains", heads="masked"), digits_lessons[:2])
    assert [name for name in through.network.blocks if name.startswith("gain")] == ["gain.0", "gain.1"]
    assert all((values > 0).all() for values in through.network.appended.values())
    left = teach(make("gains", heads="masked"), digits_lessons[:1])
    for step in left.learn(digits_lessons[1]):
        if step.done == 3:
            break
    heir = make("gains", heads="masked")
    heir.load(snapshot(left))
    teach(heir, digits_lessons[1:2])
    assert same_state(snapshot(heir), snapshot(through))


class _Through(Finetune):
    """The same loss, written out: it goes through autograd."""

    name = "through"

    def loss(self, x, y):
        return super().loss(x, y)


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_a_plain_loss_needs_no_autograd_and_has_the_same_bits(dropout, make, teach, digits_lessons):
    engram.register(_Through)
    network = Blueprint.of("mlp", widths="12-10", dropout=dropout)
    plain, through = (make(name, network=network, epochs=2) for name in ("finetune", "through"))
    for learner, is_direct in ((plain, True), (through, False)):
        next(learner.learn(digits_lessons[0]))
        assert (learner.fit.material.direct is not None) == is_direct
        teach(learner, digits_lessons[:3])
    assert torch.equal(plain.parameters(), through.parameters())


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("ewc++", {}),
        ("ewc++", {"estimator": "empirical"}),
        ("rwalk", {"exemplars": 5}),
        ("finetune", {"exemplars": 5, "loss_over": "task"}),
        ("finetune", {"heads": "masked", "loss_over": "seen"}),
        ("icarl", {}),
        ("icarl", {"exemplar_budget": 12, "mixing": "balanced"}),
    ],
)
def test_methods_that_need_no_autograd_have_the_same_bits_with_it(name, settings, make, teach, digits_lessons):
    direct, through = (make(name, **settings) for _ in range(2))
    through.can_be_direct = lambda: False
    for learner in (direct, through):
        next(learner.learn(digits_lessons[0]))
        assert (learner.fit.material.direct is not None) == (learner is direct)
        teach(learner, digits_lessons[:3])
    assert torch.equal(direct.parameters(), through.parameters())
    assert all(torch.equal(direct.kept[key], through.kept[key]) for key in through.kept)


def test_a_loss_that_is_not_plain_is_not_taken_for_one(make, teach, digits_lessons):
    weighted, own = make("finetune", class_weighted=True), make("finetune")
    gap = teach(make("icarl", heads="masked"), digits_lessons[2:3])  # outputs that no class was seen of lie between
    own.loss = lambda x, y: own.network.training_scores(x, own.active).square().mean()
    for learner in (weighted, own, gap):
        next(learner.learn(digits_lessons[0]))
        assert learner.fit.material.direct is None
