"""Closed forms on fixed features: what is asked for, what is claimed, and what was looked at."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from engram.core import Cost, Lesson, Row
from engram.papers import paper
from engram.papers.beyond import PERMUTED
from engram.papers.paper import KILOBYTES, Answer
from engram.record import Record
from engram.request import Request
from engram.streams.two_tasks import SPLITS

BEYOND = paper("beyond")


def _experiments(tier="paper", dataset=None):
    return {found.name: found for found in BEYOND.find(None, tier, dataset)}


def _record(accuracy, kilobytes=10.0, minutes=1.0, joint=None):
    cost = Cost({"total": int(1000 * kilobytes)}, 2, 60.0 * minutes / 2)
    rows = [Row(a, a, {}, {}, {}, cost, "0" * 64, union={"single": accuracy}) for a in ((0.99,), (0.99, accuracy))]
    how = ("split-mnist@1", "ridge", "mlp", {}, "sequential", "single", 0, "key", "done", None)
    return Record(*how, tuple(rows), (), joint=None if joint is None else (0.99, joint))


def _verdicts(name, record, only=""):
    found = _experiments()[name]
    answers = [Answer(question, (record,)) for question in found.questions if only in question.label]
    return {verdict.claim: verdict.verdict for verdict in found.verdicts(answers)}


def test_the_whole_is_what_was_promised():
    found = _experiments()
    assert list(found) == ["split", "exemplars", "permuted", "pairs"]
    assert [q.label.split()[-1] for q in found["pairs"].questions] == [*SPLITS, PERMUTED]
    assert all(len(found[name].claims) for name in found)


def test_nothing_is_kept_and_nothing_is_told():
    for question in _experiments("quick")["split"].questions:
        run = Request(**question.run).run(0)
        assert (run.learner, run.head, run.protocol, run.validation) == ("ridge", "single", "sequential", 0)
        assert run.grid[0]["strength"] == 0  # chosen in the first task


def test_pairs_are_strictly_realistic_and_try_nothing():
    for question in _experiments("quick")["pairs"].questions:
        run = Request(**question.run).run(0)
        assert (run.protocol, run.options["strict"], len(run.grid)) == ("realistic", True, 1)
        assert run.policy.sees == {"d1_validation", "d2_validation"}


@pytest.mark.parametrize("accuracy, held", [(0.986, [False, False]), (0.988, [True, False]), (0.991, [True, True])])
def test_the_mark_and_the_goal_are_claims_of_their_own(accuracy, held):
    found = _verdicts("split", dataclasses.replace(_record(2 * accuracy - 0.99)), "patches, mnist")
    marks = [found[f"ridge on patches, mnist: average accuracy ≥ {mark:g}"] == "held" for mark in (0.987, 0.99)]
    assert marks == held


def test_memory_and_minutes_are_claimed_too():
    few, many = _record(0.96, kilobytes=79.2), _record(0.96, kilobytes=101, minutes=5)
    assert Answer(_experiments()["exemplars"].questions[0], (few,)).mean(KILOBYTES) == 79.2
    assert set(_verdicts("exemplars", few).values()) == {"held"}
    assert _verdicts("exemplars", many)["patches: kilobytes ≤ 100"] == "NOT held"
    assert _verdicts("split", many)["ridge on patches, mnist: minutes ≤ 4"] == "NOT held"


@pytest.mark.parametrize("joint, verdict", [(0.98, "held"), (0.9801, "NOT held")])
def test_a_single_sample_lost_is_a_loss(joint, verdict):
    found = _verdicts("pairs", _record(0.98, joint=joint))
    assert next(said for claim, said in found.items() if "at once is no better" in claim) == verdict


def test_another_dataset_claims_nothing():
    assert not any(found.claims for found in _experiments(dataset="fashion-mnist").values())


def test_learning_two_tasks_is_learning_both_at_once_to_the_bit(make, teach, digits_lessons):
    """What the third column of `pairs` says of accuracies is true of every parameter."""
    settings = {"map": "filters", "filters": 8, "features": 100}
    one_by_one = teach(make("ridge", **settings), digits_lessons[:2])
    at_once = teach(make("ridge", **settings), [Lesson.union(digits_lessons[:2])])
    assert torch.equal(one_by_one.parameters(), at_once.parameters())
