"""A command that a report shows asks for the very runs that it was made from: their keys are the same."""

from __future__ import annotations

import shlex

import numpy as np
import pytest

from engram.errors import BadSetting
from engram.reports.commands import command
from engram.request import Request
from engram.streams import from_arrays

ASKED = {
    "plain": ("split-digits", "ewc", {}),
    "settings": ("permuted-digits", "si", {"tasks": 3, "settings": {"strength": 0.1, "widths": "12-8", "batch": 32}}),
    "uneven": ("split-digits", "ridge", {"settings": {"sizes": "4-3-3", "order": "seeded"}}),
    "reading": ("split-digits", "finetune", {"head": "multi", "curve": [0, 1, 5], "evaluate": "last"}),
    "references": ("incremental-digits", "ridge", {"references": True, "offline": "base", "stream_seed": 3}),
    "offline": ("incremental-digits", "ridge", {"offline": "seen"}),
    "grid": ("split-digits", "ewc", {"protocol": "task-level", "settings": {"rate": [0.1, 0.01], "validation": 0.2}}),
    "networks": ("d5-5a-digits", "finetune", {"protocol": "realistic", "settings": {"widths": ["8-8", "9-9"]}}),
    "held out": ("split-digits", "finetune", {"settings": {"stop": "patience"}}),
    "network": ("split-digits", "finetune", {"network": "resnet18-reduced", "settings": {"width": 2}}),
    "two": ("concat-digits+blobs", "finetune", {}),
}


@pytest.fixture
def keys_of(engram, monkeypatch):
    """The keys of the runs that a command wants trained, without training them."""
    wanted = []

    def look(runs, *_):
        wanted.extend(run.key for run in runs)
        raise BadSetting("enough")

    monkeypatch.setattr("engram.execute.execute", look)

    def keys_of(line):
        program, *words = shlex.split(line)
        assert program == "engram"
        assert engram(*words).err == "engram: enough\n"
        return wanted

    return keys_of


@pytest.mark.parametrize("name", ASKED)
def test_a_command_asks_for_the_same_runs(keys_of, name):
    stream, learner, more = ASKED[name]
    runs = Request(stream, learner, **more).runs([0, 1, 2])
    assert keys_of(command([run.to_json() for run in runs])) == [run.key for run in runs]


def test_a_dataset_of_ones_own_is_named_by_its_file(keys_of, tmp_path):
    x, y = np.arange(80, dtype=np.float32).reshape(20, 4), np.arange(20) % 4
    path = tmp_path / "it's mine.npz"
    np.savez(path, x_train=x, y_train=y, x_test=x + 0.5, y_test=y)
    runs = Request("split", "ridge", dataset=str(path), tasks=2).runs([0])
    line = command([run.to_json() for run in runs])
    assert f"--dataset {shlex.quote(str(path))}" in line
    assert keys_of(line) == [run.key for run in runs]


def test_code_of_ones_own_is_named_by_its_place(keys_of, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from engram.learners.finetune import Finetune\nclass Mine(Finetune):\n    name = 'mine'\n"
    )
    runs = Request("split-digits", f"{tmp_path}/mine.py:Mine").runs([4, 7])
    line = command([run.to_json() for run in runs])
    assert "mine.py:Mine --head single --seeds 4,7" in line
    assert keys_of(line) == [run.key for run in runs]


def test_what_lived_in_a_program_has_no_command():
    x, y = np.zeros((4, 2), dtype=np.float32), np.array([0, 1, 0, 1])
    stream = from_arrays([(x, y, x, y)])
    assert command([Request(stream, "ridge").run().to_json()]) is None
