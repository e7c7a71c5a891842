"""GeppNet: against a loop written out plainly, what is novel, what is kept, what is refused."""

from __future__ import annotations

import math

import pytest
import torch

from engram.core import Lesson, Outline, Split
from engram.costs import itemise
from engram.errors import BadData
from engram.learners.geppnet import GeppNet

SMALL = {"map_side": 7, "base_iterations": 300, "later_iterations": 150, "most_passes": 100}


def accuracy(learner, lessons):
    split = Split.join([lesson.validation for lesson in lessons])
    x, y = split.batch(slice(None))
    return (torch.tensor(learner.columns())[learner.predict(x).argmax(1)] == y).float().mean().item()


class WrittenOut:
    """One sample after another, in float64, as the papers print it."""

    def __init__(self, learner):
        self.learner, self.map = learner, None
        self.readout, self.kappa = torch.zeros(learner.map_side**2, 2, dtype=torch.float64), None
        grid = torch.arange(learner.map_side)
        self.places = torch.cartesian_prod(grid, grid).double()

    def see(self, x, target, rate, radius, threshold):
        squares = (x - self.map).square().sum(1)
        best = squares.argmin()
        smallest = squares[best].sqrt()
        if threshold is not None:
            g = torch.exp(-squares / (2 * self.kappa**2))
            z = torch.where(g / g.max() > 0.7, (g / g.max()) ** 10, 0.0)
            y = z @ self.readout
            two = y.topk(2).values
            m = (two[0] - two[1]) * (1 if y.argmax() == target else -1)
            if m >= threshold:
                return
            y[target] -= 1
            self.readout -= 2 * self.learner.readout.rate * torch.outer(z, y)
        self.kappa = smallest if self.kappa is None else self.kappa + 1e-3 * (smallest - self.kappa)
        share = rate * torch.exp(-(self.places - self.places[best]).square().sum(1) / (2 * radius**2))
        self.map += share.unsqueeze(1) * (x - self.map)


class Watched(GeppNet):
    """Notes what it draws."""

    name = "watched"
    drawn: list

    def _draw(self, count, only_new=False):
        x, y = super()._draw(count, only_new)
        self.drawn += zip(x.double(), y.tolist())
        return x, y


def test_it_is_the_loop_written_out(digits_lessons):
    learner = Watched(Outline((1, 8, 8), tuple(range(10))), **SMALL)
    learner.drawn = []
    plain = WrittenOut(learner)
    for lesson in digits_lessons[:2]:
        for step in learner.learn(lesson):
            if plain.map is None:
                plain.map = learner.map.weights.double()
            done = 64 * step.done
        total, first = (300, 150) if lesson.index == 0 else (150, 75)
        assert done >= total
        for k, (x, target) in enumerate(learner.drawn):
            if lesson.index == 0 and k < first:
                way = k / first
                plain.see(x, target, 0.1 * 0.1**way, 7 / 4 * (0.5 / (7 / 4)) ** way, None)
            else:
                plain.see(x, target, 0.01, 0.5, 0.5 if lesson.index else math.inf)
        assert torch.allclose(learner.map.weights.double(), plain.map, rtol=0, atol=1e-5)
        assert torch.allclose(learner.readout.weights.double(), plain.readout, rtol=0, atol=1e-5)
        assert learner.readout.kappa == pytest.approx(float(plain.kappa), rel=1e-5)
        plain.readout = torch.cat([plain.readout, torch.zeros(49, 2, dtype=torch.float64)], 1)
        learner.drawn = []


def test_it_recognises_digits_and_goes_on(make, teach, digits_lessons):
    old, new = digits_lessons[:4], digits_lessons[4:]
    learner = teach(make("geppnet", map_side=10, most_passes=15), [Lesson.union(old)])
    assert accuracy(learner, old) > 0.8
    teach(learner, new)
    assert learner.columns() == list(range(10))
    assert accuracy(learner, old) > 0.7
    assert accuracy(learner, new) > 0.25  # where a learner without new outputs has 0


@pytest.mark.parametrize("name", ["geppnet", "geppnet+stm"])
def test_where_nothing_is_novel_nothing_changes(name, make, teach, digits_lessons):
    learner = teach(make(name, threshold=-1e30), digits_lessons[:1])
    weights, readout = learner.map.weights.clone(), learner.readout.weights.clone()
    kappa = learner.readout.kappa
    teach(learner, digits_lessons[1:3])
    assert torch.equal(learner.map.weights, weights)
    assert torch.equal(learner.readout.weights, torch.cat([readout, torch.zeros(len(readout), 4)], 1))
    assert learner.readout.kappa == kappa
    changed = teach(make(name), digits_lessons[:3])
    assert not torch.equal(changed.map.weights, weights)


def test_classes_that_come_back_have_one_output(make, teach, permuted_lessons):
    learner = teach(make("geppnet", map_side=12, most_passes=20), permuted_lessons[:2])
    assert learner.readout.weights.shape == (144, 10)
    assert len(learner.samples) == 300
    assert accuracy(learner, permuted_lessons[1:2]) > 0.5


def test_new_samples_come_first_and_then_any(digits_lessons, teach):
    learner = Watched(Outline((1, 8, 8), tuple(range(10))), **{**SMALL, "replay": 0.4})
    learner.drawn = []
    teach(learner, digits_lessons[:1])
    learner.drawn = []
    teach(learner, digits_lessons[1:2])
    targets = torch.tensor([target for _, target in learner.drawn])
    assert len(targets) == 150
    assert (targets[:90] >= 2).all()
    assert 10 < (targets[90:] < 2).sum() < 50


@pytest.mark.parametrize("passes, steps", [(1000, [6, 4]), (2, [2, 2])])
def test_a_session_of_few_samples_can_be_bounded(passes, steps, digits_lessons):
    learner = GeppNet(Outline((1, 8, 8), tuple(range(10))), **{**SMALL, "most_passes": passes})
    few = [Lesson(one.name, one.index, one.classes, one.train.take(torch.arange(45)), one.validation)
           for one in digits_lessons[:2]]  # fmt: skip
    few[1] = Lesson("few", 1, few[1].classes, few[1].train.take(torch.arange(30)), few[1].validation)
    assert [list(learner.learn(lesson))[-1].total for lesson in few] == steps


def kemker_size(samples, inputs, classes, memory):
    """Kemker et al. count, in numbers, all samples with their labels, 23 × 23 units, readout and short-term memory."""
    return samples * (inputs + 1) + 529 * (inputs + classes) + memory * (inputs + 1)


@pytest.mark.parametrize("name, memory", [("geppnet", 0), ("geppnet+stm", 300)])
def test_what_is_kept_is_the_closed_formula(name, memory, make, teach, digits_lessons):
    learner = teach(make(name), digits_lessons[:3])
    numbers = sum(tensor.numel() for tensor in learner.state().tensors.values())
    assert numbers == kemker_size(samples=270, inputs=64, classes=6, memory=memory)
    assert itemise(learner.state())["samples"] == 270 * (64 + 8)  # pixels stay bytes


@pytest.mark.parametrize(
    "samples, inputs, classes, memory, published",
    [
        (60_000, 784, 10, 0, 190.08),
        (60_000, 784, 10, 300, 191.02),
        (5994, 2048, 10, 0, 53.48),
        (5994, 2048, 10, 300, 55.94),
        (28_779, 1280, 100, 0, 150.38),
        (28_779, 1280, 100, 300, 151.92),
    ],
)
def test_published_sizes(samples, inputs, classes, memory, published):
    """Table 2 of Kemker et al., in MB of four bytes a number; that of CUB has ten outputs and not 200."""
    assert round(4 * kemker_size(samples, inputs, classes, memory) / 1e6, 2) == published


def test_a_first_session_of_one_class_is_refused(make, digits_lessons):
    one = digits_lessons[0]
    alone = one.train.take((one.train.y == 0).nonzero().squeeze(1))
    with pytest.raises(BadData, match=r"task 1 \(digits\) is the first and has 1 class; learner 'geppnet' needs 2"):
        next(make("geppnet").learn(Lesson("digits", 0, (0,), alone, one.validation)))


def test_a_session_of_one_sample_is_refused(make, teach, digits_lessons):
    learner = teach(make("geppnet+stm"), digits_lessons[:1])
    one = digits_lessons[1].train.take(torch.tensor([0]))
    with pytest.raises(BadData, match=r"task 2 \(one\) has 1 of at least 2 .* that learner 'geppnet\+stm'"):
        next(learner.learn(Lesson("one", 1, (2, 3), one, digits_lessons[1].validation)))


def test_samples_that_cannot_be_squared_are_refused(make, digits_lessons):
    lesson = digits_lessons[0]
    large = Split(torch.full((4, 1, 8, 8), 1e30), torch.tensor([0, 1, 0, 1]))
    with pytest.raises(BadData, match="too large to be squared; take them out"):
        next(make("geppnet").learn(Lesson("large", 0, (0, 1), large, lesson.validation)))
