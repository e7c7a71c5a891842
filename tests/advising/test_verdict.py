from dataclasses import replace

import pytest

from engram.advising.candidates import NOTHING, RETRAINED, Budget, Tryout, candidates
from engram.advising.trials import Trial
from engram.advising.verdict import Advice, Evidence
from engram.reports.recommendation import headline


def trial(seed, validation, test, size=1000, latency=1e-3):
    sessions = len(test)
    return Trial(seed, validation, test, (size,) * sessions, (0.1,) * sessions, latency)


def evidence(candidate, scores, validation=None, **costs):
    """`scores` by seed, after each of two sessions; the choice sees the same numbers unless others are given."""
    chosen_by = validation or scores
    return Evidence(
        candidate,
        tuple(
            trial(seed, ((v[0],), (v[1],) * 2), ((s[0],), (s[1],) * 2), **costs)
            for seed, (s, v) in enumerate(zip(scores, chosen_by, strict=True))
        ),
    )


A, B = Tryout("a", {"learner": "a"}), Tryout("b", {"learner": "b"})
LOW, HIGH = [(0.5, 0.50), (0.5, 0.51), (0.5, 0.49)], [(0.9, 0.90), (0.9, 0.92), (0.9, 0.91)]


def advice(*found, **budget):
    return Advice(found, ("one.csv", "two.csv"), Budget(**budget))


def test_what_is_recommended_is_chosen_by_validation_rows_and_not_by_test_rows():
    best_in_test = evidence(A, HIGH, validation=LOW)
    best_in_validation = evidence(B, LOW, validation=HIGH)
    assert advice(best_in_test, best_in_validation).recommended.label == "b"


def test_of_equals_the_smallest_is_recommended():
    assert advice(evidence(A, HIGH, size=2000), evidence(B, HIGH, size=500)).recommended.label == "b"


def test_a_choice_by_the_past_is_judged_by_the_next_session():
    early = evidence(A, [(0.9, 0.3)] * 3)
    late = evidence(B, [(0.8, 0.7)] * 3)
    (past_choice,) = advice(early, late).past_choices
    assert (past_choice.session, past_choice.chosen, past_choice.best) == (1, "a", "b")
    assert (past_choice.score, past_choice.best_score) == (pytest.approx(0.3), pytest.approx(0.7))


def growing(candidate, scores, sizes):
    found = evidence(candidate, scores)
    return Evidence(candidate, tuple(replace(each, bytes=sizes) for each in found.trials))


def test_a_choice_by_the_past_does_not_know_that_a_model_will_be_too_large():
    found = advice(growing(A, HIGH, (500, 2000)), growing(B, LOW, (900, 900)), memory=1000)
    assert found.recommended.label == "b"
    (past_choice,) = found.past_choices
    assert (past_choice.chosen, past_choice.best) == ("a", "a")


def test_of_equals_the_past_takes_the_one_that_was_the_smallest_then():
    (past_choice,) = advice(growing(A, HIGH, (500, 2000)), growing(B, HIGH, (900, 900))).past_choices
    assert past_choice.chosen == "a"


@pytest.mark.parametrize("budget, costs", [({"memory": 999}, {"size": 1000}), ({"latency": 1e-3}, {"latency": 2e-3})])
def test_what_does_not_keep_to_the_budget_is_not_recommended(budget, costs):
    small = {"size": 10, "latency": 1e-4}
    assert advice(evidence(A, HIGH, **costs), evidence(B, LOW, **small), **budget).recommended.label == "b"
    found = advice(evidence(A, HIGH, **costs), evidence(NOTHING, LOW, **small), **budget)
    assert found.recommended is None
    assert found.verdicts == ["nothing that was tried fits the budget; give it more room, or more time"]


def test_floors_are_never_recommended_and_are_beaten_or_not():
    found = advice(
        evidence(A, LOW), evidence(NOTHING, [(0.1, 0.1), (0.1, 0.12), (0.1, 0.09)]), evidence(RETRAINED, HIGH)
    )
    assert found.recommended.label == "a"
    nothing, retrained = found.verdicts
    assert nothing.startswith("better than finetune")
    assert retrained.startswith("no method was shown to be better than retraining here: joint")
    assert "worse" in retrained


def test_two_draws_tell_nothing():
    found = advice(evidence(A, HIGH[:2]), evidence(NOTHING, LOW[:2]))
    assert "n too small to tell" in found.verdicts[0]


def test_room_decides_how_many_samples_are_kept():
    assert [c.label for c in candidates(Budget(memory=8000), 100, 4) if "exemplars" in c.parameters] == [
        "finetune exemplars=5",
        "icarl exemplars=5",
        "exemplars-only exemplars=5",
    ]


@pytest.mark.parametrize("budget", [Budget(samples=False), Budget(memory=700)])
def test_no_sample_is_kept_where_none_may_be_or_has_room(budget):
    assert not [c for c in candidates(budget, 100, 4) if "exemplars" in c.parameters]


def test_an_accuracy_is_said_to_be_the_mean_over_sessions():
    found = Evidence(A, (trial(0, ((0.5,), (0.5, 0.5)), ((1.0,), (1.0, 0.5))),))
    assert "a, right on 75.0% of held-out rows (mean over sessions), in" in headline(advice(found))
