"""kill -9 at any moment: the run that is started again ends with the same bits."""

from __future__ import annotations

import os
import random
import signal
import time

import pytest
from forking import KINDS, Ticks, ending, facts, fork, run_child, watched
from quick import QUICK

from engram.learners import learner_settings, learners
from engram.request import prepare

SMALL = {"batch": 48, "features": 30, "fisher_samples": 50, "epochs": 1, **QUICK, "most_passes": 1}


def small(learner):
    return {name: value for name, value in SMALL.items() if name in learner_settings(learner)}


def small_run(learner, **more):
    settings = {"widths": "12-10", "dropout": 0.1, **small(learner)}
    return prepare("split-digits", learner, tasks=5, curve=(0, 1, 3), settings=settings, **more)


def uninterrupted(run, folder):
    ticks = Ticks()
    watched(run, folder, ticks)
    return facts(run, folder), ticks.seen


@pytest.mark.parametrize("learner", learners())
def test_a_run_killed_in_each_kind_of_moment_ends_with_the_same_bits(learner, tmp_path):
    run, chance = small_run(learner), random.Random(learner)
    expected, moments = uninterrupted(run, tmp_path / "whole")
    assert all(moments.values())
    for kind in chance.sample(KINDS, len(KINDS)):
        folder = tmp_path / f"killed in {kind}"
        moment = (kind, chance.randint(1, moments[kind]))
        assert run_child(lambda: watched(run, folder, Ticks(moment))) == -signal.SIGKILL, moment  # noqa: B023
        assert run_child(lambda: watched(run, folder, Ticks())) == 0  # noqa: B023
        assert facts(run, folder) == expected, moment
        assert not any(path.name.startswith(".writing") for path in folder.rglob("*"))


def test_a_run_killed_again_and_again_still_arrives(tmp_path):
    """Every life is killed after a few steps and saves on the way; all together they get to the end."""
    run = small_run("ewc")
    expected, _ = uninterrupted(run, tmp_path / "whole")
    lives = 0
    while run_child(lambda: watched(run, tmp_path / "killed", Ticks(("learn", 4)))) == -signal.SIGKILL:
        lives += 1
        assert lives < 100
    assert lives >= 10
    assert facts(run, tmp_path / "killed") == expected


def test_kills_by_the_clock_change_nothing(tmp_path):
    run, chance = small_run("si"), random.Random(1)
    began = time.monotonic()
    expected, _ = uninterrupted(run, tmp_path / "whole")
    whole_seconds, killed = time.monotonic() - began, 0
    for number in range(8):
        folder = tmp_path / str(number)
        child = fork(lambda: watched(run, folder, Ticks()))  # noqa: B023
        time.sleep(chance.uniform(0, whole_seconds))
        os.kill(child, signal.SIGKILL)
        killed += ending(child) == -signal.SIGKILL
        assert run_child(lambda: watched(run, folder, Ticks())) == 0  # noqa: B023
        assert facts(run, folder) == expected
    assert killed >= 4


@pytest.mark.parametrize("protocol", ["task-level", "stream-level"])
def test_a_killed_selection_chooses_the_same(protocol, tmp_path):
    settings = {**small("ewc"), "widths": "12-10", "rate": [0.01, 0.0001], "strength": [1, 1000]}
    run, chance = prepare("split-digits", "ewc", tasks=2, protocol=protocol, settings=settings), random.Random(2)
    expected, moments = uninterrupted(run, tmp_path / "whole")
    for kind in ("learn", "commit"):
        moment = (kind, chance.randint(1, moments[kind]))
        assert run_child(lambda: watched(run, tmp_path / kind, Ticks(moment))) == -signal.SIGKILL  # noqa: B023
        assert run_child(lambda: watched(run, tmp_path / kind, Ticks())) == 0  # noqa: B023
        assert facts(run, tmp_path / kind) == expected


def test_a_run_killed_inside_a_wide_search_chooses_the_same(tmp_path):
    """While paths are screened, and while candidates are compared."""
    settings = {**small("mntdp-d"), "widths": "12-10", "search": "wide", "screen_steps": 4, "epochs": 2}
    run = prepare("split-digits", "mntdp-d", tasks=5, settings=settings)
    expected, moments = uninterrupted(run, tmp_path / "whole")
    chance = random.Random(3)
    for number in range(4):
        moment, folder = ("learn", chance.randint(1, moments["learn"])), tmp_path / str(number)
        assert run_child(lambda: watched(run, folder, Ticks(moment))) == -signal.SIGKILL  # noqa: B023
        assert run_child(lambda: watched(run, folder, Ticks())) == 0  # noqa: B023
        assert facts(run, folder) == expected


def test_work_that_was_saved_is_not_done_again(tmp_path):
    """A life that is killed late in a task leaves its position behind: the next takes only the steps that are left."""
    run = small_run("finetune")
    _, moments = uninterrupted(run, tmp_path / "whole")
    late = moments["learn"] - 3
    run_child(lambda: watched(run, tmp_path / "killed", Ticks(("learn", late))))
    rest = Ticks()
    watched(run, tmp_path / "killed", rest)
    assert rest.seen["learn"] <= 5
