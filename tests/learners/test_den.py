"""DEN: what is selected, added, let go of, split and given back."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from engram.learners.den import EXPAND, RETRAIN, SELECT, SETTLE


@pytest.fixture
def second(make, teach, digits_lessons):
    """A learner of one task, and the stages of its second one, at the beginning of each."""

    def second(**settings):
        learner = teach(make("den", **{"epochs": 2, "rate": 0.01, **settings}), digits_lessons[:1])
        stages, networks = [], {}
        for _ in learner.learn(digits_lessons[1]):
            if learner.stage not in networks:
                stages.append(learner.stage)
                networks[learner.stage] = [layer.weight.data.clone() for layer in learner.layers()]
        return learner, stages, networks

    return second


def test_a_later_task_goes_through_all_stages(second):
    learner, stages, _ = second(loss_threshold=0)
    assert stages == [SELECT, RETRAIN, EXPAND, SETTLE]
    notes = learner.notes()
    assert notes["added"] == [12, 12]  # the quick setting of `units`
    grown = [12 + notes["kept"][0] + notes["split"][0], 10 + notes["kept"][1] + notes["split"][1]]
    assert notes["units"] == list(learner.widths) == grown


def test_a_loss_below_the_threshold_adds_nothing(second):
    learner, stages, _ = second(loss_threshold=10)
    assert stages == [SELECT, RETRAIN, SETTLE]
    assert learner.notes()["added"] == [0, 0]


def test_every_unit_that_drifts_is_split_and_none_where_nothing_may(second):
    everything, _, _ = second(split_threshold=0, loss_threshold=10, drift=0)
    assert everything.notes()["split"] == everything.notes()["selected"]
    nothing, _, _ = second(split_threshold=1e6, loss_threshold=10)
    assert nothing.notes()["split"] == [0, 0]
    assert nothing.widths == (12, 10)


def test_the_penalty_holds_the_drift_back(second):
    def moved(drift):
        _, _, networks = second(drift=drift, split_threshold=0, loss_threshold=0)
        both = zip(networks[EXPAND], networks[SELECT], strict=True)
        return sum((after[: len(was), : was.shape[1]] - was).norm().item() for after, was in both)

    assert 0 < moved(5.0) < moved(0.0)


def test_a_copy_reads_of_copies_and_old_units_get_their_weights_back(make, teach, digits_lessons):
    """By hand: both layers drift in one unit each, which are split."""
    learner = teach(make("den", epochs=1), digits_lessons[:1])
    list(zip(range(1), learner.learn(digits_lessons[1])))  # begun, and left
    old = [layer.weight.data.clone() for layer in learner.layers()]
    learner.layers()[0].weight.data[3] += 1
    learner.layers()[1].weight.data[5] += 1
    learner.network.head.data.fill_(2.0)
    learner._split()
    first, layer = (each.weight.data for each in learner.layers())
    assert learner.widths == (13, 11)
    assert torch.equal(first[:12], old[0])
    assert torch.equal(first[12], old[0][3] + 1)
    assert torch.equal(layer[:10, :12], old[1])
    assert not layer[:10, 12].any()
    assert layer[10, 3] == 0
    assert layer[10, 12] == old[1][5, 3] + 1
    assert layer[10, 4] == old[1][5, 4] + 1
    assert learner.network.head.data[:, 5].tolist() == [0, 0]
    assert learner.network.head.data[:, 10].tolist() == [2, 2]


def test_selection_follows_weights_that_are_not_zero(make, teach, digits_lessons):
    learner = teach(make("den", epochs=1), digits_lessons[:1])
    learner.network.head.data[:, :-1] = 0
    learner.network.head.data[0, 4] = 1
    learner.layers()[1].weight.data[4] = 0
    learner.layers()[1].weight.data[4, [2, 7]] = 1
    learner._select()
    assert learner.selected == [[2, 7], [4]]
    learner.kept["before"] = learner.network.theta[: learner.network.trunk_size].clone()
    learner.stage = RETRAIN
    mask = learner.moving()
    first, last = learner.layers()
    assert mask[learner.network.span(last.weight)].nonzero().flatten().tolist() == [4 * 12 + 2, 4 * 12 + 7]
    assert mask[learner.network.span(first.bias)].nonzero().flatten().tolist() == [2, 7]


def test_a_strong_group_lasso_lets_go_of_every_added_unit(second):
    learner, _, _ = second(group=1.0, loss_threshold=0, split_threshold=1e6)
    assert learner.notes()["kept"] == [0, 0]
    assert learner.widths == (12, 10)


def test_the_first_task_is_plain_training_with_proximal_steps(make, digits_lessons, teach):
    learner = teach(make("den", epochs=2, l1=0.01, l2=0.0, rate_decay=1.0, rate=0.01), digits_lessons[:1])
    plain = make("den", epochs=2)
    theta = [p.detach().clone().requires_grad_() for p in plain.network.trunk.parameters()]
    names = [(0, label) for label in digits_lessons[0].classes]
    head = plain._initial_rows([(None, label) for _, label in names]).view(2, 11).requires_grad_()
    adam = torch.optim.Adam([*theta, head], lr=0.01)
    lesson = digits_lessons[0]
    for number in range(2):
        for index in learner_order(plain, lesson, number):
            x, y = lesson.train.batch(index)
            hidden = F.relu(F.linear(F.relu(F.linear(x.flatten(1), *theta[:2])), *theta[2:]))
            scores = F.linear(hidden, head[:, :-1], head[:, -1])
            adam.zero_grad()
            F.binary_cross_entropy_with_logits(scores, F.one_hot(y, 10)[:, :2].float()).backward()
            adam.step()
            for values in (theta[0], theta[2], head.data[:, :-1]):
                values.data.copy_(values.data.sign() * (values.data.abs() - 0.01).clamp(min=0))
    for ours, theirs in zip(learner.network.trunk.parameters(), theta, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-5)


def learner_order(learner, lesson, number):
    learner.data = lesson.train
    return learner.epoch(lesson, number)


@pytest.fixture
def begun(make, teach, digits_lessons):
    """A learner at the start of its second task, which knows no other penalties than are given."""

    def begun(**settings):
        learner = teach(make("den", epochs=1, **settings), digits_lessons[:1])
        next(learner.learn(digits_lessons[1]))
        return learner

    return begun


def test_the_rate_falls_after_every_epoch(make, digits_lessons):
    rates = {
        schedule: [
            learner.optimiser.rate
            for learner in [make("den", epochs=3, rate=0.01, rate_decay=0.5, schedule=schedule)]
            for step in learner.learn(digits_lessons[0])
            if step.done
        ]
        for schedule in ("constant", "linear")
    }
    count = len(rates["constant"])
    per_epoch = count // 3
    falling = [0.01] * per_epoch + [0.005] * per_epoch + [0.0025] * per_epoch
    assert rates["constant"] == pytest.approx(falling)
    assert rates["linear"] == pytest.approx([rate * (1 - step / count) for step, rate in enumerate(falling)])


def test_what_pulls_at_a_retrained_weight_by_hand(begun):
    """The plain gradient, the decay of all weights and the drift; of what is not selected nothing."""
    learner = begun(l2=0.1, drift=0.5)
    network, held = learner.network, slice(learner.network.trunk_size)
    learner.stage = RETRAIN
    learner.mask = torch.arange(len(network.theta)).float() % 2
    moved = network.theta[held] + 0.25
    network.theta[held] = moved
    network.grad.fill_(2.0)
    learner.edit()
    expected = (2.0 + 0.1 * network.theta) * learner.mask
    expected[held] += 0.5 * 0.25 * learner.mask[held]
    assert torch.allclose(network.grad, expected, atol=1e-6)


def test_a_proximal_step_of_added_units_by_hand(begun):
    learner = begun(group=0.1)
    learner.widen([2, 2], 1)
    learner.stage = EXPAND
    first, _ = learner.layers()
    first.weight.data[12:] = 0
    first.weight.data[12, :2] = torch.tensor([0.3, 0.4])
    first.weight.data[13, 0] = 0.05
    old = first.weight.data[:12].clone()
    learner.after_step()
    assert first.weight.data[12, :2].tolist() == pytest.approx([0.3 * 0.8, 0.4 * 0.8])
    assert not first.weight.data[13].any()
    assert torch.equal(first.weight.data[:12], old)


def test_the_loss_that_decides_is_the_mean_over_outputs_and_samples(begun, digits_lessons):
    learner, lesson = begun(), digits_lessons[1]
    x, y = lesson.train.batch(slice(None))
    with torch.no_grad():
        scores = learner.network.scores(learner.network.features(x), learner.active)
    wanted = torch.stack([y == label for label in lesson.classes], 1).float()
    chances = scores.sigmoid()
    expected = -(wanted * chances.log() + (1 - wanted) * (1 - chances).log()).mean()
    assert learner._loss(lesson) == pytest.approx(expected.item(), rel=1e-5)
