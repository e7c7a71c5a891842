from __future__ import annotations

from engram.demo import LEARNERS, SEEDS, demo_runs


def test_eight_learners_on_two_streams_with_three_seeds():
    runs = demo_runs()
    asked = {(run.stream.spec["name"], run.learner, run.seed) for run in runs}
    assert len(LEARNERS) == 8
    assert asked == {
        (stream, learner, seed)
        for stream in ("split-digits@1", "permuted-digits@1")
        for learner in LEARNERS
        for seed in SEEDS
    }
    assert len({run.key for run in runs}) == len(runs) == 48


def test_learners_are_compared_under_the_same_reading_where_the_classes_are_split():
    assert {run.head for run in demo_runs() if run.stream.spec["kind"] == "split"} == {"multi"}
