"""A learner as a file: it goes on in another process with the same bits, and a file that is not one is refused."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from quick import quick

import engram
from engram import checkpoint, files
from engram.core import Outline, State
from engram.errors import BadData, BadSetting, BadState, DamagedFile, EngramError
from engram.learner_file import FORMAT, OWNER
from engram.learners import LEARNERS, learners
from engram.networks import Blueprint
from engram.transform import Transform

NETWORK = Blueprint.of("mlp", widths=(12,))
OUTLINE = Outline((1, 8, 8), tuple(range(10)))
OWN = """
from engram.learners.ridge import Ridge


class Own(Ridge):
    name = "own"
"""


def fresh(name, outline=OUTLINE, **settings):
    return learners()[name](outline, 3, NETWORK, **{**quick(name), **settings})


def scores(learner, lesson):
    return learner.predict(lesson.validation.batch(slice(None))[0], lesson.index)


@pytest.mark.parametrize("name", learners())
def test_every_learner_goes_on_as_if_it_had_never_been_saved(
    name, teach, snapshot, same_state, digits_lessons, tmp_path
):
    learner = teach(fresh(name), digits_lessons[:2])
    engram.save(learner, tmp_path / "learner")
    heir = engram.load(tmp_path / "learner")
    assert type(heir) is type(learner)
    assert torch.equal(scores(heir, digits_lessons[1]), scores(learner, digits_lessons[1]))
    for one in (learner, heir):
        teach(one, digits_lessons[2:3])
    assert same_state(snapshot(heir), snapshot(learner))
    assert torch.equal(scores(heir, digits_lessons[0]), scores(learner, digits_lessons[0]))


@pytest.mark.parametrize("name", learners())
def test_every_learner_learns_labels_that_its_outline_does_not_have(
    name, teach, snapshot, same_state, digits_lessons, tmp_path
):
    """As it would have, had it known of them; and after it was saved and loaded too."""
    learner, knowing = (
        teach(fresh(name, Outline((1, 8, 8), classes)), digits_lessons[:1]) for classes in ((0, 1), OUTLINE.classes)
    )
    engram.save(learner, tmp_path / "learner")
    heir = engram.load(tmp_path / "learner")
    for one in (learner, knowing, heir):
        teach(one, digits_lessons[3:4])
    assert learner.columns(3) == [6, 7]
    assert same_state(snapshot(heir), snapshot(learner))
    assert same_state(snapshot(knowing), snapshot(learner))
    engram.save(learner, tmp_path / "opened")
    assert torch.equal(scores(engram.load(tmp_path / "opened"), digits_lessons[3]), scores(learner, digits_lessons[3]))


@pytest.mark.parametrize("name, settings", [("finetune", {"loss_over": "all"}), ("ewc", {}), ("joint", {}), ("si", {})])
def test_outputs_that_are_there_from_the_start_open_at_their_end(name, settings, teach, digits_lessons, tmp_path):
    learner = teach(fresh(name, Outline((1, 8, 8), (0, 1, 2)), heads="masked", **settings), digits_lessons[:1])
    before = learner.parameters().clone()
    engram.save(learner, tmp_path / "learner")
    for one in (learner, engram.load(tmp_path / "learner")):
        teach(one, digits_lessons[1:3])
        assert [label for _, label in one.outputs.names] == [0, 1, 2, 3, 4, 5]
        assert len(one.parameters()) == len(before) + 3 * 13
        assert one.columns() == [0, 1, 2, 3, 4, 5]


def test_it_may_be_in_the_middle_of_a_lesson(teach, digits_lessons, tmp_path):
    learner = fresh("rwalk", epochs=4)
    assert next(step for step in learner.learn(digits_lessons[0]) if step.done == 3)
    engram.save(learner, tmp_path / "learner")
    heir = engram.load(tmp_path / "learner")
    for one in (learner, heir):
        teach(one, digits_lessons[:1])
    assert torch.equal(heir.parameters(), learner.parameters())


def test_settings_names_and_transform_come_along(teach, digits_lessons, tmp_path):
    learner = teach(fresh("ewc", strength=7.0, fisher="sampled"), digits_lessons[:1])
    transform = Transform(1 / 16, shift=torch.ones(1, 1, 1))
    engram.save(learner, tmp_path / "learner", class_names=("zero", "one"), transform=transform)
    engram.save(engram.load(tmp_path / "learner"), tmp_path / "again")
    heir = engram.load(tmp_path / "again")
    assert (heir.strength, heir.fisher, heir.seed, heir.blueprint) == (7.0, "sampled", 3, NETWORK)
    assert heir.class_names == ("zero", "one")
    assert heir.transform == transform


def test_another_process_predicts_the_same(teach, digits_lessons, tmp_path):
    learner = teach(fresh("icarl"), digits_lessons[:2])
    engram.save(learner, tmp_path / "learner")
    code = """
import sys, torch, engram
torch.set_num_threads(1)
learner = engram.load(sys.argv[1])
x = torch.arange(640.0).view(10, 1, 8, 8) / 640
print(learner.predict(x).view(torch.int32).flatten().tolist())
"""
    x = torch.arange(640.0).view(10, 1, 8, 8) / 640
    found = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "learner"], capture_output=True, text=True, check=True, timeout=120
    )
    assert found.stdout.strip() == str(learner.predict(x).view(torch.int32).flatten().tolist())


@pytest.fixture
def whole(teach, digits_lessons, tmp_path):
    path = tmp_path / "learner"
    engram.save(teach(fresh("finetune"), digits_lessons[:1]), path)
    return path


def test_a_truncated_or_flipped_file_is_refused(whole):
    content = whole.read_bytes()
    for size in (0, 10, 80, 200, len(content) // 2, len(content) - 1):
        whole.write_bytes(content[:size])
        with pytest.raises(DamagedFile, match="it was not used"):
            engram.load(whole)
    for place in range(0, len(content), len(content) // 20):
        whole.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        with pytest.raises(DamagedFile, match="it was not used"):
            engram.load(whole)


def test_files_that_are_no_learner_are_refused(whole):
    with pytest.raises(BadData, match="there is no file .*; give one that engram.save wrote"):
        engram.load(whole.with_name("nothing"))
    whole.write_bytes(b"\x80\x04 a pickle, or anything else")
    with pytest.raises(DamagedFile, match="is not a checkpoint"):
        engram.load(whole)
    files.write(whole, *checkpoint.parts(State({}, {}), "0123456789abcdef"))
    with pytest.raises(DamagedFile, match="belongs to another node"):
        engram.load(whole)
    files.write(whole, *checkpoint.parts(State({}, {"format": FORMAT, "learner": ["finetune"]}), OWNER))
    with pytest.raises(DamagedFile, match="holds no whole learner"):
        engram.load(whole)


def test_newer_files_are_refused(whole):
    files.write(whole, *checkpoint.parts(State({}, {"format": FORMAT + 1}), OWNER))
    with pytest.raises(BadState, match="has the format 2 of a newer Engram; update Engram to read it"):
        engram.load(whole)
    whole.write_bytes(b"engram-checkpoint 2 " + bytes(100))
    with pytest.raises(DamagedFile, match="is of format 2, which a newer Engram reads"):
        engram.load(whole)


def test_a_file_that_cannot_be_written_leaves_the_old_one(whole, monkeypatch):
    before = whole.read_bytes()
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(EngramError, match="the disk is full"):
        engram.save(engram.load(whole), whole)
    assert whole.read_bytes() == before


def test_a_learner_of_one_s_own_is_found_by_its_place_if_it_has_not_changed(teach, digits_lessons, tmp_path):
    code, path = tmp_path / "own_kept.py", tmp_path / "learner"
    code.write_text(OWN)
    name = LEARNERS.name_of(f"{code}:Own")
    learner = teach(LEARNERS[name](OUTLINE, 0, None, features=30), digits_lessons[:1])
    engram.save(learner, path)
    assert torch.equal(engram.load(path).parameters(), learner.parameters())
    LEARNERS.users.clear()
    with pytest.raises(BadSetting, match="is code of .*own_kept.py:Own; register it, or say own=True"):
        engram.load(path)
    assert torch.equal(engram.load(path, own=True).parameters(), learner.parameters())
    LEARNERS.users.clear()
    code.write_text(OWN + "\n# edited\n")
    with pytest.raises(BadSetting, match="'own' of .* has changed since it was saved; restore its code"):
        engram.load(path, own=True)


def test_a_learner_that_only_this_process_has_can_be_loaded_only_here(teach, digits_lessons, tmp_path):
    class Local(LEARNERS["ridge"]):
        name = "local"

    learner = teach(Local(OUTLINE, 0, None, features=30), digits_lessons[:1])
    engram.save(learner, tmp_path / "learner")
    assert torch.equal(engram.load(tmp_path / "learner").parameters(), learner.parameters())
    LEARNERS.users.clear()
    with pytest.raises(BadSetting, match="was defined in a running program"):
        engram.load(tmp_path / "learner", own=True)
