"""Perceptrons that get more units: what they were stays what it was."""

from __future__ import annotations

import pytest
import torch

import engram
from engram.errors import BadSetting
from engram.networks import Blueprint

LEARNERS = ["den", "rcl"]
X = torch.rand(5, 1, 8, 8, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("name", LEARNERS)
def test_old_tasks_are_predicted_to_the_bit_as_they_were(make, teach, digits_lessons, name):
    learner = make(name, epochs=2, rate=0.01)
    before = []
    for lesson in digits_lessons[:3]:
        teach(learner, [lesson])
        assert learner.changed_by(lesson) == {lesson.index}
        before.append(learner.predict(X, lesson.index))
    assert all(torch.equal(scores, learner.predict(X, task)) for task, scores in enumerate(before))


@pytest.mark.parametrize("name", LEARNERS)
def test_units_that_come_later_do_not_matter_whatever_they_are(make, teach, digits_lessons, name):
    learner = teach(make(name, epochs=2), digits_lessons[:2])
    before = learner.predict(X, 0)
    learner.widen([3, 4], 99)
    for layer, units in zip(learner.layers(), learner.stamps[1], strict=True):
        layer.weight.data[units:] = 7.0
    assert torch.equal(learner.predict(X, 0), before)


def test_new_units_change_nothing_before_they_are_read(make, teach, digits_lessons):
    learner = teach(make("rcl"), digits_lessons[:1])
    before = learner.predict(X, 0)
    old = [layer.weight.data.clone() for layer in learner.layers()]
    learner.widen([3, 2], 1)
    assert learner.widths == (15, 12)
    for new, was in zip(learner.layers(), old, strict=True):
        assert torch.equal(new.weight.data[: len(was), : was.shape[1]], was)
    assert not learner.layers()[1].weight.data[:10, 12:].any()
    learner.network.head.data[:, 10:-1] = 0
    assert torch.allclose(learner.predict(X, 0), before, atol=1e-6)


def test_the_mask_leaves_the_weights_among_old_units_and_nothing_else(make, teach, digits_lessons):
    learner = teach(make("rcl"), digits_lessons[:1])
    learner.widen([1, 2], 1)
    mask = learner.is_new()
    first, second = learner.layers()
    assert mask[learner.network.span(first.weight)].view(13, 64).sum(1).tolist() == [0] * 12 + [64]
    assert mask[learner.network.span(second.weight)].view(12, 13).sum(1).tolist() == [1] * 10 + [13, 13]
    assert mask[learner.network.span(second.bias)].tolist() == [0] * 10 + [1, 1]
    assert mask[learner.network.trunk_size :].all()


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("network", [Blueprint.of("lenet5"), Blueprint.of("mlp", activation="lwta")])
def test_other_networks_are_refused_in_a_sentence(make, name, network):
    with pytest.raises(BadSetting, match=f"learner '{name}' adds single units to full layers.*use network mlp"):
        make(name, network=network)


@pytest.mark.parametrize("name", LEARNERS)
def test_left_in_any_round_it_goes_on_to_the_same_bits(make, teach, digits_lessons, snapshot, same_state, name):
    through = teach(make(name, epochs=1), digits_lessons[:2])
    for stop in range(0, 30, 4):
        learner = teach(make(name, epochs=1), digits_lessons[:1])
        heir = make(name, epochs=1)
        for count, _ in enumerate(learner.learn(digits_lessons[1])):
            if count == stop:
                break
        heir.load(snapshot(learner))
        teach(heir, digits_lessons[1:2] if learner.step is not None else [])
        assert same_state(snapshot(heir), snapshot(through))


def test_new_units_begin_as_in_the_published_code(make, teach, digits_lessons):
    """Weights from a normal distribution of deviation 0.01 that is cut at twice that, which leaves 0.88 of it."""
    learner = teach(make("den"), digits_lessons[:1])
    learner.widen([40, 0], 1)
    first, _ = learner.layers()
    weights = first.weight.data[12:]
    assert weights.abs().max() <= 0.02
    assert weights.std().item() == pytest.approx(0.0088, abs=0.0004)
    assert first.bias.data[12:].tolist() == pytest.approx([0.1] * 40)


@pytest.mark.parametrize(
    "name, settings, said",
    [
        ("den", {}, {"selected", "loss", "added", "kept", "split", "units"}),
        ("rcl", {"trials": 2}, {"actions", "trials", "units"}),
    ],
)
def test_a_record_says_how_the_network_grew(name, settings, said):
    record = engram.run("permuted-digits", name, tasks=2, widths="12-10", epochs=1, validation=0.1, **settings)
    notes = [row.notes for row in record.rows]
    assert notes[0]["units"] == [12, 10]
    assert set(notes[1]) == said
    assert record.to_json()["notes"] == notes
