"""What a working process notes for whoever looks on."""

from __future__ import annotations

import os

import pytest

from engram.execute import execute, noted, notes
from engram.execute.noted import Noted
from engram.execute.progress import Silence
from engram.request import Request


class Looking(Silence):
    """Looks, whenever it is told of a step, at what the others would see."""

    def __init__(self, folder):
        self.folder, self.seen = folder, []

    def step(self, key, share):
        self.seen += notes(self.folder)


@pytest.fixture
def looked(store, monkeypatch):
    monkeypatch.setattr(noted, "NOTE_SECONDS", 0.0)
    looking = Looking(store.folder)
    runs = Request("split-digits", "finetune", tasks=2, settings={"widths": "8"}).runs([0, 1])
    execute(runs, store, progress=looking)
    return looking.seen, [run.key for run in runs]


def test_others_see_what_is_growing_and_how_far_it_is(looked):
    seen, keys = looked
    assert {tuple(note["runs"]) for note in seen} == {tuple(keys)}
    assert {note["total"] for note in seen} == {4}
    lessons = {(each["run"], each["seed"], each["tasks"][0]) for note in seen for each in note["growing"]}
    assert lessons == {(key, seed, task) for seed, key in enumerate(keys) for task in (1, 2)}
    shares = [each["share"] for note in seen for each in note["growing"] if each["tasks"] == [2] and each["seed"] == 1]
    assert shares == sorted(shares)
    assert 0 <= shares[0] < shares[-1] <= 1
    assert seen[-1]["count"] == 3


def test_nothing_is_left_of_it_in_the_end(looked, store):
    assert notes(store.folder) == []
    assert list((store.folder / "running").iterdir()) == []


def test_a_process_that_was_killed_is_not_taken_for_a_working_one(tmp_path):
    killed, again = (Noted(Silence(), tmp_path, []) for _ in range(2))
    killed.begin(7)
    assert [note["total"] for note in notes(tmp_path)] == [7]
    os.close(killed.lock)  # as the kernel does
    assert notes(tmp_path) == []
    assert len(list((tmp_path / "running").iterdir())) == 2
    again.begin(3)
    assert [note["total"] for note in notes(tmp_path)] == [3]
    assert len(list((tmp_path / "running").iterdir())) == 2
    again.end()


def test_a_note_that_cannot_be_written_stops_nothing(store, monkeypatch):
    (store.folder / "running").write_text("in the way")
    monkeypatch.setattr(noted, "NOTE_SECONDS", 0.0)
    runs = Request("split-digits", "ridge", tasks=2).runs([0])
    execute(runs, store)
    assert [run["status"] for run in store.runs()] == ["done"]


def test_torn_notes_are_passed_over(tmp_path):
    held = Noted(Silence(), tmp_path, [])
    held.begin(1)
    held.place.with_suffix(".json").write_text('{"pid": 1, "beg')
    assert notes(tmp_path) == []
    held.end()
