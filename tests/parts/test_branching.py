"""A distribution over paths, by hand; and samples of one batch that each go their own way."""

from __future__ import annotations

import math

import pytest
import torch

from engram.networks import Blueprint
from engram.parts.branching import NEW, Distribution, SharedModules, way
from engram.parts.candidates import Recipe
from engram.parts.library import Library
from engram.randomness import generator

ONE_SOURCE = [[NEW, NEW, NEW], [0, NEW, NEW], [0, 0, NEW], [0, 0, 0]]  # of three layers, the head included
TWO_SOURCES = [[NEW, NEW], [0, NEW], [1, NEW], [0, 0], [1, 1]]


def library(network, shape, paths=1):
    """One with paths of random modules."""
    made = Library(Blueprint.of(network[0], **network[1]), shape, 0)
    for task in range(paths):
        fresh = made.fresh(torch.zeros(2, made.features + 1))
        fresh.theta.copy_(torch.randn(len(fresh.theta), generator=generator(0, "test", task)))
        made.add(task, (), fresh)
    return made


def test_ways_of_plans():
    assert way(Recipe("branch", (), 0), 3) == [NEW, NEW, NEW]
    assert way(Recipe("branch", (4, 2), 2), 3) == [4, 2, NEW]
    assert way(Recipe("whole", (4, 2, 1)), 3) == [4, 2, 1]


@pytest.mark.parametrize(
    "ways, by_node",
    [
        (ONE_SOURCE, [1 / 2, 1 / 4, 1 / 8, 1 / 8]),
        (ONE_SOURCE[:3], [1 / 2, 1 / 4, 1 / 4]),
        (TWO_SOURCES, [1 / 3, 1 / 6, 1 / 6, 1 / 6, 1 / 6]),
    ],
)
def test_at_first_all_plans_have_equal_chances_or_all_choices_at_a_node(ways, by_node):
    assert Distribution(ways, 0.1).probabilities().tolist() == pytest.approx([1 / len(ways)] * len(ways))
    assert Distribution(ways, 0.1, by_node=True).probabilities().tolist() == pytest.approx(by_node)


def test_a_step_of_reinforce_by_hand():
    """Two nodes of two choices; Adam's first step has the size of its rate and the sign of the gain's gradient."""
    made = Distribution([[NEW, NEW], [0, NEW], [0, 0]], 0.1, by_node=True)
    plans, rewards = torch.tensor([0, 1, 2]), torch.tensor([1.0, 0.0, -1.0])
    before = made.logits.clone()
    made.reinforce(plans, rewards, entropy_weight=0.0)
    up = made.logits - before  # edges: new or old at the first node, then at the second
    assert up.sign().tolist() == [1, -1, 1, -1]
    assert up.abs().tolist() == pytest.approx([0.1] * 4, rel=1e-4)


def test_the_gradient_of_reinforce_by_value():
    """E[(r − mean r) ∇ log Γ] + weight · mean over nodes of ∇ entropy, at nodes of three, two and two choices. A logit
    raises log Γ of a plan that comes to its node: by whether it takes the choice, less the chance of that."""
    made, steps = Distribution(TWO_SOURCES, 0.1), []
    made.logits = torch.tensor([0.3, -0.2, 0.5, 0.1, 0.4, -0.3, 0.2])
    made.optimiser.step = lambda logits, gradient, part: steps.append(-gradient)
    plans, rewards, weight = torch.tensor([0, 3, 3, 2]), torch.tensor([3.0, 1.0, 2.0, 4.0]), 0.7
    made.reinforce(plans, rewards, weight)
    chances = [part.softmax(0).tolist() for part in made.logits.split([3, 2, 2])]
    takes = {0: {0: 0}, 1: {0: 1, 1: 0}, 2: {0: 2, 2: 0}, 3: {0: 1, 1: 1}, 4: {0: 2, 2: 1}}  # node: choice, by plan
    expected = []
    for node, own in enumerate(chances):
        entropy = -sum(p * math.log(p) for p in own)
        for choice, p in enumerate(own):
            gain = -weight * p * (math.log(p) + entropy) / len(chances)
            for plan, reward in zip(plans.tolist(), (rewards - rewards.mean()).tolist(), strict=True):
                if node in takes[plan]:
                    gain += reward * ((takes[plan][node] == choice) - p) / len(plans)
            expected.append(gain)
    assert steps[0].tolist() == pytest.approx(expected, abs=1e-6)


def test_it_finds_the_best_plan_and_entropy_keeps_it_from_being_sure():
    def after(entropy_weight):
        made = Distribution(ONE_SOURCE, 0.05)
        for step in range(200):
            plans = made.draw(64, generator(0, "draw", step))
            made.reinforce(plans, (plans == 2).float(), entropy_weight)
        return made.probabilities()[2].item()

    assert after(0.0) > 0.95
    assert after(3.0) < 0.6


@pytest.mark.parametrize(
    "network, shape", [(("mlp", {"widths": "5-4"}), (6,)), (("ctrl-resnet", {"width": 2}), (3, 8, 8))]
)
def test_samples_of_one_batch_go_their_own_ways(network, shape):
    """As the same samples do alone: frozen modules to the place where they branch, new ones behind it."""
    made = library(network, shape)
    count = len(made.layers)
    ways = [[0] * kept + [NEW] * (count - kept) for kept in range(count + 1)]
    shared = SharedModules(made, ways, torch.randn(2, made.features + 1, generator=generator(0, "rows")))
    x = torch.randn(3 * (count + 1), *shape, generator=generator(0, "x"))
    plans = torch.arange(len(x)) % (count + 1)
    with torch.no_grad():
        found = shared.scores(x, plans)
        for sample, plan in enumerate(plans.tolist()):
            h = x[sample : sample + 1]
            for layer, name in enumerate(made.layers[:-1]):
                if layer < plan:
                    h = made.apply(layer, 0, h)
                else:
                    h = h if layer else shared.network.trunk.laid_out(h)
                    for each in shared.network.trunk.modules_by_name[name]:
                        h = each(h)
            expected = made.scores(0, h) if plan == count else shared.network.scores(h)
            assert torch.allclose(found[sample], expected[0], atol=1e-4, rtol=1e-4)


def test_only_new_modules_get_a_gradient_and_only_from_their_samples():
    made = library(("mlp", {"widths": "5-4"}), (6,))
    shared = SharedModules(made, ONE_SOURCE, torch.randn(2, 5, generator=generator(0, "rows")))
    x, network = torch.randn(8, 6, generator=generator(0, "x")), shared.network
    before = {name: value.clone() for name, value in made.tensors().items()}
    network.backward(shared.scores(x, torch.full((8,), 2), training=True).sum())
    assert not network.grad[: network.trunk_size].any()
    assert network.head_grad.all()
    network.backward(shared.scores(x, torch.tensor([1, 2] * 4), training=True).sum())
    assert not network.grad[network.blocks["layer1"]].any()
    assert network.grad[network.blocks["layer2"]].any()
    assert all(torch.equal(before[name], value) for name, value in made.tensors().items())


def test_operations_of_a_batch():
    """Six samples: two new from the start, two from the second layer on, one with a new head, one whole."""
    made = library(("mlp", {"widths": "5-4"}), (6,))
    shared = SharedModules(made, ONE_SOURCE, torch.zeros(2, 5))
    first, second, head = 2 * 6 * 5, 2 * 5 * 4, 2 * 4 * 2
    plans = torch.tensor([0, 0, 1, 1, 2, 3])
    shared.scores(torch.zeros(6, 6), plans)
    assert shared.operations == 6 * (first + second + head)
    shared.operations = 0
    shared.scores(torch.zeros(6, 6), plans, training=True)
    old = 4 * first + 2 * second + head
    assert shared.operations == old + 3 * (2 * first + 4 * second + 5 * head)
