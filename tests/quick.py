"""Settings with which learners whose training is not shorter where there is less data learn small lessons quickly."""

from __future__ import annotations

from engram.learners import learner_settings

QUICK = {"generations": 3, "population": 4, "batches": 4, "units": 12, "most_passes": 3, "trials": 2}


def quick(name):
    return {key: value for key, value in QUICK.items() if key in learner_settings(name)}
