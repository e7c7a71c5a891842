"""One loop: what a fit does alone it does beside others, left and continued, stopped early or not."""

from __future__ import annotations

from functools import partial

import pytest
import torch
import torch.nn.functional as F

from engram.core import Split, pick
from engram.errors import Diverged
from engram.networks import Blueprint, Outputs
from engram.parts.fit import Fit, Material, Plain, accuracy, lockstep
from engram.parts.stopping import Stopping
from engram.randomness import generator
from engram.settings import declared, resolve

KNOWN = declared(Fit) | declared(Stopping)
PLACES = torch.tensor([0, 1])


def material(lesson):
    def epoch(number):
        return torch.randperm(90, generator=generator(0, "order", number)).split(16)

    return Material("a lesson", lesson.train, PLACES, epoch, 6, partial(generator, 0, "dropout"), sample_flops=7)


def owner(lesson, kind=Plain, widths="12", seed=0, dropout=0.0, **settings):
    network = Blueprint.of("mlp", widths=widths, dropout=dropout).build((1, 8, 8), seed)
    network.append(network.trunk.head_rows(2, generator(seed, "head")))
    made = kind(network, Outputs(0, 2), resolve("fit", KNOWN, settings), lesson.validation)
    made.fit.begin()
    made.fit.use(material(lesson))
    return made


def run(steps):
    return [(step.done, step.total) for step in steps]


def test_it_is_plain_training(digits_lessons):
    lesson = digits_lessons[0]
    made, by_hand = (owner(lesson, optimizer="sgd", rate=0.1, epochs=2) for _ in range(2))
    assert run(made.fit.run()) == [(k, 12) for k in range(13)]
    network, order = by_hand.network, material(lesson).epoch
    for index in (*order(0), *order(1)):
        x, y = lesson.train.batch(index)
        network.backward(F.cross_entropy(network.training_scores(x, Outputs(0, 2)), pick(PLACES, y)))
        network.theta.sub_(0.1 * network.grad)
    assert torch.allclose(made.network.theta, network.theta, atol=1e-6)
    assert made.fit.operations == 2 * 90 * 7


def test_iterations_and_a_falling_rate(digits_lessons):
    made = owner(digits_lessons[0], iterations=4, schedule="linear", rate=0.4)
    rates = [made.fit.optimiser.rate for _ in made.fit.run()]
    assert rates == pytest.approx([0.4, 0.4, 0.3, 0.2, 0.1])


def test_divergence_is_named(digits_lessons):
    made = owner(digits_lessons[0], optimizer="sgd", rate=1e20, epochs=3)
    with pytest.raises(Diverged, match=r"the loss became \w+ at a lesson, step \d+; lower the rate \(now 1e\+20\)"):
        run(made.fit.run())


SEVERAL = [
    {"widths": "12", "dropout": 0.3},
    {"widths": "9-7", "seed": 1, "optimizer": "sgd", "momentum": 0.9, "rate": 0.05},
    {"widths": "5", "seed": 2, "rate": 0.05, "stop": "patience", "patience": 2, "look_every": 1},
]


def test_in_lockstep_each_gets_the_weights_that_it_gets_alone(digits_lessons):
    lesson = digits_lessons[0]
    together, alone = ([owner(lesson, epochs=4, **settings) for settings in SEVERAL] for _ in range(2))
    steps = run(lockstep([made.fit for made in together]))
    for made in alone:
        run(made.fit.run())
    assert steps == [(k, 24) for k in range(25)]
    assert [made.fit.step for made in together] == [made.fit.step for made in alone]
    assert together[2].fit.step < 24
    for one, other in zip(together, alone):
        assert torch.equal(one.network.theta, other.network.theta)
        assert one.fit.operations == other.fit.operations


def test_in_lockstep_a_batch_is_made_once(digits_lessons, monkeypatch):
    asked, batch = [], Split.batch

    def recorded(self, index):
        asked.append(index)
        return batch(self, index)

    owners = [owner(digits_lessons[0], seed=seed) for seed in range(3)]
    monkeypatch.setattr(Split, "batch", recorded)
    run(lockstep([made.fit for made in owners]))
    assert len(asked) == 6


@pytest.mark.parametrize("leave", range(0, 13, 2))
@pytest.mark.parametrize("settings", [{"stop": "patience", "patience": 3, "look_every": 2}, {"optimizer": "nadam"}])
def test_left_anywhere_it_goes_on_to_the_same_bits(leave, settings, digits_lessons):
    lesson, settings = digits_lessons[0], {"epochs": 3, "rate": 0.03, **settings}
    through, left, heir = (owner(lesson, **settings) for _ in range(3))
    expected = run(through.fit.run())
    for step in left.fit.run():
        if step.done == leave:
            break
    heir.network.assign(left.network.theta)
    tensors = {name: value.clone() for name, value in left.fit.tensors().items()}
    heir.fit.load(tensors, left.fit.plain())
    assert tensors == {}
    heir.fit.use(material(lesson))
    assert run(heir.fit.run()) == expected[min(leave, len(expected) - 1) :]
    assert torch.equal(heir.network.theta, through.network.theta)
    assert heir.fit.plain() == through.fit.plain()


class Told(Plain):
    """Its accuracy is as it is told, look by look."""

    def accuracy(self):
        self.seen.append(self.network.theta.clone())
        return self.told[len(self.seen) - 1]


@pytest.mark.parametrize(
    "accuracies, settings, steps, best",
    [
        ((0.5, 0.6, 0.6, 0.6), {"patience": 4, "look_every": 2}, 8, 1),
        ((0.5, 0.6, 0.6, 0.6, 0.6), {"patience": 5, "look_every": 2}, 10, 1),
        ((0.5, 0.6, 0.6, 0.7, 0.1, 0.1), {"patience": 4, "look_every": 2}, 12, 3),
        ((0.5, 0.4), {"patience": 1}, 12, 0),
        ((0.5, 0.4, 0.4), {"patience": 1, "least_epochs": 3}, 18, 0),
        ((0.5, 0.6, 0.7, 0.8), {"patience": 1}, 24, 3),
        ((0.5, 0.4, 0.4), {"patience": 100, "look_every": 10}, 24, 0),
        ((0.0, 0.0), {"patience": 1}, 12, 0),
        ((0.5, 0.1, 0.1, 0.1, 0.1, 0.1, 0.5, 0.4, 0.4), {"patience": 11, "look_early": True}, 12, 0),
        ((0.5, 0.6, 0.1, 0.1, 0.1, 0.1, 0.7, 0.4, 0.4, 0.4), {"patience": 12, "look_early": True}, 18, 6),
        ((0.5, 0.6, 0.1), {"patience": 1, "look_early": True}, 2, 1),
        ((0.5, 1.0), {"patience": 4, "look_every": 2, "stop_at": 1.0}, 4, 1),
        ((0.5, 0.9, 0.9), {"patience": 2, "look_every": 2, "stop_at": 1.0}, 6, 1),
        ((0.95,), {"patience": 4, "look_every": 2, "stop_at": 0.9, "least_epochs": 2}, 2, 0),
    ],
)
def test_patience_and_the_best_state(accuracies, settings, steps, best, digits_lessons):
    made = owner(digits_lessons[0], Told, stop="patience", epochs=4, **settings)
    made.told, made.seen = accuracies, []
    assert run(made.fit.run())[-1] == (steps, steps)
    assert len(made.seen) == len(accuracies)
    assert torch.equal(made.network.theta, made.seen[best])
    assert made.fit.stopping.tensors() == {}


def test_accuracy_is_over_the_given_outputs(digits_lessons):
    made = owner(digits_lessons[0], epochs=5, rate=0.01)
    run(made.fit.run())
    made.network.append(torch.full((1, made.network.row_size), 50.0))  # an output that is not asked for
    x, y = digits_lessons[0].validation.batch(slice(None))
    expected = (made.network.scores(made.network.features(x))[:, :2].argmax(1) == y).double().mean().item()
    assert accuracy(made.network, digits_lessons[0].validation, Outputs(0, 2), PLACES) == expected > 0.8


@pytest.mark.parametrize("name", ["independent", "mntdp-d"])
def test_what_is_good_enough_before_its_first_step_takes_none(name, make, digits_lessons, snapshot, same_state):
    settings = {"stop": "patience", "stop_at": 0.01, "look_early": True, "epochs": 2, "rate": 0.01}
    learner = make(name, **settings)
    fresh = learner.parameters().clone()
    steps = list(learner.learn(digits_lessons[0]))
    assert steps[-1].done == steps[-1].total == 0
    assert name == "mntdp-d" or torch.equal(learner.parameters()[: len(fresh)], fresh)
    again = make(name, **settings)
    running = again.learn(digits_lessons[0])
    next(running)
    heir = make(name, **settings)
    heir.load(snapshot(again))
    list(heir.learn(digits_lessons[0]))
    assert same_state(snapshot(heir), snapshot(learner))
