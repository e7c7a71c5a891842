"""What is written about `auto` in docs/auto.md: by the script that it names, from sessions as they are described."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def script(monkeypatch):
    spec = importlib.util.spec_from_file_location("auto_script", ROOT / "benchmarks" / "auto.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    monkeypatch.setattr(found, "OTHERS", {"ridge": ("ridge", {})})
    return found


def test_sessions_bring_two_classes_each_and_every_row_once(script):
    y = np.array([4, 0, 1, 2, 3, 0, 4])
    parts = list(script.sessions(y))
    assert [sorted(set(y[rows])) for rows in parts] == [[0, 1], [2, 3], [4]]
    assert sorted(np.concatenate(parts)) == list(range(7))
    assert [len(rows) for rows in script.sessions(np.array([0, 1] * 6))] == [3, 3, 3, 3]


def test_a_row_names_what_was_taken_and_the_best_is_bold(script):
    header, _, row = script.table(["wine"], 1)
    assert header == "| dataset | auto took | auto | ridge |"
    assert row.startswith("| wine | slda | ")
    assert row.count("**") in (2, 4)  # two can be equal
    assert float(row.split("|")[3].strip(" *")) > 90


def test_a_test_row_is_never_learned_from(script):
    x, _, asked, _ = script.read("wine", 0)
    assert not {row.tobytes() for row in x} & {row.tobytes() for row in asked}
    assert len(asked) == 178 // 3


def test_the_page_was_written_by_the_script(script):
    text = (ROOT / "docs" / "auto.md").read_text(encoding="utf-8")
    assert script.TEXT in text
    assert "Written by `python benchmarks/auto.py " in text
    assert all(f"| {name} |" in text for name in script.TOYS)
