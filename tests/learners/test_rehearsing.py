"""Exemplars for any gradient learner: what is kept, what is trained on, with which weights."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from engram.checks import assert_learner
from engram.core import Split
from engram.costs import itemise
from engram.errors import BadSetting
from engram.learners import learner_settings, learners
from engram.networks import Blueprint
from engram.parts.exemplars import SAMPLING, mof
from engram.transform import Transform

REHEARSING = [
    name for name, cls in learners().items() if "exemplars" in learner_settings(name) and name != "exemplars-only"
]


def halfway(learner, lesson, steps=2):
    """Let a learner stand inside a lesson."""
    for step in learner.learn(lesson):
        if step.done >= steps:
            return learner
    raise AssertionError("the lesson was too short")


def uneven(lesson, first=10):
    """The lesson with only so many samples of its first class."""
    y = lesson.train.y
    rows = torch.cat([(y == lesson.classes[0]).nonzero()[:first, 0], (y == lesson.classes[1]).nonzero()[:, 0]])
    return replace(lesson, train=lesson.train.take(rows))


def test_finetune_and_the_penalties_can_rehearse():
    assert {"finetune", "ewc", "online-ewc", "si"} <= set(REHEARSING)
    assert not {"joint", "independent", "new-head", "new-leg"} & set(REHEARSING)


@pytest.mark.parametrize("settings", [{}, {"sampling": "entropy", "mixing": "balanced"}])
def test_without_exemplars_nothing_is_kept(settings, make, teach, digits_lessons, snapshot, same_state):
    plain = snapshot(teach(make("finetune"), digits_lessons[:3]))
    other = snapshot(teach(make("finetune", exemplars=0, **settings), digits_lessons[:3]))
    assert same_state(plain, other)
    assert not any(name.startswith("exemplars") for name in plain.tensors)
    assert "exemplars" not in plain.plain


def test_the_first_lesson_is_the_same_with_exemplars(make, teach, digits_lessons):
    plain, rehearsing = (teach(make("finetune", exemplars=m), digits_lessons[:1]) for m in (0, 4))
    assert torch.equal(plain.parameters(), rehearsing.parameters())


@pytest.mark.parametrize("name", ["ewc", "online-ewc", "si"])
def test_without_strength_a_penalty_with_exemplars_is_finetune_with_exemplars(name, make, teach, digits_lessons):
    settings = {"exemplars": 3, "class_weighted": True, "mixing": "balanced"}
    reference = teach(make("finetune", **settings), digits_lessons[:3])
    learner = teach(make(name, strength=0, **settings), digits_lessons[:3])
    assert torch.equal(learner.parameters(), reference.parameters())
    assert torch.equal(learner.rehearsal.memory.split().x, reference.rehearsal.memory.split().x)


@pytest.mark.parametrize("sampling", SAMPLING)
def test_every_way_of_choosing_keeps_distinct_samples_of_the_right_class(sampling, make, teach, digits_lessons):
    learner = teach(make("finetune", exemplars=5, sampling=sampling), digits_lessons[:3])
    assert learner.rehearsal.memory.counts() == dict.fromkeys(range(6), 5)
    for lesson in digits_lessons[:3]:
        for label in lesson.classes:
            own = lesson.train.raw((lesson.train.y == label).nonzero()[:, 0])
            kept = learner.rehearsal.memory.of(label).raw(slice(None))
            places = {int((own == x).flatten(1).all(1).nonzero()[0, 0]) for x in kept}
            assert len(places) == 5


def test_herding_uses_the_features_at_the_end_of_the_lesson(make, teach, digits_lessons):
    lesson = digits_lessons[0]
    learner = teach(make("finetune", exemplars=6), [lesson])
    own = lesson.train.take((lesson.train.y == 1).nonzero()[:, 0])
    with torch.no_grad():
        features = learner.network.features(own.batch(slice(None))[0])
    assert torch.equal(learner.rehearsal.memory.of(1).raw(slice(None)), own.raw(mof(features, 6)))


def test_exemplars_are_never_revised(make, teach, digits_lessons):
    learner = teach(make("finetune", exemplars=4), digits_lessons[:1])
    before = learner.rehearsal.memory.split().x.clone()
    teach(learner, digits_lessons[1:3])
    assert torch.equal(learner.rehearsal.memory.split().x[:8], before)


def test_their_bytes_are_in_the_ledger(make, teach, digits_lessons):
    learner = teach(make("si", exemplars=4), digits_lessons[:3])
    assert itemise(learner.state())["exemplars"] == 6 * 4 * (64 + 8)


def test_more_exemplars_than_samples_are_all_of_them(make, teach, digits_lessons):
    lesson = uneven(digits_lessons[0], first=3)
    learner = teach(make("finetune", exemplars=10), [lesson])
    assert learner.rehearsal.memory.counts() == {0: 3, 1: 10}
    everything = teach(make("finetune", exemplars=10_000), [lesson, digits_lessons[1]])
    assert len(everything.rehearsal.memory) == len(lesson.train) + len(digits_lessons[1].train)


def test_a_class_without_samples_has_no_exemplars(make, teach, digits_lessons):
    lesson = replace(digits_lessons[0], classes=(0, 1, 2))
    assert teach(make("finetune", exemplars=2), [lesson]).rehearsal.memory.counts() == {0: 2, 1: 2}


@pytest.mark.parametrize("sampling", SAMPLING)
def test_tasks_of_one_class(sampling, make, teach, digits_lessons):
    lessons = []
    for label in (0, 1):
        rows = (digits_lessons[0].train.y == label).nonzero()[:, 0]
        train = digits_lessons[0].train.take(rows)
        lessons.append(replace(digits_lessons[0], index=label, classes=(label,), train=train))
    learner = teach(make("finetune", exemplars=3, sampling=sampling), lessons)
    assert learner.rehearsal.memory.counts() == {0: 3, 1: 3}


def test_a_budget_is_shared_and_old_sets_keep_their_first(make, teach, digits_lessons):
    learner = make("finetune", exemplar_budget=20)
    sizes, firsts = [], []
    for lesson in digits_lessons[:3]:
        teach(learner, [lesson])
        sizes.append(learner.rehearsal.memory.counts())
        firsts.append(learner.rehearsal.memory.of(0).raw(slice(None)))
    assert sizes == [{0: 10, 1: 10}, dict.fromkeys(range(4), 5), dict.fromkeys(range(6), 3)]
    assert torch.equal(firsts[2], firsts[0][:3])


def test_a_budget_below_one_a_class_is_refused_before_training(make, teach, digits_lessons, snapshot, same_state):
    learner = teach(make("finetune", exemplar_budget=3), digits_lessons[:1])
    before = snapshot(learner)
    with pytest.raises(BadSetting, match=r"exemplar_budget=3 is less than one for each of the 4 classes.*at least 4"):
        teach(learner, digits_lessons[1:2])
    assert same_state(snapshot(learner), before)


def back(lessons, *tasks):
    """Lessons of these classes, with samples of all of them."""
    whole = Split.join([lesson.train for lesson in lessons])
    for index, classes in enumerate(tasks):
        rows = torch.isin(whole.y, torch.tensor(classes)).nonzero()[:, 0]
        yield replace(lessons[0], index=index, classes=classes, train=whole.take(rows))


def test_a_budget_is_shared_by_classes_however_often_they_come(make, teach, digits_lessons):
    lessons = list(back(digits_lessons, (0, 1), (1, 2), (1, 3)))
    learner, sets = make("finetune", exemplar_budget=12), []
    for lesson in lessons:
        teach(learner, [lesson])
        sets.append(dict(zip(learner.rehearsal.memory.sets(), learner.rehearsal.memory.sizes, strict=True)))
    assert sets[1] == {(0, 0): 4, (0, 1): 2, (1, 1): 2, (1, 2): 4}
    assert sets[2] == {(0, 0): 3, (0, 1): 1, (1, 1): 1, (1, 2): 3, (2, 1): 1, (2, 3): 3}


def test_a_budget_of_one_a_class_has_the_newest_of_it(make, teach, digits_lessons):
    lessons = back(digits_lessons, (0, 1, 2, 3), (0, 1, 2, 3))
    learner = teach(make("finetune", exemplar_budget=5), lessons)
    assert learner.rehearsal.memory.sets() == [(1, label) for label in range(4)]


def test_settings_that_contradict_or_do_not_exist(make):
    with pytest.raises(BadSetting, match="exemplars=2 came with exemplar_budget=10; give only one"):
        make("finetune", exemplars=2, exemplar_budget=10)
    with pytest.raises(BadSetting, match=r"sampling='random' is not possible; choose one of: uniform, plane-distance"):
        make("finetune", sampling="random")
    with pytest.raises(BadSetting, match="exemplars=-1 is out of range"):
        make("finetune", exemplars=-1)


# What a lesson is trained on.


def test_concat_goes_through_all_samples_and_exemplars_once_an_epoch(make, teach, digits_lessons):
    learner = halfway(teach(make("finetune", exemplars=4), digits_lessons[:1]), digits_lessons[1])
    assert len(learner.data) == 90 + 8
    assert learner.steps_per_epoch() == 7
    assert sorted(torch.cat(list(learner.epoch(digits_lessons[1], 0))).tolist()) == list(range(98))
    _, y = learner.data.batch(slice(None))
    assert torch.bincount(y)[:2].tolist() == [4, 4]


def test_balanced_batches_are_half_exemplars_drawn_in_rounds(make, teach, digits_lessons):
    lesson = digits_lessons[1]
    learner = halfway(teach(make("finetune", exemplars=4, mixing="balanced"), digits_lessons[:1]), lesson)
    assert learner.steps_per_epoch() == 6
    batches = learner.epoch(lesson, 0)
    assert [len(batch) for batch in batches] == [32, 32, 32, 32, 32, 20]
    new = torch.cat([batch[batch < 90] for batch in batches])
    kept = torch.cat([batch[batch >= 90] for batch in batches])
    assert sorted(new.tolist()) == list(range(90))
    for start in range(0, 88, 8):
        assert sorted(kept[start : start + 8].tolist()) == list(range(90, 98))
    assert [int((batch >= 90).sum()) for batch in batches] == [16, 16, 16, 16, 16, 10]


@pytest.mark.parametrize("mixing", ["concat", "balanced"])
def test_rehearsing_prevents_forgetting(mixing, make, teach, digits_lessons):
    def first_task(**settings):
        learner = teach(make("finetune", epochs=20, rate=0.01, **settings), digits_lessons[:3])
        x, y = digits_lessons[0].validation.batch(slice(None))
        columns = torch.tensor(learner.columns())
        return (columns[learner.predict(x).argmax(1)] == y).float().mean()

    assert first_task(exemplars=10, mixing=mixing) > first_task() + 0.3


def test_a_class_that_comes_back_is_rehearsed_as_it_was(make, teach, permuted_lessons):
    learner = teach(make("finetune", exemplars=2), permuted_lessons)
    assert learner.rehearsal.memory.counts() == dict.fromkeys(range(10), 6)


# Weights.


def test_class_weights_by_hand(make, teach, digits_lessons):
    """4 + 4 exemplars beside 10 and some samples: weights N / (K · count), which have a mean of 1."""
    lesson = uneven(digits_lessons[1], first=10)
    rest = len(lesson.train) - 10
    learner = teach(make("finetune", exemplars=4, class_weighted=True), digits_lessons[:1])
    halfway(learner, lesson)
    total = 10 + rest + 8
    by_hand = [total / (4 * count) for count in (4, 4, 10, rest)]
    assert learner.criterion.weights.tolist() == pytest.approx(by_hand)
    _, y = learner.data.batch(slice(None))
    assert learner.criterion.weights[learner.places[y]].mean() == pytest.approx(1)


def test_class_weights_of_balanced_batches_are_by_what_is_presented(make, teach, digits_lessons):
    """Half of what an epoch presents are the two old classes: with equal new ones every weight is 1."""
    lesson = digits_lessons[1]
    rows = torch.cat([(lesson.train.y == label).nonzero()[:40, 0] for label in lesson.classes])
    lesson = replace(lesson, train=lesson.train.take(rows))
    learner = teach(make("finetune", exemplars=4, class_weighted=True, mixing="balanced"), digits_lessons[:1])
    halfway(learner, lesson)
    assert learner.criterion.weights.tolist() == pytest.approx([1, 1, 1, 1])


def test_the_weighted_loss_by_hand(make, digits_lessons):
    lesson = uneven(digits_lessons[0], first=10)
    learner = halfway(make("finetune", class_weighted=True), lesson)
    x, y = lesson.train.batch(torch.arange(5, 15))
    losses = F.cross_entropy(learner.predict(x), y, reduction="none")
    weights = torch.tensor([len(lesson.train) / 20, len(lesson.train) / (2 * (len(lesson.train) - 10))])
    assert learner.loss(x, y).item() == pytest.approx(float((losses * weights[y]).mean()), rel=1e-5)


def test_equal_classes_have_equal_weights(make, teach, digits_lessons):
    lesson = uneven(digits_lessons[0], first=40)
    rows = torch.cat([(lesson.train.y == label).nonzero()[:40, 0] for label in lesson.classes])
    lesson = replace(lesson, train=lesson.train.take(rows))
    plain, weighted = (teach(make("finetune", class_weighted=on), [lesson]) for on in (False, True))
    assert torch.allclose(plain.parameters(), weighted.parameters(), atol=1e-6)


# What importance is measured by.


class Listening:
    """Gradients that a learner sees at each step."""

    def __init__(self, learner):
        self.plain, self.weighted, inner = [], [], learner.edit

        def edit():
            self.plain.append(learner.plain_grad.clone())
            self.weighted.append(learner.network.grad.clone())
            inner()

        learner.edit = edit


@pytest.mark.parametrize("network", [None, Blueprint.of("rwalk-cnn", dropout=0)])
def test_plain_statistics_are_of_the_unweighted_loss(network, make, digits_lessons):
    """The first step: what finetune without weights would see, while the step itself is the weighted one."""
    lesson = uneven(digits_lessons[0])
    learner = make("si", class_weighted=True, network=network)
    reference, weighted = make("finetune", network=network), make("finetune", class_weighted=True, network=network)
    heard = [Listening(each) for each in (learner, reference, weighted)]
    for each in (learner, reference, weighted):
        halfway(each, lesson, steps=1)
    mine, plain, weights = heard
    assert torch.allclose(mine.plain[0], plain.weighted[0], atol=1e-7)
    assert torch.equal(mine.weighted[0], weights.weighted[0])
    assert not torch.allclose(mine.plain[0], mine.weighted[0], atol=1e-4)
    assert torch.equal(learner.parameters(), weighted.parameters())


def test_weighted_statistics_and_unweighted_losses_need_no_second_pass(make, digits_lessons):
    for settings in ({"class_weighted": True, "statistics": "weighted"}, {"class_weighted": False}):
        learner = halfway(make("si", **settings), digits_lessons[0])
        assert learner.plain_grad is learner.network.grad
    costs = [halfway(make("si", class_weighted=on), digits_lessons[0]).flops() for on in (False, True)]
    assert costs[1] == costs[0] // 3 * 5


def test_only_methods_that_measure_importance_in_training_have_the_setting():
    assert "statistics" in learner_settings("si")
    assert "statistics" not in learner_settings("finetune")


# Softmax over a task's labels.


@pytest.mark.parametrize(
    "settings", [{"loss_over": "task"}, {"heads": "per-task"}, {"heads": "masked", "loss_over": "task"}]
)
def test_an_exemplar_is_judged_among_the_labels_of_its_own_task(settings, make, teach, digits_lessons):
    learner = halfway(teach(make("finetune", exemplars=4, **settings), digits_lessons[:1]), digits_lessons[1])
    for task in (0, 1):
        x, y = digits_lessons[task].train.batch(torch.arange(12))
        by_hand = F.cross_entropy(learner.predict(x, task), y - 2 * task)
        assert learner.loss(x, learner.places[y]).item() == pytest.approx(by_hand.item(), rel=1e-5)
    teach(learner, digits_lessons[1:3])
    assert learner.rehearsal.memory.counts() == dict.fromkeys(range(6), 4)


@pytest.mark.parametrize("name", ["finetune", "si", "er"])
@pytest.mark.parametrize("heads", ["growing", "masked"])
def test_a_class_that_comes_back_is_judged_in_the_task_that_a_sample_is_of(name, heads, make, teach, digits_lessons):
    """Of an old sample by the outputs that its own task has, and not by those of the last task with its class."""
    lessons = list(back(digits_lessons, (0, 1), (1, 2), (3, 4)))
    keeps = {"memory": 5} if name == "er" else {"exemplars": 5}
    learner = teach(make(name, heads=heads, loss_over="task", **keeps), lessons[:2])
    heir = make(name, heads=heads, loss_over="task", **keeps)
    heir.load(learner.state())
    halfway(heir, lessons[2])
    if name == "er":
        drawn = heir.replay.draw(20, torch.Generator().manual_seed(0))
        heir.replay.draw = lambda *_: drawn
        x, y = heir._beside(drawn[0][:0], drawn[1][:0])
        tasks, labels = drawn[2].tolist(), [heir.outputs.names[row][1] for row in drawn[1]]
    else:
        x, y = heir.data.batch(slice(len(lessons[2].train), None))
        y = heir.places[y]
        tasks, labels = [0] * 10 + [1] * 10, [0] * 5 + [1] * 10 + [2] * 5
    assert {(0, 1), (1, 1)} <= set(zip(tasks, labels, strict=True))
    for k, (task, label) in enumerate(zip(tasks, labels, strict=True)):
        wanted = F.cross_entropy(heir.predict(x[k : k + 1], task), torch.tensor([heir.columns(task).index(label)]))
        scores = heir.network.scores(heir.network.features(x[k : k + 1]))
        assert heir.criterion(scores, y[k : k + 1]).item() == pytest.approx(wanted.item(), rel=1e-5)
        assert heir.criterion.with_gradient(scores, y[k : k + 1])[0].item() == pytest.approx(wanted.item(), rel=1e-5)


@pytest.mark.parametrize("settings", [{"class_weighted": True}, {"mixing": "balanced"}])
def test_new_samples_of_a_class_that_comes_back_are_judged_in_the_present_task(settings, make, teach, digits_lessons):
    lessons = list(back(digits_lessons, (0, 1), (1, 2)))
    learner = teach(make("finetune", exemplars=5, loss_over="task", **settings), lessons[:1])
    halfway(learner, lessons[1])
    x, y = lessons[1].train.batch(slice(None))
    by_hand = F.cross_entropy(learner.predict(x, 1), y - 1, reduction="none")
    weights = learner.criterion.weights
    by_hand = by_hand if weights is None else by_hand * weights[y]
    assert learner.loss(x, learner.places[y]).item() == pytest.approx(by_hand.mean().item(), rel=1e-5)
    assert weights is None or weights.shape == (3,)


def test_own_heads_and_classes_that_come_back_do_not_go_together(make, teach, permuted_lessons):
    learner = teach(make("finetune", exemplars=2, heads="per-task"), permuted_lessons[:1])
    with pytest.raises(BadSetting, match="class 0 comes back in task 2"):
        teach(learner, permuted_lessons[1:2])


# Resuming.

VARIANTS = [
    {"exemplars": 3},
    {"exemplars": 3, "sampling": "entropy", "mixing": "balanced", "class_weighted": True},
    {"exemplar_budget": 13, "sampling": "plane-distance", "class_weighted": True, "statistics": "weighted"},
    {"exemplars": 2, "sampling": "uniform", "loss_over": "task", "class_weighted": True},
    {"exemplars": 2, "heads": "per-task", "mixing": "balanced"},
]


@pytest.mark.parametrize("name", ["finetune", "ewc", "si"])
@pytest.mark.parametrize("settings", VARIANTS)
def test_a_killed_learner_goes_on_with_the_same_bits(name, settings, make, teach, snapshot, same_state, digits_lessons):
    def fresh():
        return make(name, network=Blueprint.of("mlp", widths="8", dropout=0.2), epochs=2, **settings)

    through, learner = teach(fresh(), digits_lessons[:3]), fresh()
    for lesson in digits_lessons[:3]:
        for stop in (0, 7, 12):
            halfway(learner, lesson, stop)
            heir = fresh()
            heir.load(snapshot(learner))
            learner = heir
        teach(learner, [lesson])
    assert same_state(snapshot(learner), snapshot(through))


def test_centred_exemplars_are_rehearsed_as_they_were(make, teach, snapshot, digits_lessons):
    shift = torch.rand(1, 8, 8, generator=torch.Generator().manual_seed(0))
    lessons = []
    for lesson in digits_lessons[:2]:
        train = Split(lesson.train.x, lesson.train.y, lesson.train.rows, Transform(scale=1 / 16, shift=shift))
        lessons.append(replace(lesson, train=train))
    first = teach(make("finetune", exemplars=4), lessons[:1])
    heir = make("finetune", exemplars=4)
    heir.load(snapshot(first))
    for learner in (first, heir):
        teach(learner, lessons[1:])
    assert torch.equal(first.parameters(), heir.parameters())
    kept = heir.rehearsal.memory.split()
    assert kept.x.dtype == torch.uint8
    assert torch.equal(kept.batch(slice(None))[0], kept.x.float() / 16 - shift)


@pytest.mark.parametrize("name", ["finetune", "si"])
def test_the_contract_is_kept_with_exemplars(name):
    assert_learner(name, settings={"exemplars": 3, "mixing": "balanced", "class_weighted": True})
