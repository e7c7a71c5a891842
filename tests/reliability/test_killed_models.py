"""A model that is killed in the middle of every save: the old or the new one is there, whole, and can be updated."""

from __future__ import annotations

import os
import signal

import numpy as np
from forking import Ticks, run_child

import engram
from engram.estimator import updating

SESSIONS, MOMENTS = 20, 6


def test_twenty_sessions_each_killed_in_its_save(tmp_path):
    """Before and after fsync, rename and fsync of the folder, in turn."""
    path = tmp_path / "model.engram"
    draw = np.random.default_rng(0)
    x, y = draw.normal(size=(SESSIONS + 1, 3, 4)), np.arange(3)
    engram.ContinualClassifier("slda").partial_fit(x[0], y).save(path)
    expected = 1
    for session in range(1, SESSIONS + 1):
        moment = 1 + session % MOMENTS

        def killed(session=session, moment=moment):
            ticks = Ticks(("write", moment))
            os.fsync, os.replace = ticks.around("write", os.fsync), ticks.around("write", os.replace)
            with updating(path) as model:
                model.partial_fit(x[session], y)

        assert run_child(killed) == -signal.SIGKILL
        expected += moment > MOMENTS // 2
        model = engram.load(path)
        assert model.counts_.tolist() == [expected] * 3
        assert len(model.history_) == expected
        assert np.isfinite(model.predict_proba(x[session])).all()
    with updating(path) as model:
        model.partial_fit(x[0], y)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
