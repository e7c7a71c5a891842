"""GeppNet+STM: what goes into the memory, when it sleeps, and who predicts."""

from __future__ import annotations

import pytest
import torch

from engram.core import Outline
from engram.learners.geppnet_stm import GeppNetSTM

OUTLINE = Outline((1, 8, 8), tuple(range(10)))
SMALL = {"map_side": 7, "base_iterations": 300, "later_iterations": 200, "memory_size": 30}


class Watched(GeppNetSTM):
    """Notes how much is held when it sleeps."""

    name = "watched"
    sleeps: list

    def _sleep(self):
        self.sleeps.append(self.memory.held)
        super()._sleep()


def watched(**settings):
    learner = Watched(OUTLINE, **{**SMALL, **settings})
    learner.sleeps = []
    return learner


def test_the_first_session_is_that_of_geppnet(make, teach, digits_lessons):
    one, other = (teach(make(name), digits_lessons[:1]) for name in ("geppnet", "geppnet+stm"))
    assert torch.equal(one.parameters(), other.parameters())


def test_it_learns_asleep_only_and_holds_no_more_than_its_room(teach, digits_lessons):
    learner = teach(watched(sleep_every=80), digits_lessons[:1])
    assert learner.sleeps == [0]
    before, held = learner.parameters().clone(), []
    for step in learner.learn(digits_lessons[1]):
        held.append(learner.memory.held)
        if not learner.sleeps[1:]:
            assert torch.equal(learner.map.weights.flatten(), before[: 49 * 64]), step
    assert max(held) == 30, held
    assert learner.sleeps[1:3] == [30, 30]  # after 80 and 160 samples
    assert len(learner.sleeps) == 4  # and at the end
    assert not torch.equal(learner.map.weights.flatten(), before[: 49 * 64])
    assert learner.memory.held == 0


def test_what_is_known_is_not_put_into_the_memory(teach, digits_lessons):
    learner = teach(watched(threshold=-1e30), digits_lessons[:2])
    assert learner.sleeps == [0, 0]


def test_a_sleep_is_a_shuffled_pass_over_the_memory(teach, digits_lessons):
    learner = teach(watched(sleep_passes=2), digits_lessons[:1])
    x, y = digits_lessons[0].train.batch(slice(0, 5))
    seen = []
    learner._adapt = lambda x, y, rate, threshold: seen.append((x[:, 20].tolist(), y.tolist()))
    learner.memory.push(x.flatten(1), y)
    learner._sleep()
    assert len(seen) == 2
    assert seen[0] != seen[1]
    for pixels, labels in seen:
        assert sorted(zip(pixels, labels)) == sorted(zip(x.flatten(1)[:, 20].tolist(), y.tolist()))


def test_it_goes_on_recognising_digits(make, teach, digits_lessons):
    learner = teach(make("geppnet+stm", map_side=12, most_passes=20, sleep_every=100), digits_lessons)
    x, y = digits_lessons[4].validation.batch(slice(None))
    assert (torch.tensor(learner.columns())[learner.predict(x).argmax(1)] == y).float().mean() > 0.6


@pytest.mark.parametrize("prediction", ["map", "nearest"])
def test_the_nearest_of_memory_and_map_predicts(prediction, teach, digits_lessons):
    learner = teach(watched(prediction=prediction), digits_lessons[:1])
    x, _ = digits_lessons[0].validation.batch(slice(0, 4))
    by_map = learner.predict(x)
    wrong = 1 - by_map.argmax(1)
    learner.memory.push(x.flatten(1)[:2], wrong[:2])  # they lie on themselves: no unit is as near
    found = learner.predict(x)
    assert torch.equal(found[2:], by_map[2:])
    expected = wrong if prediction == "nearest" else by_map.argmax(1)
    assert torch.equal(found[:2].argmax(1), expected[:2])


@pytest.mark.parametrize("sleep_every", [2000, 100])
def test_a_memory_that_predicts_stays_until_the_next_session(sleep_every, teach, digits_lessons):
    learner = teach(watched(prediction="nearest", sleep_every=sleep_every), digits_lessons[:2])
    assert learner.sleeps[-2:] == ([30, 30] if sleep_every == 100 else [0, 30])
    assert learner.memory.held == 30
    next(learner.learn(digits_lessons[2]))
    assert learner.memory.held == 0
