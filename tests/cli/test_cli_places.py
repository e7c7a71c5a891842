"""Figures and pages that cannot be written: exit code 2 and a sentence, before anything is trained."""

from __future__ import annotations

import os

import pytest

RUN = ("run", "split-digits", "--learner", "finetune", "--tasks", "2", "--set", "widths=12", "--jobs", "1")
PAPER = ("paper", "permuted-mnist", "--seeds", "0", "--jobs", "1")
PLACES = ["file/f.png", "file/deeper/f.png", "folder.png", f"{'x' * 300}.png", "/proc/f.png", "/proc/new/f.png"]


@pytest.fixture
def here(engram, tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.png").mkdir()
    return sorted(os.listdir())


@pytest.mark.parametrize("figure", PLACES)
@pytest.mark.parametrize("words", [RUN, ("demo",)], ids=["run", "demo"])
def test_a_figure_that_cannot_be_written(engram, here, words, figure):
    said = engram(*words, "--figure", figure)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"engram: --figure '{figure}' cannot be written (")
    assert said.err.endswith("choose another place\n")
    assert sorted(os.listdir()) == here


@pytest.mark.parametrize("folder", ["file", "file/deeper", "x" * 300, "/proc/pages"])
def test_a_page_that_cannot_be_written(engram, here, folder):
    said = engram(*PAPER, "--write", folder)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"engram: --write '{folder}' cannot be written (")
    assert sorted(os.listdir()) == here


def test_show_looks_before_it_prints(train, engram, here):
    key = train("split-digits", "finetune", "--tasks", "2", "--json").json["runs"][0]["key"]
    said = engram("show", key, "--figure", "file/f.png")
    assert (said.code, said.out) == (2, "")


def test_looking_leaves_nothing_behind_and_new_folders_are_made(train, tmp_path):
    said = train("split-digits", "finetune", "--tasks", "2", "--figure", "new/deep/f.png")
    assert said.code == 0, said.err
    assert [p.name for p in (tmp_path / "new").rglob("*")] == ["deep", "f.png"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_figure_for_which_there_is_no_room(train, engram):
    os.symlink("/dev/full", "full.png")
    said = train("split-digits", "finetune", "--tasks", "2", "--figure", "full.png")
    assert said.code == 2
    assert "full.png" in said.err
    assert said.err.count("\n") == 1
