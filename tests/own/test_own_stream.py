"""A stream of one's own: a function, by its place or as it is."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

import engram
from engram.errors import BadData, BadSetting, UnknownName
from engram.store import Store
from engram.streams import rebuild, stream

CLOUDS = """
    import numpy as np
    import engram

    def clouds(seed=0, tasks=3, spread=1.0):
        draw = np.random.default_rng(seed)
        def part(classes, count):
            y = np.repeat(classes, count)
            return y[:, None] * 3 + spread * draw.normal(size=(len(y), 4)), y
        return engram.from_arrays([(*part([2 * k, 2 * k + 1], 20), *part([2 * k, 2 * k + 1], 9)) for k in range(tasks)])
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "streams.py").write_text(textwrap.dedent(CLOUDS))
    return tmp_path


def test_its_parameters_are_options_and_the_seed_is_the_runs(folder):
    record = engram.run("streams.py:clouds", "ridge", features=20, tasks=2, spread=0.5, seed=3)
    assert record.stream == "clouds"
    assert len(record.rows) == 2
    assert record.stream_spec["options"] == {"tasks": 2, "spread": 0.5}
    assert record.stream_spec["seed"] == 3


def test_workers_make_it_again_with_the_same_bits(folder):
    pooled = engram.run("streams.py:clouds", "ridge", features=20, seeds=[0, 1], jobs=2)
    assert [r.parameters_sha256 for r in pooled] == [
        engram.run("streams.py:clouds", "ridge", features=20, seed=seed).parameters_sha256 for seed in (0, 1)
    ]


def test_an_edited_function_is_another_stream(folder):
    before = engram.run("streams.py:clouds", "ridge", features=20, store="store")
    (folder / "streams.py").write_text(textwrap.dedent(CLOUDS).replace("* 3 +", "* 4 +"))
    with pytest.warns(UserWarning, match="streams.py has changed since these runs; training again"):
        after = engram.run("streams.py:clouds", "ridge", features=20, store="store")
    assert before.parameters_sha256 != after.parameters_sha256


def test_it_is_rebuilt_from_its_spec_or_refused(folder):
    made = stream("streams.py:clouds", seed=1)
    assert rebuild(made.spec).digest() == made.digest()
    (folder / "streams.py").write_text(textwrap.dedent(CLOUDS) + "\n# edited\n")
    with pytest.raises(BadSetting, match="streams.py has changed since this was asked for"):
        rebuild(made.spec)


def test_data_that_changed_behind_its_back_are_noticed(folder):
    np.save("x.npy", np.eye(4))
    (folder / "filed.py").write_text(
        "import numpy as np, engram\n\n"
        "def filed():\n    x, y = np.load('x.npy'), np.arange(4) % 2\n    return engram.from_arrays([(x, y, x, y)])\n"
    )
    made = stream("filed.py:filed")
    np.save("x.npy", 2 * np.eye(4))
    with pytest.raises(BadData, match="are not those that stream 'filed' was made from"):
        rebuild(made.spec)


def test_a_function_itself_and_by_name():
    def one_task():
        x, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 2
        return engram.from_arrays([(x, y, x, y)], name="mine")

    assert engram.run(one_task, "ridge", features=9).stream == "mine"
    engram.register(one_task, kind="stream")
    assert engram.run("one_task", "ridge", features=9).stream == "mine"


def test_what_is_wrong_is_said(folder):
    def nothing():
        return None

    with pytest.raises(BadData, match="stream 'nothing' returned a NoneType; return what engram.from_arrays gives"):
        engram.run(nothing, "ridge")
    with pytest.raises(UnknownName, match="there is no setting of learner 'ridge', its network, its stream"):
        engram.run("streams.py:clouds", "ridge", spraed=2)
    with pytest.raises(engram.errors.EngramError, match="streams.py has no class 'cloud'; choose one of: clouds"):
        engram.run("streams.py:cloud", "ridge")
    with pytest.raises(UnknownName, match="dataset"):
        engram.run("streams.py:clouds", "ridge", dataset="digits")


def test_a_stream_of_a_running_program_is_trained_here(tmp_path):
    def mine():
        x, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 2
        return engram.from_arrays([(x, y, x, y)])

    with pytest.warns(UserWarning, match="the stream of ridge on mine are in this process only"):
        engram.run(mine, "ridge", features=9, seeds=[0, 1], jobs=2, store=tmp_path)
    store = Store(tmp_path)
    assert [run["status"] for run in store.runs()] == ["done", "done"]
    store.close()
