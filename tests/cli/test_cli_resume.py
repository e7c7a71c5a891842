"""What cannot go on here waits, says why, and stops nobody else."""

from __future__ import annotations

import textwrap
from contextlib import closing

import numpy as np
import pytest

import engram as library
from engram.errors import Diverged, Stopped
from engram.learners import LEARNERS
from engram.networks import NETWORKS
from engram.store import Store

MINE = """
    from engram.learners.finetune import Finetune

    class Mine(Finetune):
        name = "mine"
"""

SCALED = """
    from engram.learners.finetune import Finetune

    class Mine(Finetune):
        name = "Mine"

        def end(self, lesson):
            self.network.theta.mul_(FACTOR)
"""

SCALED_NETWORK = """
    import torch

    class Mine(torch.nn.Module):
        def __init__(self, shape, width=6):
            super().__init__()
            self.layer = torch.nn.LazyLinear(width)

        def forward(self, x):
            return FACTOR * self.layer(x.flatten(1))
"""


@pytest.fixture
def interrupted(monkeypatch):
    """Let a run be asked for, and stop it after a few steps."""

    def interrupted(*asked, **more):
        count = iter(range(10**6))

        def check(self):
            if next(count) > 3:
                raise Stopped

        with monkeypatch.context() as patch:
            patch.setattr("engram.execute.progress.Silence.check", check)
            with pytest.raises(Stopped):
                library.run(*asked, store="engram-store", tasks=more.pop("tasks", 2), **more)
        LEARNERS.users.clear()
        NETWORKS.users.clear()

    return interrupted


def statuses():
    store = Store("engram-store")
    found = [run["status"] for run in store.runs()]
    store.close()
    return found


def arrays():
    x, y = np.random.default_rng(0).normal(size=(200, 4)), np.arange(200) % 2
    return library.from_arrays([(x, y, x, y)])


def test_a_run_on_arrays_in_memory_waits(engram, interrupted):
    interrupted(arrays(), "finetune", tasks=None, batch=8)
    said = engram("resume")
    assert said.code == 1
    assert said.out == ""
    assert "1 of the runs in engram-store cannot go on here and waits: stream 'arrays' was made from arrays" in said.err
    assert engram("resume", "--json").json == {"runs": [], "waiting": 1}
    assert statuses() == ["pending"]


def test_a_learner_whose_file_is_gone_waits_for_it(engram, interrupted, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(textwrap.dedent(MINE))
    interrupted("split-digits", "mine.py:Mine", widths="12", batch=32)
    file.rename(tmp_path / "away.py")
    said = engram("resume", "--jobs", "1")
    assert said.code == 1
    assert "waits: there is no file" in said.err
    assert statuses() == ["pending"]
    (tmp_path / "away.py").rename(file)
    said = engram("resume", "--jobs", "1", "--json")
    assert said.code == 0
    whole = library.run("split-digits", "mine.py:Mine", widths="12", batch=32, tasks=2)
    assert said.json["runs"][0]["parameters_sha256"] == whole.parameters_sha256


def test_a_learner_that_was_edited_waits_to_be_asked_for_again(engram, interrupted, tmp_path):
    (tmp_path / "mine.py").write_text(textwrap.dedent(MINE))
    interrupted("split-digits", "mine.py:Mine", widths="12", batch=32)
    (tmp_path / "mine.py").write_text(textwrap.dedent(MINE) + "\n# edited\n")
    said = engram("resume", "--jobs", "1")
    assert "mine.py has changed since this was asked for; ask for it again" in said.err
    assert statuses() == ["pending"]


@pytest.mark.parametrize("text, kind", [(SCALED, "learner"), (SCALED_NETWORK, "network")])
@pytest.mark.parametrize("jobs", [1, 2])
def test_of_two_of_one_name_the_second_waits_for_the_first(engram, interrupted, tmp_path, text, kind, jobs):
    """The first was trained with the code of the second, under a key that nobody had asked for."""

    def asked(folder):
        place = f"{folder}/mine.py:Mine"
        return [{"network": place}, {"learner": place}][kind == "learner"] | {"batch": 32}

    for folder, factor in (("a", "0.5"), ("b", "2.0")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text(textwrap.dedent(text).replace("FACTOR", factor))
        interrupted("split-digits", **{"learner": "finetune"} | asked(folder))
    first = engram("resume", "--jobs", str(jobs), "--json")
    assert (first.code, first.json["waiting"]) == (1, 1)
    assert f"waits: the {kind} 'Mine' of {tmp_path}/b/mine.py:Mine has the name of that of {tmp_path}/a" in first.err
    assert statuses() == ["done", "pending"]
    second = engram("resume", "--jobs", str(jobs), "--json")
    assert (second.code, second.json["waiting"]) == (0, 0)
    assert statuses() == ["done", "done"]
    for folder, said in (("a", first), ("b", second)):
        whole = library.run("split-digits", tasks=2, **{"learner": "finetune"} | asked(folder))
        assert said.json["runs"][0]["parameters_sha256"] == whole.parameters_sha256


def test_what_failed_keeps_its_name_from_nobody(engram, interrupted, tmp_path):
    for folder in "ab":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text(textwrap.dedent(MINE))
        interrupted("split-digits", f"{folder}/mine.py:Mine", widths="12", batch=32)
    with closing(Store("engram-store")) as store:
        store.finish_run(store.runs()[0]["key"], "failed", error=Diverged("the loss became nan"))
    engram("resume", "--jobs", "1")
    assert statuses() == ["failed", "done"]


def test_data_that_is_gone_blocks_its_own_run_only(engram, interrupted, tmp_path):
    x, y = np.random.default_rng(0).normal(size=(200, 4)).astype("float32"), np.arange(200) % 4
    np.savez("own.npz", x=x, y=y)
    interrupted("split", "finetune", dataset="own.npz", batch=8)
    interrupted("split-digits", "finetune", widths="12", batch=32)
    (tmp_path / "own.npz").unlink()
    said = engram("resume", "--jobs", "1")
    assert said.code == 1
    assert "1 of the runs in engram-store cannot go on here and waits: there is no file" in said.err
    assert "split-digits@1" in said.out
    assert statuses() == ["pending", "done"]


def test_code_of_ones_own_from_the_command_line(engram, tmp_path):
    (tmp_path / "mine.py").write_text(textwrap.dedent(MINE))
    words = ("run", "split-digits", "--learner", "mine.py:Mine", "--set", "widths=12", "--tasks", "2", "--seeds", "0,1")
    said = engram(*words, "--jobs", "2", "--json")
    assert said.code == 0, said.err
    assert said.json["learner"] == "mine"
    plain = library.run("split-digits", "finetune", widths="12", tasks=2)
    assert said.json["runs"][0]["parameters_sha256"] == plain.parameters_sha256
    (tmp_path / "mine.py").write_text(textwrap.dedent(MINE) + "    strength = 1\n")
    said = engram(*words, "--jobs", "1")
    assert said.err == "engram: mine.py has changed since these runs; training again\n"
